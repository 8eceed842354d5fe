// What `nascent --version` prints.
#pragma once

#include <string>

namespace nascent {

std::string version();          // "0.1.0"
std::string version_details();  // with LibTorch, instruction sets and threads

}  // namespace nascent
