#include "nascent/space/json_reader.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/space/scanner.h"

namespace nascent {

Json JsonReader::parse(const std::string& text, const std::string& what) {
  // nlohmann's values are destroyed recursively, so text could exhaust the stack by its depth alone.
  constexpr int kMaxDepth = 64;
  const auto check_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) fail("Cannot read {}: lists and objects are nested more than {} deep.", what, kMaxDepth);
    return true;
  };
  try {
    return Json::parse(text, check_depth);
  } catch (const Json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." - the place is ours to show.
    std::string message = error.what();
    if (const size_t colon = message.find(": "); colon != std::string::npos) message.erase(0, colon + 2);
    fail("Cannot read {}: it is not JSON ({}), at {}", what, message,
         point_at(text, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const Json::exception& error) {
    fail("Cannot read {}: it is not JSON ({}).", what, error.what());
  }
}

void JsonReader::fail_here(const std::string& message) const {
  fail("Cannot read {}: {}{}.", what_, path_.empty() ? "" : "in " + path_ + ": ", message);
}

void JsonReader::expected(const std::string& kind) const {
  std::string found = value_.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (found.size() > 60) found = found.substr(0, 60) + "...";
  fail_here(fmt::format("expected {} but found {}", kind, found));
}

void JsonReader::check_keys(const std::vector<std::string>& known) const {
  if (!value_.is_object()) expected("an object");
  for (const auto& [key, value] : value_.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail_here(fmt::format("there is no key '{}'.{} Expected {}", key, suggestion(key, known), join(known, ", ")));
  }
}

JsonReader JsonReader::at(const std::string& key) const {
  if (!value_.is_object()) expected("an object");
  if (!value_.contains(key)) fail_here(fmt::format("the key '{}' is missing", key));
  return {value_.at(key), what_, path_.empty() ? key : path_ + "." + key};
}

std::vector<JsonReader> JsonReader::items() const {
  if (!value_.is_array()) expected("a list");
  std::vector<JsonReader> all;
  for (size_t i = 0; i < value_.size(); ++i) all.emplace_back(value_[i], what_, fmt::format("{}[{}]", path_, i));
  return all;
}

std::string JsonReader::text() const {
  if (!value_.is_string()) expected("text");
  return value_.get<std::string>();
}

int JsonReader::number(int low, int high) const {
  const std::string kind = fmt::format("a whole number from {} to {}", low, high);
  if (!value_.is_number_integer()) expected(kind);
  const bool too_large = value_.is_number_unsigned() && value_.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (too_large || value_.get<int64_t>() < low || value_.get<int64_t>() > high) expected(kind);
  return value_.get<int>();
}

}  // namespace nascent
