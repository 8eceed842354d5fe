#include "nascent/train/state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <bit>
#include <cstring>
#include <utility>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

static_assert(std::endian::native == std::endian::little, "state files are little-endian");

constexpr std::string_view kMagic = "NASCENT\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kAlignment = 64;

// What opens every file, written as it stands in memory.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t index_bytes;
  uint64_t data_bytes;
};
static_assert(sizeof(Header) == 32);

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

size_t aligned(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// The index is padded so that the tensors behind it are aligned in the file.
size_t data_start(const Header& header) { return aligned(sizeof(Header) + header.index_bytes); }

size_t total_bytes(const Header& header) { return data_start(header) + header.data_bytes + sizeof(uint32_t); }

std::string shape_text(at::IntArrayRef shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return "[" + join(sizes, ", ") + "]";
}

Header read_header(std::string_view bytes, const std::string& origin) {
  if (!bytes.starts_with(kMagic)) {
    fail("{} is not a checkpoint or model of Nascent: its first bytes are not 'NASCENT'. Check the path.", origin);
  }
  Header header;
  if (bytes.size() < sizeof(Header)) {
    fail("{} is cut short: it has {} bytes, its header alone {}. Use an older checkpoint or make it again.", origin,
         bytes.size(), sizeof(Header));
  }
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.version != kVersion) {
    fail("{} has format version {}; this version of Nascent reads version {}. Read it with the version that wrote it.",
         origin, header.version, kVersion);
  }
  return header;
}

void check_whole(std::string_view bytes, const Header& header, const std::string& origin) {
  const bool possible = header.index_bytes <= bytes.size() && header.data_bytes <= bytes.size();
  if (!possible || bytes.size() != total_bytes(header)) {
    fail("{} is damaged: it has {} bytes, its header announces {}. Use an older checkpoint or make it again.", origin,
         bytes.size(), total_bytes(header));
  }
  uint32_t expected = 0;
  std::memcpy(&expected, bytes.data() + bytes.size() - sizeof(expected), sizeof(expected));
  const uint32_t found = crc32(bytes.substr(0, bytes.size() - sizeof(expected)));
  if (found != expected) {
    fail("{} is damaged: its checksum is {:08x}, expected {:08x}. Use an older checkpoint or make it again.", origin,
         found, expected);
  }
}

at::Tensor read_tensor(const Json& entry, std::string_view data, const std::string& origin) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto offset = entry.at("offset").get<size_t>();
  at::Tensor tensor = at::empty(shape, type_named(entry.at("type").get<std::string>(), origin));
  if (offset > data.size() || tensor.nbytes() > data.size() - offset) {
    fail("{} is damaged: tensor '{}' reaches beyond the file's end. Use an older checkpoint or make it again.", origin,
         entry.at("name").get<std::string>());
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
    data_bytes = aligned(data_bytes + tensor.nbytes());
  }
  const Json index = {{"values", values}, {"tensors", std::move(entries)}};
  const std::string text = index.dump(-1, ' ', false, Json::error_handler_t::replace);

  Header header{{}, kVersion, 0, text.size(), data_bytes};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  std::string bytes;
  bytes.reserve(total_bytes(header));
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header)).append(text);
  bytes.resize(data_start(header), '\0');
  for (const auto& [name, tensor] : tensors_) {
    bytes.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
    bytes.resize(aligned(bytes.size()), '\0');
  }
  const uint32_t sum = crc32(bytes);
  return bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
}

State State::parse(std::string_view bytes, const std::string& origin) {
  const Header header = read_header(bytes, origin);
  check_whole(bytes, header, origin);
  State state;
  state.origin_ = origin;
  try {
    const Json index = Json::parse(bytes.substr(sizeof(Header), header.index_bytes));
    state.values = index.at("values");
    const std::string_view data = bytes.substr(data_start(header), header.data_bytes);
    for (const auto& entry : index.at("tensors")) {
      state.tensors_[entry.at("name").get<std::string>()] = read_tensor(entry, data, origin);
    }
  } catch (const Json::exception& error) {
    fail("{} is damaged: its index cannot be read ({}). Use an older checkpoint or make it again.", origin,
         error.what());
  }
  return state;
}

void save_state(const State& state, const std::filesystem::path& path) { write_file(path, state.serialise()); }

State load_state(const std::filesystem::path& path) { return State::parse(read_file(path), path.string()); }

}  // namespace nascent
