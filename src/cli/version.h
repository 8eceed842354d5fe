// What 'nascent --version' prints.
#pragma once

#include <string>

namespace nascent {

// The version, and what it runs on: LibTorch, processor, threads.
std::string version_details();

}  // namespace nascent
