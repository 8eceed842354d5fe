// The complete state of something that can be resumed: named tensors and JSON values, written as one file with a format
// version and a checksum (docs/formats.md). The same state gives the same bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "nascent/core/options.h"

namespace nascent {

class State {
 public:
  void put(const std::string& name, const at::Tensor& tensor);  // copies
  // An Error if there is none of this name.
  const at::Tensor& tensor(const std::string& name) const;
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  // Copies the stored tensor into `target`, which keeps its memory format; an Error names both where shape or type
  // differ.
  void copy_into(const std::string& name, at::Tensor target) const;
  // An Error if there is no value of this name, as values.at() would throw a less helpful exception.
  const Json& value(const std::string& name) const;

  Json values = Json::object();  // numbers must be finite: JSON has no others, so those belong into tensors
  const std::map<std::string, at::Tensor>& tensors() const { return tensors_; }
  const std::string& origin() const { return origin_; }  // the file it was read from, for messages

  std::string serialise() const;
  static State parse(std::string_view bytes, const std::string& origin);

 private:
  std::map<std::string, at::Tensor> tensors_;
  std::string origin_ = "this state";
};

void save_state(const State& state, const std::filesystem::path& path);
State load_state(const std::filesystem::path& path);

// Anything that survives a kill: one pair of functions covers all of its state. Names begin with `prefix`.
class Stateful {
 public:
  virtual ~Stateful() = default;
  virtual void save(State& state, const std::string& prefix) const = 0;
  virtual void load(const State& state, const std::string& prefix) = 0;
};

}  // namespace nascent
