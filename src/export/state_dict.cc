#include "nascent/export/state_dict.h"

#include <ATen/ATen.h>

#include <cstring>
#include <utility>
#include <vector>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/pickle.h"
#include "nascent/core/zip.h"
#include "nascent/export/safetensors.h"

namespace nascent {
namespace {

using Entries = std::map<std::string, std::string_view>;

constexpr std::pair<std::string_view, at::ScalarType> kStorages[] = {
    {"torch.FloatStorage", at::kFloat}, {"torch.DoubleStorage", at::kDouble}, {"torch.HalfStorage", at::kHalf},
    {"torch.LongStorage", at::kLong},   {"torch.IntStorage", at::kInt},       {"torch.BFloat16Storage", at::kBFloat16},
};

at::ScalarType type_of(const std::string& storage, const std::string& origin) {
  for (const auto& [name, type] : kStorages) {
    if (name == storage) return type;
  }
  fail("{} holds a tensor in a '{}', which is not known. Convert it to float32 first.", origin, storage);
}

std::vector<int64_t> integers(const PickleValue& tuple) {
  std::vector<int64_t> values;
  for (const PickleValue* item : tuple.items()) values.push_back(item->integer());
  return values;
}

class StateDictReader {
 public:
  StateDictReader(std::string_view bytes, const std::string& origin)
      : origin_(origin), entries_(read_zip(bytes, origin)) {
    for (const auto& [name, contents] : entries_) {
      if (name.ends_with("/data.pkl")) folder_ = name.substr(0, name.size() - std::string("data.pkl").size());
    }
    if (folder_.empty()) {
      fail(
          "{} is a zip archive without a data.pkl, so not a file of torch.save. Save the state dict by "
          "torch.save(model.state_dict(), FILE).",
          origin);
    }
  }

  StateDict read() const {
    const Pickle pickle = parse_pickle(entries_.at(folder_ + "data.pkl"), origin_);
    StateDict tensors;
    for (const auto& [key, value] : state_dict(pickle.root()).entries()) {
      if (!key->is(PickleValue::Kind::text) || !is_tensor(*value)) continue;
      std::string name = key->text();
      if (name.starts_with("module.")) name = name.substr(7);
      tensors[name] = tensor(*value);
    }
    if (tensors.empty())
      fail("{} holds no tensors by name. Save the state dict: torch.save(model.state_dict(), FILE).", origin_);
    return tensors;
  }

 private:
  static bool is_tensor(const PickleValue& value) {
    return value.is(PickleValue::Kind::object) && (value.object_name() == "torch._utils._rebuild_tensor_v2" ||
                                                   value.object_name() == "torch._utils._rebuild_parameter");
  }

  const PickleValue& state_dict(const PickleValue& saved) const {
    // C++ says of a dict which types it holds: restore_type_tag(dict, "Dict[str, Tensor]").
    const bool tagged = saved.is(PickleValue::Kind::object) &&
                        saved.object_name() == "torch.jit._pickle.restore_type_tag" && !saved.items().empty();
    const PickleValue& root = tagged ? *saved.items()[0] : saved;
    if (!root.is(PickleValue::Kind::dict)) {
      fail("{} holds {}, not a state dict. Save that instead: torch.save(model.state_dict(), FILE).", origin_,
           root.kind_name());
    }
    for (const char* key : {"state_dict", "model", "net"}) {
      const PickleValue* inner = root.find(key);
      if (inner != nullptr && inner->is(PickleValue::Kind::dict)) return *inner;
    }
    return root;
  }

  // _rebuild_tensor_v2(storage, offset, size, stride, ...), _rebuild_parameter(tensor, ...)
  at::Tensor tensor(const PickleValue& value) const {
    const auto& arguments = value.items();
    if (value.object_name() == "torch._utils._rebuild_parameter" && !arguments.empty() && is_tensor(*arguments[0])) {
      return tensor(*arguments[0]);
    }
    if (arguments.size() < 4) fail("{} is damaged: a tensor has {} of its 4 parts.", origin_, arguments.size());
    const at::Tensor storage = storage_of(*arguments[0]);
    const int64_t offset = arguments[1]->integer();
    const std::vector<int64_t> sizes = integers(*arguments[2]), strides = integers(*arguments[3]);
    check_within(storage.numel(), offset, sizes, strides);
    return storage.as_strided(sizes, strides, offset).clone(at::MemoryFormat::Contiguous);
  }

  // ("storage", type, key, device, count)
  at::Tensor storage_of(const PickleValue& persistent) const {
    const auto& id = persistent.items();
    if (id.size() != 1 || id[0]->items().size() < 5) fail("{} is damaged: a tensor without a storage.", origin_);
    const auto& parts = id[0]->items();
    const at::ScalarType type = type_of(parts[1]->object_name(), origin_);
    const auto found = entries_.find(folder_ + "data/" + parts[2]->text());
    const int64_t count = parts[4]->integer();
    const auto element = static_cast<int64_t>(at::elementSize(type));
    const auto bytes = found == entries_.end() ? -1 : static_cast<int64_t>(found->second.size());
    if (count < 0 || bytes < 0 || bytes / element < count) {
      fail("{} is damaged: storage '{}' is missing or too short.", origin_, parts[2]->text());
    }
    at::Tensor storage = at::empty({count}, type);
    if (count > 0) std::memcpy(storage.data_ptr(), found->second.data(), count * element);
    return storage;
  }

  void check_within(int64_t count, int64_t offset, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& strides) const {
    constexpr int64_t kMost = int64_t{1} << 31;
    bool good = sizes.size() == strides.size() && offset >= 0 && offset <= count;
    int64_t last = offset;
    bool empty = false;
    for (size_t i = 0; good && i < sizes.size(); ++i) {
      good = sizes[i] >= 0 && sizes[i] < kMost && strides[i] >= 0 && strides[i] < kMost;
      empty = empty || sizes[i] == 0;
      if (good && sizes[i] > 0) last += (sizes[i] - 1) * strides[i];
      good = good && last <= count;
    }
    if (!good || (!empty && last >= count)) fail("{} is damaged: a tensor reaches beyond its storage.", origin_);
  }

  const std::string& origin_;
  Entries entries_;
  std::string folder_;
};

}  // namespace

StateDict parse_state_dict(std::string_view bytes, const std::string& origin) {
  if (bytes.starts_with("PK\x03\x04")) return StateDictReader(bytes, origin).read();
  if (bytes.starts_with("\x80\x02\x8a\x0a") || bytes.starts_with("\x80\x02}")) {
    fail(
        "{} is of the form that torch.save wrote before PyTorch 1.6. Load it there and save it again: "
        "torch.save(torch.load(FILE), FILE).",
        origin);
  }
  if (bytes.size() > 9 && bytes[8] == '{') return read_safetensors(bytes, origin).tensors;
  fail("{} is neither a file of torch.save nor a safetensors file, or it is damaged.", origin);
}

StateDict read_state_dict(const std::filesystem::path& path) {
  return parse_state_dict(read_file(path), path.string());
}

}  // namespace nascent
