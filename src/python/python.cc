#include "nascent/python/python.h"

#include <signal.h>

#include <array>
#include <mutex>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/text.h"

namespace nascent::python {

py::object to_python(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return py::bool_(json.get<bool>());
    case Json::value_t::number_integer:
      return py::int_(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      return py::int_(json.get<uint64_t>());
    case Json::value_t::number_float:
      return py::float_(json.get<double>());
    case Json::value_t::string:
      return py::str(json.get<std::string>());
    case Json::value_t::array: {
      py::list list;
      for (const Json& item : json) list.append(to_python(item));
      return list;
    }
    case Json::value_t::object: {
      py::dict dict;
      for (const auto& [key, value] : json.items()) dict[py::str(key)] = to_python(value);
      return dict;
    }
    default:
      return py::none();
  }
}

Json to_json(const py::handle& object) {
  if (object.is_none()) return nullptr;
  if (py::isinstance<py::bool_>(object)) return object.cast<bool>();
  if (py::isinstance<py::int_>(object)) return object.cast<int64_t>();
  if (py::isinstance<py::float_>(object)) return object.cast<double>();
  if (py::isinstance<py::str>(object)) return object.cast<std::string>();
  if (py::hasattr(object, "__fspath__")) return object.attr("__fspath__")().cast<std::string>();
  if (py::isinstance<py::dict>(object)) {
    Json json = Json::object();
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(object)) {
      json[py::str(key).cast<std::string>()] = to_json(value);
    }
    return json;
  }
  if (py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object)) {
    Json json = Json::array();
    for (const auto& item : object) json.push_back(to_json(item));
    return json;
  }
  fail("{} is a {}; expected a number, a text, True or False, or a list of them.", py::repr(object).cast<std::string>(),
       py::str(py::type::of(object).attr("__name__")).cast<std::string>());
}

namespace {

Option& option_named(OptionTable& table, const std::string& keyword) {
  std::string name = keyword;
  std::replace(name.begin(), name.end(), '_', '-');
  std::vector<std::string> known;
  for (Option& option : table.options()) {
    const std::string flag = table.flag(option).substr(2);
    if (flag == name || option.key() == name) return option;
    known.push_back(flag);
    std::replace(known.back().begin(), known.back().end(), '-', '_');
  }
  fail("There is no option '{}'.{} Options have the names of the command line's flags, with _ for -.", keyword,
       suggestion(keyword, known));
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Json& item : value) parts.push_back(text_of(item));
  return join(parts, ",");
}

// What is typed on the command line for the value that the option has.
std::vector<std::string> typed(const OptionTable& table, const Option& option) {
  const std::string flag = table.flag(option);
  if (!option.is_flag()) return {flag, text_of(option.value())};
  return {option.value() == true ? flag : "--no-" + flag.substr(2)};
}

}  // namespace

ReadOptions read_keywords(OptionTable& table, const py::dict& keywords) {
  ReadOptions read;
  for (const auto& [key, value] : keywords) {
    if (value.is_none()) continue;
    const auto name = key.cast<std::string>();
    Option& option = option_named(table, name);
    const Json json = to_json(value);
    json.is_string() ? option.set_text(json.get<std::string>(), name) : option.set(json, name);
    read.keys.push_back(option.key());
    for (auto& word : typed(table, option)) read.words.push_back(std::move(word));
  }
  return read;
}

namespace {

// Who handled signals before long work began. Several threads may be at such work: the first takes over, the last one
// gives back.
class SignalWatch {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (workers_++ > 0) return;
    for (size_t i = 0; i < kCaught.size(); ++i) sigaction(kCaught[i], nullptr, &before_[i]);
    request_interrupt(false);
    catch_interrupts();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--workers_ > 0) return;
    for (size_t i = 0; i < kCaught.size(); ++i) sigaction(kCaught[i], &before_[i], nullptr);
    request_interrupt(false);
  }

 private:
  static constexpr std::array<int, 3> kCaught = {SIGINT, SIGTERM, SIGHUP};
  std::mutex mutex_;
  int workers_ = 0;
  std::array<struct sigaction, 3> before_{};
};

SignalWatch& signal_watch() {
  static SignalWatch watch;
  return watch;
}

}  // namespace

LongWork::LongWork() { signal_watch().begin(); }
LongWork::~LongWork() { signal_watch().end(); }

}  // namespace nascent::python
