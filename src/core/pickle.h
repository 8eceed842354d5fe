// Python pickles (protocols 0 to 5, without external buffers), read and never executed: what a pickle would call
// becomes data.
//
//   const Pickle pickle = read_pickle(path);
//   const PickleArray& pixels = pickle.root().at("data").array();
//
// Dictionaries (also OrderedDict, defaultdict), lists, tuples, sets, text, bytes, numbers, None, and numpy's arrays and
// scalars come back as such; any other object is opaque, with its name, arguments and state.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nascent {

// A numpy array: `type` is numpy's ("u1", "f8", ...), `bytes` are its elements in row-major order unless `fortran`.
struct PickleArray {
  std::vector<int64_t> shape;
  std::string type;
  bool big_endian = false;
  bool fortran = false;
  std::string_view bytes;

  int64_t count() const;
  double number(int64_t index) const;  // element `index` in the order of `bytes`
};

class PickleValue {
 public:
  enum class Kind { none, boolean, integer, real, text, bytes, list, tuple, dict, set, array, object };
  using Entry = std::pair<const PickleValue*, const PickleValue*>;

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  std::string kind_name() const;

  // Each throws an Error if the value is of another kind.
  int64_t integer() const;                               // an integer or boolean
  double real() const;                                   // any number
  const std::string& text() const;                       // text or bytes (Python 2 did not tell them apart)
  const std::vector<const PickleValue*>& items() const;  // of a list, tuple or set; an object's arguments
  const std::vector<Entry>& entries() const;  // of a dict, in order; an object's, if it was filled like a dict
  const PickleArray& array() const;
  const std::string& object_name() const;   // "module.name"
  const PickleValue* object_state() const;  // may be null

  // A dict's value by key, null if absent; `at` throws an Error that names the key.
  const PickleValue* find(std::string_view key) const;
  const PickleValue* find(int64_t key) const;
  const PickleValue& at(std::string_view key) const;
  const PickleValue& at(int64_t key) const;

 private:
  friend class PickleReader;
  void require(bool good, const char* expected) const;

  Kind kind_ = Kind::none;
  int64_t integer_ = 0;
  double real_ = 0;
  std::string text_;  // also the name of an object
  std::vector<const PickleValue*> items_;
  std::vector<Entry> entries_;
  const PickleValue* state_ = nullptr;
  PickleArray array_;
};

// Owns the values of one pickle, so that values may refer to one another, even in circles.
class Pickle {
 public:
  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;

  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleReader;
  Pickle() = default;

  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

// A corrupt pickle is an Error with the byte where reading stopped. `origin` names the file in it.
Pickle parse_pickle(std::string_view bytes, const std::string& origin);
Pickle read_pickle(const std::filesystem::path& path);

}  // namespace nascent
