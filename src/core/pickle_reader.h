// The machine behind parse_pickle: a stack, a memo and one function for each kind of instruction.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nascent/core/error.h"
#include "nascent/core/pickle.h"

namespace nascent {

class PickleReader {
 public:
  PickleReader(std::string_view bytes, std::string origin) : bytes_(bytes), origin_(std::move(origin)) {}

  Pickle read();

 private:
  using Kind = PickleValue::Kind;
  using Values = std::vector<PickleValue*>;

  template <class... Args>
  [[noreturn]] void corrupt(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{} is not a readable pickle: {} (at byte {}).", origin_, fmt::format(format, std::forward<Args>(args)...),
         instruction_);
  }

  // Instructions, by group; each returns false if the instruction is of another group.
  bool read_number(uint8_t instruction);
  bool read_text(uint8_t instruction);
  bool read_container(uint8_t instruction);
  bool read_fill(uint8_t instruction);
  bool read_memo(uint8_t instruction);
  bool read_object(uint8_t instruction);
  bool read_control(uint8_t instruction);

  // Bytes of the pickle.
  std::string_view take(uint64_t count);
  std::string_view take_line();
  uint64_t take_unsigned(int width);
  std::string_view take_counted(int width) { return take(take_unsigned(width)); }

  int64_t little_endian(std::string_view bytes) const;  // signed

  // The stack.
  void push(PickleValue* value) { stack_.push_back(value); }
  PickleValue* push_new(Kind kind);
  PickleValue* pop();
  Values pop_to_mark();
  PickleValue* top();

  void push_integer(int64_t value) { push_new(Kind::integer)->integer_ = value; }
  void push_boolean(bool value) { push_new(Kind::boolean)->integer_ = value; }
  void push_real(double value) { push_new(Kind::real)->real_ = value; }
  void push_text(Kind kind, std::string text) { push_new(kind)->text_ = std::move(text); }
  void push_items(Kind kind, const Values& items);
  void push_decimal(std::string_view digits);
  void push_global(std::string_view module, std::string_view name);

  void append(PickleValue* to, const Values& items);
  void set_items(PickleValue* to, const Values& pairs);

  // Calls and states (pickle_objects.cc): known ones give plain values, the others stay opaque.
  void push_call(PickleValue* function, const std::vector<const PickleValue*>& arguments);
  void set_state(PickleValue* object, PickleValue* state);
  void make_dict(PickleValue* value, const std::vector<const PickleValue*>& arguments);
  void make_bytes(PickleValue* value, const std::vector<const PickleValue*>& arguments);
  void make_scalar(PickleValue* value, const std::vector<const PickleValue*>& arguments);
  void make_array_from_buffer(PickleValue* value, const std::vector<const PickleValue*>& arguments);
  void set_array(PickleArray& array, const PickleValue& shape, const PickleValue& dtype, bool fortran,
                 std::string_view bytes);

  std::string_view bytes_;
  std::string origin_;
  size_t offset_ = 0, instruction_ = 0;
  bool stopped_ = false;
  Pickle pickle_;
  Values stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

// "\u00e9" and "\x41" in the texts of protocol 0 turned into UTF-8 and bytes.
std::string unescape_unicode(std::string_view text);
std::string unescape_bytes(std::string_view text);

}  // namespace nascent
