#include "nascent/core/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {

Pickle parse_pickle(std::string_view bytes, const std::string& origin) { return PickleReader(bytes, origin).read(); }

Pickle read_pickle(const std::filesystem::path& path) { return parse_pickle(read_maybe_gzip(path), path.string()); }

Pickle PickleReader::read() {
  while (!stopped_) {
    instruction_ = offset_;
    const auto instruction = static_cast<uint8_t>(take(1)[0]);
    const bool known = read_number(instruction) || read_text(instruction) || read_memo(instruction) ||
                       read_container(instruction) || read_fill(instruction) || read_object(instruction) ||
                       read_control(instruction);
    if (!known) corrupt("unknown instruction 0x{:02x}", instruction);
  }
  pickle_.root_ = pop();
  return std::move(pickle_);
}

std::string_view PickleReader::take(uint64_t count) {
  const uint64_t left = bytes_.size() - offset_;
  if (count > left) corrupt("it ends where {} more bytes were expected", count - left);
  const std::string_view taken = bytes_.substr(offset_, count);
  offset_ += count;
  return taken;
}

std::string_view PickleReader::take_line() {
  const size_t end = bytes_.find('\n', offset_);
  if (end == std::string_view::npos) corrupt("it ends within a line");
  const std::string_view line = take(end - offset_);
  take(1);
  return line;
}

uint64_t PickleReader::take_unsigned(int width) {
  uint64_t value = 0;
  const std::string_view bytes = take(width);
  for (int i = 0; i < width; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return value;
}

PickleValue* PickleReader::push_new(Kind kind) {
  PickleValue* value = &pickle_.values_.emplace_back();
  value->kind_ = kind;
  push(value);
  return value;
}

PickleValue* PickleReader::top() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) corrupt("a value is missing");
  return stack_.back();
}

PickleValue* PickleReader::pop() {
  PickleValue* value = top();
  stack_.pop_back();
  return value;
}

PickleReader::Values PickleReader::pop_to_mark() {
  if (marks_.empty()) corrupt("a mark is missing");
  Values values(stack_.begin() + marks_.back(), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return values;
}

void PickleReader::push_decimal(std::string_view digits) {
  if (!digits.empty() && digits.back() == 'L') digits.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) corrupt("'{}' is not a 64-bit integer", digits);
  push_integer(value);
}

int64_t PickleReader::little_endian(std::string_view bytes) const {
  if (bytes.size() > 8) corrupt("an integer of {} bytes; at most 8 can be read", bytes.size());
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  const bool negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
  if (negative && bytes.size() < 8) value |= ~uint64_t{0} << (8 * bytes.size());
  return static_cast<int64_t>(value);
}

bool PickleReader::read_number(uint8_t instruction) {
  switch (instruction) {
    case 'N':
      push_new(Kind::none);
      return true;
    case 0x88:
      push_boolean(true);
      return true;
    case 0x89:
      push_boolean(false);
      return true;
    case 'J':
      push_integer(static_cast<int32_t>(take_unsigned(4)));
      return true;
    case 'K':
      push_integer(static_cast<int64_t>(take_unsigned(1)));
      return true;
    case 'M':
      push_integer(static_cast<int64_t>(take_unsigned(2)));
      return true;
    case 'L':
      push_decimal(take_line());
      return true;
    case 0x8a:
      push_integer(little_endian(take_counted(1)));
      return true;
    case 0x8b:
      push_integer(little_endian(take_counted(4)));
      return true;
    case 'I': {
      const std::string_view line = take_line();
      if (line == "00" || line == "01")
        push_boolean(line == "01");
      else
        push_decimal(line);
      return true;
    }
    case 'F': {
      const std::string_view line = take_line();
      double value = 0;
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
      if (error != std::errc() || end != line.data() + line.size()) corrupt("'{}' is not a number", line);
      push_real(value);
      return true;
    }
    case 'G': {
      uint64_t bits = 0;
      for (const char byte : take(8)) bits = bits << 8 | static_cast<uint8_t>(byte);
      push_real(std::bit_cast<double>(bits));
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::read_text(uint8_t instruction) {
  switch (instruction) {
    case 'S': {
      const std::string_view line = trim(take_line());
      const bool quoted = line.size() >= 2 && line.front() == line.back() && (line[0] == '\'' || line[0] == '"');
      if (!quoted) corrupt("a text without quotes");
      push_text(Kind::bytes, unescape_bytes(line.substr(1, line.size() - 2)));
      return true;
    }
    case 'T':
      push_text(Kind::bytes, std::string(take_counted(4)));
      return true;
    case 'U':
      push_text(Kind::bytes, std::string(take_counted(1)));
      return true;
    case 'V':
      push_text(Kind::text, unescape_unicode(take_line()));
      return true;
    case 'X':
      push_text(Kind::text, std::string(take_counted(4)));
      return true;
    case 0x8c:
      push_text(Kind::text, std::string(take_counted(1)));
      return true;
    case 0x8d:
      push_text(Kind::text, std::string(take_counted(8)));
      return true;
    case 'B':
      push_text(Kind::bytes, std::string(take_counted(4)));
      return true;
    case 'C':
      push_text(Kind::bytes, std::string(take_counted(1)));
      return true;
    case 0x8e:
      push_text(Kind::bytes, std::string(take_counted(8)));
      return true;
    case 0x96:
      push_text(Kind::bytes, std::string(take_counted(8)));
      return true;
    default:
      return false;
  }
}

void PickleReader::push_items(Kind kind, const Values& items) {
  push_new(kind)->items_.assign(items.begin(), items.end());
}

bool PickleReader::read_container(uint8_t instruction) {
  const auto push_tuple = [this](int size) {
    Values items(size);
    for (int i = size - 1; i >= 0; --i) items[i] = pop();
    push_items(Kind::tuple, items);
  };
  switch (instruction) {
    case ']':
      push_new(Kind::list);
      return true;
    case '}':
      push_new(Kind::dict);
      return true;
    case ')':
      push_new(Kind::tuple);
      return true;
    case 0x8f:
      push_new(Kind::set);
      return true;
    case 'l':
      push_items(Kind::list, pop_to_mark());
      return true;
    case 't':
      push_items(Kind::tuple, pop_to_mark());
      return true;
    case 0x91:
      push_items(Kind::set, pop_to_mark());
      return true;
    case 'd': {
      const Values pairs = pop_to_mark();
      set_items(push_new(Kind::dict), pairs);
      return true;
    }
    case 0x85:
      push_tuple(1);
      return true;
    case 0x86:
      push_tuple(2);
      return true;
    case 0x87:
      push_tuple(3);
      return true;
    default:
      return false;
  }
}

void PickleReader::append(PickleValue* to, const Values& items) {
  const bool takes_items = to->is(Kind::list) || to->is(Kind::set) || to->is(Kind::object);
  if (!takes_items) corrupt("items are added to {}", to->kind_name());
  to->items_.insert(to->items_.end(), items.begin(), items.end());
}

void PickleReader::set_items(PickleValue* to, const Values& pairs) {
  if (!to->is(Kind::dict) && !to->is(Kind::object)) corrupt("entries are added to {}", to->kind_name());
  if (pairs.size() % 2 != 0) corrupt("a key without a value");
  for (size_t i = 0; i < pairs.size(); i += 2) to->entries_.emplace_back(pairs[i], pairs[i + 1]);
}

bool PickleReader::read_fill(uint8_t instruction) {
  switch (instruction) {
    case 'a': {
      PickleValue* item = pop();
      append(top(), {item});
      return true;
    }
    case 'e':
    case 0x90: {
      const Values items = pop_to_mark();
      append(top(), items);
      return true;
    }
    case 's': {
      PickleValue* value = pop();
      PickleValue* key = pop();
      set_items(top(), {key, value});
      return true;
    }
    case 'u': {
      const Values pairs = pop_to_mark();
      set_items(top(), pairs);
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::read_memo(uint8_t instruction) {
  const auto number = [this] {
    const std::string_view line = take_line();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || end != line.data() + line.size()) corrupt("'{}' is not a memo number", line);
    return value;
  };
  const auto get = [this](uint64_t key) {
    const auto it = memo_.find(key);
    if (it == memo_.end()) corrupt("memo {} is used before it is set", key);
    push(it->second);
  };
  switch (instruction) {
    case 'g':
      get(number());
      return true;
    case 'h':
      get(take_unsigned(1));
      return true;
    case 'j':
      get(take_unsigned(4));
      return true;
    case 'p':
      memo_[number()] = top();
      return true;
    case 'q':
      memo_[take_unsigned(1)] = top();
      return true;
    case 'r':
      memo_[take_unsigned(4)] = top();
      return true;
    case 0x94: {
      const uint64_t key = memo_.size();
      memo_[key] = top();
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::read_control(uint8_t instruction) {
  switch (instruction) {
    case '.':
      stopped_ = true;
      return true;
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    case '2':
      push(top());
      return true;
    case 0x95:
      take_unsigned(8);
      return true;  // the length of a frame is only a hint
    case 0x80: {
      const uint64_t protocol = take_unsigned(1);
      if (protocol > 5) corrupt("protocol {}; 0 to 5 can be read", protocol);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace nascent
