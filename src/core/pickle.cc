#include "nascent/core/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nascent/core/error.h"

namespace nascent {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
double element(const char* bytes, bool big_endian) {
  char ordered[sizeof(T)];
  std::memcpy(ordered, bytes, sizeof(T));
  if (big_endian) std::reverse(ordered, ordered + sizeof(T));
  T value;
  std::memcpy(&value, ordered, sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

int64_t PickleArray::count() const {
  int64_t count = 1;
  for (const int64_t side : shape) count *= side;
  return count;
}

double PickleArray::number(int64_t index) const {
  const int size = type.back() - '0';
  if (index < 0 || index >= count()) fail("Element {} of an array of {} was asked for.", index, count());
  const char* at = bytes.data() + index * size;
  if (type == "f8") return element<double>(at, big_endian);
  if (type == "f4") return element<float>(at, big_endian);
  if (type == "i8") return element<int64_t>(at, big_endian);
  if (type == "i4") return element<int32_t>(at, big_endian);
  if (type == "i2") return element<int16_t>(at, big_endian);
  if (type == "i1") return element<int8_t>(at, big_endian);
  if (type == "u8") return element<uint64_t>(at, big_endian);
  if (type == "u4") return element<uint32_t>(at, big_endian);
  if (type == "u2") return element<uint16_t>(at, big_endian);
  return element<uint8_t>(at, big_endian);  // "u1" and "b1": the reader lets no other type in
}

std::string PickleValue::kind_name() const {
  static constexpr const char* names[] = {"None",   "a boolean", "an integer", "a real number",
                                          "text",   "bytes",     "a list",     "a tuple",
                                          "a dict", "a set",     "an array",   "an object"};
  return is(Kind::object) ? "an object " + text_ : names[static_cast<int>(kind_)];
}

void PickleValue::require(bool good, const char* expected) const {
  if (!good) fail("A pickle holds {} where {} was expected.", kind_name(), expected);
}

int64_t PickleValue::integer() const {
  require(is(Kind::integer) || is(Kind::boolean), "an integer");
  return integer_;
}

double PickleValue::real() const {
  if (is(Kind::integer) || is(Kind::boolean)) return static_cast<double>(integer_);
  require(is(Kind::real), "a number");
  return real_;
}

const std::string& PickleValue::text() const {
  require(is(Kind::text) || is(Kind::bytes), "text");
  return text_;
}

const std::vector<const PickleValue*>& PickleValue::items() const {
  require(is(Kind::list) || is(Kind::tuple) || is(Kind::set) || is(Kind::object), "a list");
  return items_;
}

const std::vector<PickleValue::Entry>& PickleValue::entries() const {
  require(is(Kind::dict) || is(Kind::object), "a dict");
  return entries_;
}

const PickleArray& PickleValue::array() const {
  require(is(Kind::array), "an array");
  return array_;
}

const std::string& PickleValue::object_name() const {
  require(is(Kind::object), "an object");
  return text_;
}

const PickleValue* PickleValue::object_state() const {
  require(is(Kind::object), "an object");
  return state_;
}

const PickleValue* PickleValue::find(std::string_view key) const {
  const PickleValue* found = nullptr;
  for (const auto& [name, value] : entries()) {
    if ((name->is(Kind::text) || name->is(Kind::bytes)) && name->text_ == key) found = value;  // the last one counts
  }
  return found;
}

const PickleValue* PickleValue::find(int64_t key) const {
  const PickleValue* found = nullptr;
  for (const auto& [name, value] : entries()) {
    if (name->is(Kind::integer) && name->integer_ == key) found = value;
  }
  return found;
}

const PickleValue& PickleValue::at(std::string_view key) const {
  if (const PickleValue* value = find(key)) return *value;
  fail("A pickle's dict lacks the key '{}'.", key);
}

const PickleValue& PickleValue::at(int64_t key) const {
  if (const PickleValue* value = find(key)) return *value;
  fail("A pickle's dict lacks the key {}.", key);
}

}  // namespace nascent
