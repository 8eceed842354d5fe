// Messages for people, all on standard error; standard output is kept for results.
#pragma once

#include <fmt/format.h>

#include <string>

namespace nascent::log {

enum class Level { debug, info, warning, error };

void set_level(Level level);
bool shows(Level level);  // whether messages of this level are written
void write(Level level, const std::string& message);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace nascent::log
