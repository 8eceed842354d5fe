#include "nascent/train/state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <utility>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/framed_file.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

constexpr FileFormat kFormat = {
    .magic = "NASCENT\n",
    .version = 1,
    .stranger = "is not a checkpoint or model of Nascent: its first bytes are not 'NASCENT'. Check the path.",
    .remedy = "Use an older checkpoint or make it again."};

constexpr std::pair<const char*, at::ScalarType> kTypes[] = {
    {"float32", at::kFloat}, {"float64", at::kDouble}, {"float16", at::kHalf}, {"bfloat16", at::kBFloat16},
    {"int64", at::kLong},    {"int32", at::kInt},      {"int16", at::kShort},  {"int8", at::kChar},
    {"uint8", at::kByte},    {"bool", at::kBool},
};

std::string type_name(at::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return name;
  }
  fail("A tensor of type {} cannot be saved.", at::toString(type));
}

at::ScalarType type_named(const std::string& wanted, const std::string& origin) {
  for (const auto& [name, type] : kTypes) {
    if (name == wanted) return type;
  }
  fail("{}: tensors of type '{}' are not known to this version of Nascent.", origin, wanted);
}

std::string shape_text(at::IntArrayRef shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return "[" + join(sizes, ", ") + "]";
}

at::Tensor read_tensor(const Json& entry, std::string_view data, const std::string& origin) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto offset = entry.at("offset").get<size_t>();
  at::Tensor tensor = at::empty(shape, type_named(entry.at("type").get<std::string>(), origin));
  if (offset > data.size() || tensor.nbytes() > data.size() - offset) {
    fail("{} is damaged: tensor '{}' reaches beyond the file's end. {}", origin, entry.at("name").get<std::string>(),
         kFormat.remedy);
  }
  if (tensor.nbytes() > 0) std::memcpy(tensor.data_ptr(), data.data() + offset, tensor.nbytes());
  return tensor;
}

}  // namespace

void State::put(const std::string& name, const at::Tensor& tensor) {
  at::NoGradGuard no_grad;
  tensors_[name] = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false)).copy_(tensor);
}

const at::Tensor& State::tensor(const std::string& name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) {
    fail("{} holds no tensor '{}'. It was written with other options; use those it was written with.", origin_, name);
  }
  return it->second;
}

const Json& State::value(const std::string& name) const {
  const auto it = values.find(name);
  if (it == values.end()) {
    fail("{} holds no value '{}'. It was written with other options; use those it was written with.", origin_, name);
  }
  return *it;
}

void State::copy_into(const std::string& name, at::Tensor target) const {
  const at::Tensor& source = tensor(name);
  if (source.sizes() != target.sizes() || source.scalar_type() != target.scalar_type()) {
    fail(
        "{}: tensor '{}' is {} of {}; expected {} of {}. It was written with other options; use those it was written "
        "with.",
        origin_, name, shape_text(source.sizes()), type_name(source.scalar_type()), shape_text(target.sizes()),
        type_name(target.scalar_type()));
  }
  at::NoGradGuard no_grad;
  target.copy_(source);
}

std::string State::serialise() const {
  Json entries = Json::array();
  size_t data_bytes = 0;
  for (const auto& [name, tensor] : tensors_) {
    entries.push_back({{"name", name},
                       {"type", type_name(tensor.scalar_type())},
                       {"shape", tensor.sizes().vec()},
                       {"offset", data_bytes}});
    data_bytes = aligned_in_file(data_bytes + tensor.nbytes());
  }
  const Json index = {{"values", values}, {"tensors", std::move(entries)}};
  const std::string text = index.dump(-1, ' ', false, Json::error_handler_t::replace);
  FramedFileWriter file(kFormat, text, data_bytes);
  for (const auto& [name, tensor] : tensors_) file.add(tensor.data_ptr(), tensor.nbytes());
  return std::move(file).finish();
}

State State::parse(std::string_view bytes, const std::string& origin) {
  const FramedFile file = read_framed_file(kFormat, bytes, origin);
  State state;
  state.origin_ = origin;
  try {
    const Json index = Json::parse(file.index);
    state.values = index.at("values");
    for (const auto& entry : index.at("tensors")) {
      state.tensors_[entry.at("name").get<std::string>()] = read_tensor(entry, file.data, origin);
    }
  } catch (const Json::exception& error) {
    fail("{} is damaged: its index cannot be read ({}). {}", origin, error.what(), kFormat.remedy);
  }
  return state;
}

void save_state(const State& state, const std::filesystem::path& path) { write_file(path, state.serialise()); }

State load_state(const std::filesystem::path& path) { return State::parse(read_file(path), path.string()); }

}  // namespace nascent
