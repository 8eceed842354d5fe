// Completion scripts for shells, made from the verbs and their options.
#pragma once

#include <string>
#include <vector>

namespace nascent {

std::vector<std::string> completion_shells();  // "bash", "zsh", "fish"
std::string completion_script(const std::string& shell);

}  // namespace nascent
