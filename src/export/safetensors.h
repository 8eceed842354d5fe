// The safetensors format: the length of a JSON header, the header, the tensors' raw bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nascent {

struct Safetensors {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

std::string write_safetensors(const Safetensors& contents);
// A file that is cut short, or whose header does not describe its bytes, is an Error that names `origin`.
Safetensors read_safetensors(std::string_view bytes, const std::string& origin);

}  // namespace nascent
