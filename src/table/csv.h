// Comma-separated values as RFC 4180 has them: fields in double quotes may hold commas, line breaks and doubled quotes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nascent {

struct CsvRow {
  int64_t line = 0;  // where it begins, from 1
  std::vector<std::string> fields;
};

// The rows of `text`, the header first; empty lines are left out. Every row has as many fields as the header: an Error
// names `origin` and the line that has not.
std::vector<CsvRow> parse_csv(const std::string& text, const std::string& origin);

}  // namespace nascent
