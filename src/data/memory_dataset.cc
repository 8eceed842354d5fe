#include "nascent/data/memory_dataset.h"

#include <cassert>
#include <cstring>

#include "nascent/core/files.h"

namespace nascent {

MemoryDataset::MemoryDataset(Contents contents) : contents_(std::move(contents)) {
  assert(static_cast<int64_t>(contents_.pixels.size()) == size() * contents_.shape.count());
}

void MemoryDataset::read(int64_t index, Image& image) const {
  assert(index >= 0 && index < size());
  image.reshape(contents_.shape);
  std::memcpy(image.pixels.data(), contents_.pixels.data() + index * image.pixels.size(), image.pixels.size());
}

std::vector<std::string> MemoryDataset::default_transforms(Part part) const {
  return part == Part::train ? contents_.train_transforms : std::vector<std::string>{};
}

uint32_t MemoryDataset::checksum() const {
  return crc32({reinterpret_cast<const char*>(contents_.pixels.data()), contents_.pixels.size()});
}

}  // namespace nascent
