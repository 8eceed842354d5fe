// Weights that another program saved: PyTorch's state dicts (the zip files of torch.save since 1.6) and safetensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace nascent {

using StateDict = std::map<std::string, at::Tensor>;

// The tensors by name. A dict that holds the state dict under "state_dict", "model" or "net" is looked into; the
// "module." that DataParallel puts before every name is taken away. Nothing in the file is ever executed.
StateDict read_state_dict(const std::filesystem::path& path);
StateDict parse_state_dict(std::string_view bytes, const std::string& origin);

}  // namespace nascent
