// Help texts and the options reference, made from the options' definitions.
#pragma once

#include <string>

#include "nascent/cli/verb.h"

namespace nascent {

std::string program_help();
std::string verb_help(const std::string& name, const Verb& verb, const OptionTable& table);
// Every verb and option as Markdown: docs/options.md.
std::string options_reference();

}  // namespace nascent
