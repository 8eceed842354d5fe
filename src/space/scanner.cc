#include "nascent/space/scanner.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent {

namespace {

// Of our own, as those of <cctype> ask the locale and must not be given negative characters.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string printable(std::string_view text) {
  std::string copy(text);
  std::replace_if(
      copy.begin(), copy.end(), [](unsigned char c) { return c < 32 || c > 126; }, '?');
  return copy;
}

}  // namespace

std::string point_at(std::string_view text, size_t position) {
  position = std::min(position, text.size());
  const std::string_view before = text.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const size_t end = std::min(text.find('\n', position), text.size());
  const size_t column = position - begin;
  constexpr size_t kAround = 50;
  const size_t first = column > kAround ? position - kAround : begin;
  const size_t last = std::min(end, position + kAround);
  const std::string lead = first > begin ? "..." : "", tail = last < end ? "..." : "";
  return fmt::format("line {}, column {}:\n  {}{}{}\n  {}^", line, column + 1, lead,
                     printable(text.substr(first, last - first)), tail,
                     std::string(lead.size() + position - first, ' '));
}

size_t Scanner::position() {
  while (next_ < text_.size() && is_space(text_[next_])) ++next_;
  return next_;
}

bool Scanner::accept(std::string_view token) {
  const std::string_view rest = text_.substr(position());
  if (!rest.starts_with(token)) return false;
  if (is_word(token.back()) && rest.size() > token.size() && is_word(rest[token.size()])) return false;
  next_ += token.size();
  return true;
}

std::string Scanner::found() const {
  if (next_ == text_.size()) return "the end";
  size_t end = next_ + 1;
  if (is_word(text_[next_])) {
    while (end < text_.size() && end - next_ < 40 && is_word(text_[end])) ++end;
  }
  return "'" + printable(text_.substr(next_, end - next_)) + "'";
}

void Scanner::expect(std::string_view token) {
  if (!accept(token)) fail_here(fmt::format("expected '{}' but found {}", token, found()));
}

void Scanner::expect_end() {
  if (!at_end()) fail_here(fmt::format("expected the end but found {}", found()));
}

std::string Scanner::word() {
  const size_t begin = position();
  if (begin < text_.size() && is_word(text_[begin]) && !is_digit(text_[begin])) {
    while (next_ < text_.size() && is_word(text_[next_])) ++next_;
  }
  if (next_ == begin) fail_here("expected a name but found " + found());
  return std::string(text_.substr(begin, next_ - begin));
}

std::string Scanner::quoted() {
  const size_t begin = position();
  if (begin == text_.size() || (text_[begin] != '\'' && text_[begin] != '"')) {
    fail_here("expected a name in quotes but found " + found());
  }
  const size_t end = text_.find(text_[begin], begin + 1);
  if (end == std::string_view::npos) fail_at(begin, "this quote is never closed");
  next_ = end + 1;
  return std::string(text_.substr(begin + 1, end - begin - 1));
}

int Scanner::number(int max) {
  const size_t begin = position();
  int64_t value = 0;
  while (next_ < text_.size() && is_digit(text_[next_]) && value <= max) value = 10 * value + (text_[next_++] - '0');
  if (next_ == begin) fail_here("expected a number but found " + found());
  if (value > max) fail_at(begin, fmt::format("this number is larger than {}", max));
  return static_cast<int>(value);
}

std::string Scanner::until(std::string_view stops) {
  const size_t begin = position();
  next_ = std::min(text_.find_first_of(stops, begin), text_.size());
  return std::string(trim(text_.substr(begin, next_ - begin)));
}

void Scanner::fail_at(size_t position, const std::string& message) const {
  fail("Cannot read {}: {}, at {}", what_, message, point_at(text_, position));
}

}  // namespace nascent
