#include "nascent/export/safetensors.h"

#include <ATen/ATen.h>

#include <cstring>

#include "nascent/core/error.h"
#include "nascent/core/options.h"

namespace nascent {
namespace {

constexpr std::pair<const char*, at::ScalarType> kTypes[] = {
    {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"I64", at::kLong},
    {"I32", at::kInt},    {"I16", at::kShort}, {"I8", at::kChar},  {"U8", at::kByte},       {"BOOL", at::kBool},
};
constexpr size_t kLength = sizeof(uint64_t), kMostHeader = 100'000'000;

const char* type_name(at::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return name;
  }
  fail("A tensor of type {} cannot be written to a safetensors file.", at::toString(type));
}

at::ScalarType type_named(const std::string& wanted, const std::string& origin) {
  for (const auto& [name, type] : kTypes) {
    if (name == wanted) return type;
  }
  fail("{} holds a tensor of type '{}', which this version of Nascent does not know.", origin, wanted);
}

at::Tensor read_tensor(const Json& entry, std::string_view data, const std::string& name, const std::string& origin) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto first = entry.at("data_offsets").at(0).get<uint64_t>(),
             last = entry.at("data_offsets").at(1).get<uint64_t>();
  const at::ScalarType type = type_named(entry.at("dtype").get<std::string>(), origin);
  uint64_t bytes = at::elementSize(type);
  for (const int64_t side : shape) {
    if (side < 0 || (side > 0 && bytes > data.size() / side)) bytes = data.size() + 1;
    if (bytes <= data.size()) bytes *= side;
  }
  if (first > last || last > data.size() || last - first != bytes) {
    fail("{} is damaged: tensor '{}' does not have the bytes that its shape asks for. Fetch it again.", origin, name);
  }
  at::Tensor tensor = at::empty(shape, type);
  if (bytes > 0) std::memcpy(tensor.data_ptr(), data.data() + first, bytes);
  return tensor;
}

}  // namespace

std::string write_safetensors(const Safetensors& contents) {
  Json header = Json::object();
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  std::string data;
  for (const auto& [name, tensor] : contents.tensors) {
    const at::Tensor dense = tensor.detach().cpu().contiguous();
    header[name] = {{"dtype", type_name(dense.scalar_type())},
                    {"shape", dense.sizes().vec()},
                    {"data_offsets", {data.size(), data.size() + dense.nbytes()}}};
    data.append(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the tensors are aligned
  const uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), kLength);
  return bytes + text + data;
}

Safetensors read_safetensors(std::string_view bytes, const std::string& origin) {
  uint64_t length = 0;
  if (bytes.size() >= kLength) std::memcpy(&length, bytes.data(), kLength);
  if (bytes.size() < kLength || length > kMostHeader || length > bytes.size() - kLength) {
    fail("{} is not a safetensors file, or is cut short: its header would take {} of its {} bytes.", origin, length,
         bytes.size());
  }
  Safetensors contents;
  try {
    const Json header = Json::parse(bytes.substr(kLength, length));
    const std::string_view data = bytes.substr(kLength + length);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        entry.get_to(contents.metadata);
      } else {
        contents.tensors[name] = read_tensor(entry, data, name, origin);
      }
    }
  } catch (const Json::exception& error) {
    fail("{} is damaged: its header cannot be read ({}). Fetch it again.", origin, error.what());
  }
  return contents;
}

}  // namespace nascent
