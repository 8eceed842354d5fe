// Reads small languages token by token; every error names line and column and shows the text with a caret below the
// place.
#pragma once

#include <string>
#include <string_view>

namespace nascent {

// "line 2, column 7:" with that line (the part around the place, where it is long) and a caret.
std::string point_at(std::string_view text, size_t position);

class Scanner {
 public:
  // `what` names the language in errors: "the DARTS genotype".
  Scanner(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {}

  // Skips white space, then says where the next token begins.
  size_t position();
  bool at_end() { return position() == text_.size(); }
  // Takes `token` if it comes next. Words are taken whole: "in" is not taken from "input".
  bool accept(std::string_view token);
  void expect(std::string_view token);
  void expect_end();
  std::string word();    // letters, digits, '_' (not first a digit)
  std::string quoted();  // in single or double quotes, no escapes
  int number(int max);   // 0 to max
  // Everything up to one of `stops`, trimmed.
  std::string until(std::string_view stops);

  [[noreturn]] void fail_at(size_t position, const std::string& message) const;
  [[noreturn]] void fail_here(const std::string& message) { fail_at(position(), message); }

 private:
  std::string found() const;  // what comes next, for messages

  std::string_view text_;
  std::string what_;
  size_t next_ = 0;
};

}  // namespace nascent
