#include "nascent/core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <mutex>

#include "nascent/core/last_error.h"

namespace nascent::log {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    // Colours only on a terminal, and not where the user wants none (NO_COLOR).
    const char* none = std::getenv("NO_COLOR");
    const bool plain = none != nullptr && *none != '\0';
    auto made = spdlog::stderr_color_mt("nascent", plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
    made->set_pattern("%^%v%$");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::mutex last_mutex;
std::string last;

}  // namespace

std::string last_error() {
  const std::lock_guard lock(last_mutex);
  return last;
}

void set_level(Level level) { logger().set_level(spdlog_level(level)); }
bool shows(Level level) { return logger().should_log(spdlog_level(level)); }

void write(Level level, const std::string& message) {
  const char* prefix = level == Level::error ? "error: " : level == Level::warning ? "warning: " : "";
  if (level == Level::error) {
    const std::lock_guard lock(last_mutex);
    last = message;
  }
  logger().log(spdlog_level(level), "{}{}", prefix, message);
}

}  // namespace nascent::log
