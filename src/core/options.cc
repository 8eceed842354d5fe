#include "nascent/core/options.h"

#include <toml++/toml.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

std::string dashed(std::string name) {
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  return name;
}

// A number as people write it: 0.001, not 1e-03 nor 0.001000.
std::string number_text(double value) { return fmt::format("{}", value); }

Json parse_number(const std::string& text) {
  int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (auto [rest, code] = std::from_chars(text.data(), end, integer); code == std::errc() && rest == end)
    return integer;
  double real = 0;
  if (auto [rest, code] = std::from_chars(text.data(), end, real); code == std::errc() && rest == end) return real;
  return text;
}

Json parse_flag(const std::string& text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  return text;
}

template <class Convert>
Json parse_list(const std::string& text, Convert convert) {
  Json list = Json::array();
  std::string_view body = trim(text);
  if (body.starts_with('[') && body.ends_with(']')) body = body.substr(1, body.size() - 2);
  if (trim(body).empty()) return list;
  for (const auto& part : split(body, ',')) {
    std::string_view item = trim(part);
    if (item.size() >= 2 && (item.front() == '"' || item.front() == '\'') && item.back() == item.front()) {
      item = item.substr(1, item.size() - 2);
    }
    list.push_back(convert(std::string(item)));
  }
  return list;
}

Json from_toml(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const auto& item : *array) list.push_back(from_toml(item));
    return list;
  }
  return nullptr;
}

// JSON and TOML agree on strings, numbers, booleans and lists, but for non-finite numbers, which no option takes.
std::string toml_value(const Json& value) {
  if (value.is_number_float()) {
    std::string text = number_text(value.get<double>());
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const auto& item : value) items.push_back(toml_value(item));
  return "[" + join(items, ", ") + "]";
}

// For error texts: JSON has no word for what is no number, nor for dates of TOML.
std::string shown(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return number_text(value.get<double>());
  return value.is_null() ? "a date, a time or a table" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_integral(const Json& value) {
  return value.is_number_integer() || (value.is_number_float() && std::isfinite(value.get<double>()) &&
                                       value.get<double>() == std::floor(value.get<double>()));
}

bool fits(const Option::Field& field, const Json& value) {
  const auto all = [&](auto predicate) {
    return value.is_array() && std::all_of(value.begin(), value.end(), predicate);
  };
  return std::visit(
      [&](auto* target) {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>)
          return value.is_boolean();
        else if constexpr (std::is_integral_v<T>)
          return is_integral(value);
        else if constexpr (std::is_same_v<T, double>)
          return value.is_number();
        else if constexpr (std::is_same_v<T, std::string>)
          return value.is_string();
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          return all([](const Json& item) { return item.is_number(); });
        else
          return all([](const Json& item) { return item.is_string(); });
      },
      field);
}

}  // namespace

Option::Option(std::string section, std::string name, Field field, std::string help)
    : section_(std::move(section)),
      name_(std::move(name)),
      help_(std::move(help)),
      field_(field),
      low_(-std::numeric_limits<double>::infinity()),
      high_(std::numeric_limits<double>::infinity()) {
  default_ = value();
}

Option& Option::range(double low, double high) {
  low_ = low;
  high_ = high;
  return *this;
}

Option& Option::at_least(double low) { return range(low, std::numeric_limits<double>::infinity()); }

Option& Option::one_of(std::vector<std::string> choices) {
  choices_ = std::move(choices);
  return *this;
}

Option& Option::flag(std::string flag) {
  flag_ = std::move(flag);
  return *this;
}

bool Option::is_list() const {
  return std::holds_alternative<std::vector<std::string>*>(field_) ||
         std::holds_alternative<std::vector<double>*>(field_);
}

std::string Option::type() const {
  static constexpr const char* kNames[] = {"yes/no", "integer",      "integer",        "number",
                                           "text",   "list of text", "list of numbers"};
  return kNames[field_.index()];
}

std::string Option::constraint() const {
  if (!choices_.empty()) {
    std::vector<std::string> names = choices_;
    const bool may_be_empty = std::erase(names, "") > 0;
    return "one of " + join(names, ", ") + (may_be_empty ? ", or empty" : "");
  }
  if (std::isfinite(low_) && std::isfinite(high_)) return number_text(low_) + " to " + number_text(high_);
  if (std::isfinite(low_)) return "at least " + number_text(low_);
  return "";
}

Json Option::value() const {
  return std::visit([](const auto* target) { return Json(*target); }, field_);
}

void Option::check(const Json& value, const std::string& origin) const {
  if (!fits(field_, value)) fail("{}: {} is {}; expected: {}.", origin, key(), shown(value), type());
  const auto check_one = [&](const Json& item) {
    if (item.is_number() && !(item.get<double>() >= low_ && item.get<double>() <= high_)) {
      fail("{}: {} is {}; expected: {}.", origin, key(), shown(item), constraint().empty() ? "a number" : constraint());
    }
    if (item.is_string() && !choices_.empty() && std::find(choices_.begin(), choices_.end(), item) == choices_.end()) {
      fail("{}: {} is {}; expected: {}.{}", origin, key(), shown(item), constraint(),
           suggestion(item.get<std::string>(), choices_));
    }
  };
  if (value.is_array()) {
    for (const auto& item : value) check_one(item);
  } else {
    check_one(value);
  }
}

void Option::set(const Json& value, const std::string& origin) {
  check(value, origin);
  std::visit(
      [&](auto* target) {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          const double number = value.get<double>();
          if (number < static_cast<double>(std::numeric_limits<T>::min()) ||
              number > static_cast<double>(std::numeric_limits<T>::max())) {
            fail("{}: {} is {}, which is too large.", origin, key(), shown(value));
          }
          *target = value.is_number_integer() ? static_cast<T>(value.get<int64_t>()) : static_cast<T>(number);
        } else {
          *target = value.get<T>();
        }
      },
      field_);
  was_set_ = true;
}

void Option::set_text(const std::string& text, const std::string& origin) {
  const auto word = [](const std::string& item) { return Json(item); };
  if (is_flag()) return set(parse_flag(text), origin);
  if (std::holds_alternative<std::string*>(field_)) return set(text, origin);
  if (std::holds_alternative<std::vector<std::string>*>(field_)) return set(parse_list(text, word), origin);
  if (std::holds_alternative<std::vector<double>*>(field_)) return set(parse_list(text, parse_number), origin);
  set(parse_number(text), origin);
}

OptionTable::Section OptionTable::section(const std::string& name, const std::string& help) {
  const auto same = [&](const auto& known) { return known.first == name; };
  if (std::none_of(sections_.begin(), sections_.end(), same)) sections_.emplace_back(name, help);
  return Section(*this, name);
}

Option& OptionTable::add(const std::string& section, const std::string& name, Option::Field field,
                         const std::string& help) {
  return options_.emplace_back(section, name, field, help);
}

Option& OptionTable::at(const std::string& key, const std::string& origin) {
  const std::string wanted = dashed(key);
  std::vector<std::string> keys, same_name;
  for (auto& option : options_) {
    if (option.key() == wanted) return option;
    keys.push_back(option.key());
    if (wanted.ends_with("." + option.name()) || wanted == option.name()) same_name.push_back(option.key());
  }
  const std::string hint =
      same_name.empty() ? suggestion(wanted, keys) : fmt::format(" Did you mean '{}'?", join(same_name, "' or '"));
  fail("{}: there is no option '{}'.{} 'nascent options' lists them all.", origin, key, hint);
}

void OptionTable::read_toml(const std::string& text, const std::string& origin) {
  toml::table document;
  try {
    document = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    fail("{}:{}:{}: {}.", origin, at.line, at.column, std::string(error.description()));
  }
  const auto place = [&](const toml::node& node) { return fmt::format("{}:{}", origin, node.source().begin.line); };
  for (const auto& [section, body] : document) {
    const auto* table = body.as_table();
    if (section == "verb" && body.is_string()) continue;  // says what the file is for (core/recipes.h)
    if (table == nullptr) {
      fail("{}: '{}' stands outside a section; write it as [section] and key = value.", place(body),
           std::string(section.str()));
    }
    for (const auto& [name, node] : *table) {
      const std::string key = std::string(section.str()) + "." + std::string(name.str());
      at(key, place(node)).set(from_toml(node), place(node));
    }
  }
}

void OptionTable::read_toml_file(const std::filesystem::path& path) { read_toml(read_file(path), path.string()); }

void OptionTable::read_assignment(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) fail("--set {}: expected key=value, for example --set train.epochs=3.", assignment);
  const std::string key(trim(assignment.substr(0, equals)));
  at(key, "--set").set_text(std::string(trim(assignment.substr(equals + 1))), "--set");
}

std::string OptionTable::flag(const Option& option) const { return "--" + option.flag(); }

std::string OptionTable::to_toml() const {
  std::string text;
  for (const auto& [section, help] : sections_) {
    text += fmt::format("{}# {}\n[{}]\n", text.empty() ? "" : "\n", help, section);
    for (const auto& option : options_) {
      if (option.section() == section)
        text += fmt::format("{} = {}  # {}\n", option.name(), toml_value(option.value()), option.help());
    }
  }
  return text;
}

Json OptionTable::to_json() const {
  Json all = Json::object();
  for (const auto& option : options_) all[option.section()][option.name()] = option.value();
  return all;
}

}  // namespace nascent
