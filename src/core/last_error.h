// The last error that the log was told: what a process says of itself to those that do not see its terminal.
#pragma once

#include <string>

namespace nascent::log {

std::string last_error();  // "" where there was none

}  // namespace nascent::log
