#include "nascent/table/csv.h"

#include <algorithm>
#include <utility>

#include "nascent/core/error.h"

namespace nascent {

namespace {

class CsvReader {
 public:
  CsvReader(const std::string& text, const std::string& origin) : text_(text), origin_(origin) {
    if (text.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark, as spreadsheets write it
  }

  bool at_end() const { return at_ == text_.size(); }

  CsvRow row() {
    CsvRow row{.line = line_, .fields = {}};
    do {
      row.fields.push_back(!at_end() && text_[at_] == '"' ? quoted() : plain());
    } while (accept(','));
    accept('\r');
    if (!at_end() && !accept('\n')) {
      fail("{}, line {}: after the closing quote of a field a comma or the end of the line was expected.", origin_,
           line_);
    }
    return row;
  }

 private:
  bool accept(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    if (c == '\n') ++line_;
    return true;
  }

  std::string plain() {
    const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    const size_t start = std::exchange(at_, end);
    return text_.substr(start, end - start);
  }

  std::string quoted() {
    const int64_t opened = line_;
    std::string field;
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '"' && (at_ + 1 == text_.size() || text_[at_ + 1] != '"')) {
        ++at_;
        return field;
      }
      if (text_[at_] == '"') ++at_;  // a doubled quote stands for one
      if (text_[at_] == '\n') ++line_;
      field += text_[at_];
    }
    fail("{}, line {}: a quoted field is never closed. The file may be truncated.", origin_, opened);
  }

  const std::string& text_;
  const std::string& origin_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> parse_csv(const std::string& text, const std::string& origin) {
  CsvReader reader(text, origin);
  std::vector<CsvRow> rows;
  while (!reader.at_end()) {
    CsvRow row = reader.row();
    if (row.fields.size() == 1 && row.fields[0].empty()) continue;
    if (!rows.empty() && row.fields.size() != rows[0].fields.size()) {
      fail("{}, line {}: there are {} fields, but the header has {}. The file may be truncated or damaged.", origin,
           row.line, row.fields.size(), rows[0].fields.size());
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) fail("{} is empty; a header line and a line per architecture were expected.", origin);
  return rows;
}

}  // namespace nascent
