// Help texts and the options reference, made from the options' definitions.
#pragma once

#include <string>
#include <vector>

#include "nascent/cli/verb.h"

namespace nascent {

std::string program_help();
// The second words of the verbs that begin with `word` ("ensemble": eval, search, train), and their list for people.
std::vector<std::string> actions_of(const std::string& word);
std::string actions_help(const std::string& word);
std::string verb_help(const std::string& name, const Verb& verb, const OptionTable& table);
// Every verb and option as Markdown: docs/options.md.
std::string options_reference();

}  // namespace nascent
