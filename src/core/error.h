// Errors a user can cause: the text says what was found, what was expected and what to do.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace nascent {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws an Error with a formatted text.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace nascent
