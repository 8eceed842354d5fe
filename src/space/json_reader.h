// Reads JSON with errors that name the place: line and column where it is not JSON, the path (cells[0].nodes[2]) where
// it is not what was expected.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

class JsonReader {
 public:
  // `what` names the text in errors. The text is parsed at once, and must be an object.
  static Json parse(const std::string& text, const std::string& what);

  JsonReader(const Json& value, std::string what, std::string path = "")
      : value_(value), what_(std::move(what)), path_(std::move(path)) {}

  // An Error for a key that is not in `known`, naming the closest.
  void check_keys(const std::vector<std::string>& known) const;
  bool has(const std::string& key) const { return value_.contains(key); }
  JsonReader at(const std::string& key) const;
  std::vector<JsonReader> items() const;  // of an array
  std::string text() const;
  int number(int low, int high) const;
  bool is_number() const { return value_.is_number(); }

  [[noreturn]] void fail_here(const std::string& message) const;

 private:
  [[noreturn]] void expected(const std::string& kind) const;

  const Json& value_;
  std::string what_, path_;
};

}  // namespace nascent
