// Text files to which lines are appended, each with a checksum in front, by one write: what a kill, a full disk or a
// second process leave behind is whole lines, and at most one that is cut short.
//
//   for (CheckedLines lines(bytes); lines.next();) if (lines.good()) use(lines.offset(), lines.body());
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nascent {

// "CHECKSUM<tab>BODY<line feed>": the CRC-32 of the body in hexadecimal digits.
std::string checked_line(std::string_view body);

class CheckedLines {
 public:
  // From the byte `start` on, which begins a line.
  explicit CheckedLines(std::string_view bytes, uint64_t start = 0) : bytes_(bytes), end_(start) {}

  // The next line that ends with a line feed; false where there is none.
  bool next();
  // Where the line begins, and where the one after it does.
  uint64_t offset() const { return offset_; }
  uint64_t end() const { return end_; }
  // Whether its checksum is right.
  bool good() const { return good_; }
  std::string_view body() const { return body_; }

 private:
  std::string_view bytes_, body_{};
  uint64_t offset_ = 0, end_ = 0;
  bool good_ = false;
};

}  // namespace nascent
