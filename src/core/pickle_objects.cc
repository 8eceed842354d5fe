// Calls in pickles, recognised by name and turned into plain values without calling anything.
#include <algorithm>
#include <optional>

#include "nascent/core/pickle_reader.h"

namespace nascent {
namespace {

using Arguments = std::vector<const PickleValue*>;

bool any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_reconstruct(std::string_view name) {
  return any_of(name, {"numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct"});
}
bool is_scalar(std::string_view name) {
  return any_of(name, {"numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"});
}
bool is_from_buffer(std::string_view name) {
  return any_of(name, {"numpy.core.numeric._frombuffer", "numpy._core.numeric._frombuffer"});
}
bool is_dict(std::string_view name) { return any_of(name, {"collections.OrderedDict", "collections.defaultdict"}); }
bool is_set(std::string_view name) {
  return any_of(name, {"__builtin__.set", "builtins.set", "__builtin__.frozenset", "builtins.frozenset"});
}
bool is_bytes(std::string_view name) {
  return any_of(
      name, {"_codecs.encode", "__builtin__.bytes", "builtins.bytes", "__builtin__.bytearray", "builtins.bytearray"});
}

void append_utf8(std::string& text, uint32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | (code >> 18 & 0x07));
    tail(12), tail(6), tail(0);
  }
}

// The number written in `digits` hexadecimal digits at the start of `text`.
std::optional<uint32_t> hexadecimal(std::string_view text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  uint32_t value = 0;
  for (const char c : text.substr(0, digits)) {
    const size_t digit =
        std::string_view("0123456789abcdef").find(static_cast<char>(c | (c >= 'A' && c <= 'F' ? 0x20 : 0)));
    if (digit == std::string_view::npos) return std::nullopt;
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

// Latin-1 bytes of UTF-8 text: the way Python 3 writes bytes in old protocols.
std::optional<std::string> latin1(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < text.size()) {
      bytes += static_cast<char>((lead & 0x03) << 6 | (text[++i] & 0x3f));
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace

std::string unescape_unicode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digits = text.substr(i, 2) == "\\u" ? 4 : text.substr(i, 2) == "\\U" ? 8 : 0;
    const auto code = digits > 0 ? hexadecimal(text.substr(i + 2), digits) : std::nullopt;
    if (code) {
      append_utf8(out, *code);
      i += 1 + digits;
    } else {
      append_utf8(out, static_cast<uint8_t>(text[i]));  // the rest of a line is Latin-1
    }
  }
  return out;
}

std::string unescape_bytes(std::string_view text) {
  static constexpr std::string_view letters = "ntr\\'\"abfv", meanings = "\n\t\r\\'\"\a\b\f\v";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char letter = text[++i];
    const auto code = letter == 'x' ? hexadecimal(text.substr(i + 1), 2) : std::nullopt;
    const size_t known = letters.find(letter);
    if (code) {
      out += static_cast<char>(*code);
      i += 2;
    } else if (known != std::string_view::npos) {
      out += meanings[known];
    } else {
      out += '\\';
      out += letter;
    }
  }
  return out;
}

void PickleReader::push_global(std::string_view module, std::string_view name) {
  push_new(Kind::object)->text_ = fmt::format("{}.{}", module, name);
}

bool PickleReader::read_object(uint8_t instruction) {
  switch (instruction) {
    case 'c': {
      const std::string_view module = take_line(), name = take_line();
      push_global(module, name);
      return true;
    }
    case 0x93: {
      const PickleValue *name = pop(), *module = pop();
      if (!name->is(Kind::text) || !module->is(Kind::text)) corrupt("a global that is not named by text");
      push_global(module->text_, name->text_);
      return true;
    }
    case 'R':
    case 0x81: {
      PickleValue *arguments = pop(), *function = pop();
      if (!arguments->is(Kind::tuple)) corrupt("a call with {} in place of a tuple", arguments->kind_name());
      push_call(function, arguments->items_);
      return true;
    }
    case 0x92: {
      PickleValue *keywords = pop(), *arguments = pop(), *function = pop();
      if (!arguments->is(Kind::tuple) || !keywords->is(Kind::dict)) corrupt("a call without a tuple and a dict");
      push_call(function, arguments->items_);
      if (top()->is(Kind::object)) top()->entries_ = keywords->entries_;
      return true;
    }
    case 'i': {
      const std::string_view module = take_line(), name = take_line();
      const Values arguments = pop_to_mark();
      push_global(module, name);
      push_call(pop(), {arguments.begin(), arguments.end()});
      return true;
    }
    case 'o': {
      const Values values = pop_to_mark();
      if (values.empty()) corrupt("an object without a class");
      push_call(values[0], {values.begin() + 1, values.end()});
      return true;
    }
    case 'P': {  // what a program keeps outside of the pickle: an object "persistent" whose argument names it
      const std::string id(take_line());
      PickleValue* value = push_new(Kind::object);
      push_text(Kind::text, id);
      value->items_ = {pop()};
      value->text_ = "persistent";
      return true;
    }
    case 'Q': {
      const PickleValue* id = pop();
      PickleValue* value = push_new(Kind::object);
      value->text_ = "persistent";
      value->items_ = {id};
      return true;
    }
    case 'b': {
      PickleValue* state = pop();
      set_state(top(), state);
      return true;
    }
    default:
      return false;
  }
}

void PickleReader::push_call(PickleValue* function, const Arguments& arguments) {
  if (!function->is(Kind::object)) corrupt("a call of {}", function->kind_name());
  const std::string& name = function->text_;
  PickleValue* value = push_new(Kind::object);
  value->text_ = name;
  value->items_ = arguments;
  if (is_dict(name)) make_dict(value, arguments);
  if (is_bytes(name)) make_bytes(value, arguments);
  if (is_scalar(name)) make_scalar(value, arguments);
  if (is_from_buffer(name)) make_array_from_buffer(value, arguments);
  if (is_reconstruct(name)) {
    value->kind_ = Kind::array;
    value->array_.shape = {0};
    value->array_.type = "u1";
  }
  if (is_set(name) && arguments.size() <= 1) {
    value->kind_ = Kind::set;
    value->items_.clear();
    if (arguments.size() == 1 && arguments[0]->is(Kind::list)) value->items_ = arguments[0]->items_;
  }
}

void PickleReader::make_dict(PickleValue* value, const Arguments& arguments) {
  value->kind_ = Kind::dict;
  value->items_.clear();
  if (arguments.empty() || !arguments.back()->is(Kind::list)) return;
  for (const PickleValue* pair : arguments.back()->items_) {  // Python 2 passes the entries as a list of pairs
    const bool is_pair = (pair->is(Kind::list) || pair->is(Kind::tuple)) && pair->items_.size() == 2;
    if (!is_pair) corrupt("a dict is made of something that is not a pair");
    value->entries_.emplace_back(pair->items_[0], pair->items_[1]);
  }
}

void PickleReader::make_bytes(PickleValue* value, const Arguments& arguments) {
  std::optional<std::string> bytes = std::string();
  if (!arguments.empty() && (arguments[0]->is(Kind::text) || arguments[0]->is(Kind::bytes))) {
    bytes = arguments[0]->is(Kind::bytes) ? arguments[0]->text_ : latin1(arguments[0]->text_);
  } else if (!arguments.empty()) {
    return;
  }
  if (!bytes) corrupt("text that is not Latin-1 in place of bytes");
  value->kind_ = Kind::bytes;
  value->items_.clear();
  value->text_ = std::move(*bytes);
}

void PickleReader::make_scalar(PickleValue* value, const Arguments& arguments) {
  const bool good = arguments.size() == 2 && arguments[1]->is(Kind::bytes);
  if (!good) corrupt("a numpy scalar without type and bytes");
  PickleArray array;
  static const PickleValue no_shape = [] {
    PickleValue tuple;
    tuple.kind_ = Kind::tuple;
    return tuple;
  }();
  set_array(array, no_shape, *arguments[0], false, arguments[1]->text_);
  value->items_.clear();
  const char family = array.type[0];
  if (family == 'f') {
    value->real_ = array.number(0);
  } else {
    std::string bytes(array.bytes);
    if (array.big_endian) std::reverse(bytes.begin(), bytes.end());
    if (family != 'i') bytes.resize(std::max<size_t>(bytes.size(), 8));  // zeros above keep it from reading as negative
    value->integer_ = little_endian(bytes);
  }
  value->kind_ = family == 'f' ? Kind::real : family == 'b' ? Kind::boolean : Kind::integer;
}

void PickleReader::make_array_from_buffer(PickleValue* value, const Arguments& arguments) {
  const bool good = arguments.size() == 4 && arguments[0]->is(Kind::bytes) && arguments[3]->is(Kind::text);
  if (!good) corrupt("a numpy array without bytes, type, shape and order");
  set_array(value->array_, *arguments[2], *arguments[1], arguments[3]->text_ == "F", arguments[0]->text_);
  value->kind_ = Kind::array;
  value->items_.clear();
}

void PickleReader::set_array(PickleArray& array, const PickleValue& shape, const PickleValue& dtype, bool fortran,
                             std::string_view bytes) {
  const bool is_dtype = dtype.is(Kind::object) && dtype.text_ == "numpy.dtype" && !dtype.items_.empty() &&
                        (dtype.items_[0]->is(Kind::text) || dtype.items_[0]->is(Kind::bytes));
  if (!is_dtype || !shape.is(Kind::tuple)) corrupt("a numpy array without type and shape");
  array.type = dtype.items_[0]->text_;
  if (!any_of(array.type, {"u1", "b1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"})) {
    corrupt("a numpy array of type '{}', which is not a plain number", array.type);
  }
  const PickleValue* state = dtype.state_;
  const bool has_order = state != nullptr && state->is(Kind::tuple) && state->items_.size() > 1;
  array.big_endian = has_order && state->items_[1]->text_ == ">";
  array.fortran = fortran;
  array.bytes = bytes;
  array.shape.clear();
  uint64_t expected = array.type.back() - '0';
  for (const PickleValue* side : shape.items_) {
    const bool good = side->is(Kind::integer) && side->integer_ >= 0 && side->integer_ < int64_t{1} << 31;
    if (!good || expected > uint64_t{1} << 32) corrupt("a numpy array of impossible shape");
    array.shape.push_back(side->integer_);
    expected *= side->integer_;
  }
  if (expected != bytes.size()) corrupt("a numpy array of {} bytes; its shape asks for {}", bytes.size(), expected);
}

void PickleReader::set_state(PickleValue* object, PickleValue* state) {
  if (object->is(Kind::array)) {  // (version, shape, dtype, is_fortran, bytes)
    const auto& items = state->items_;
    const bool good = state->is(Kind::tuple) && items.size() == 5 && items[4]->is(Kind::bytes);
    if (!good) corrupt("a numpy array of objects or without data");
    return set_array(object->array_, *items[1], *items[2], items[3]->integer_ != 0, items[4]->text_);
  }
  if (object->is(Kind::object)) object->state_ = state;  // a dict or a number may carry attributes; they are not needed
}

}  // namespace nascent
