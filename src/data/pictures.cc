#include "nascent/data/pictures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/pickle.h"
#include "nascent/core/text.h"
#include "nascent/data/idx.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

constexpr int kCifarSide = 32, kCifarPlane = kCifarSide * kCifarSide;
constexpr size_t kCifarImage = 3 * kCifarPlane;

bool is_idx(std::string_view bytes) { return bytes.starts_with(std::string_view("\0\0\x08\x03", 4)); }

void add_planes(const uint8_t* planes, std::vector<uint8_t>& pixels) {
  for (int i = 0; i < kCifarPlane; ++i) {
    for (int c = 0; c < 3; ++c) pixels.push_back(planes[c * kCifarPlane + i]);
  }
}

// Bytes before the pixels of a record: one label of CIFAR-10, two of CIFAR-100; 0 where the length fits neither.
size_t label_bytes(size_t length, int64_t classes) {
  const bool ten = length % (kCifarImage + 1) == 0, hundred = length % (kCifarImage + 2) == 0;
  if (length == 0 || !(ten || hundred)) return 0;
  if (ten && hundred) return classes > 10 ? 2 : 1;
  return ten ? 1 : 2;
}

std::vector<uint8_t> binary_pixels(std::string_view bytes, size_t labels) {
  std::vector<uint8_t> pixels;
  pixels.reserve(bytes.size());
  for (size_t start = 0; start < bytes.size(); start += kCifarImage + labels) {
    add_planes(reinterpret_cast<const uint8_t*>(bytes.data()) + start + labels, pixels);
  }
  return pixels;
}

std::vector<uint8_t> pickled_pixels(const std::string& bytes, const std::string& name) {
  const Pickle pickle = parse_pickle(bytes, name);
  const PickleArray& array = pickle.root().at("data").array();
  const bool good = array.type == "u1" && array.shape.size() == 2 &&
                    array.shape[1] == static_cast<int64_t>(kCifarImage) && !array.fortran;
  if (!good) fail("{} holds no pictures: its 'data' is not an array of N x 3072 bytes, row by row.", name);
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < array.shape[0]; ++i) {
    add_planes(reinterpret_cast<const uint8_t*>(array.bytes.data()) + i * kCifarImage, pixels);
  }
  return pixels;
}

std::string start_of(const std::string& path) {
  if (fs::is_directory(path) || !fs::exists(path)) return "";
  std::ifstream in(path, std::ios::binary);
  std::string bytes(16, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(in.gcount());
  return bytes;
}

}  // namespace

void set_channels(Image& image, int channels) {
  if (image.channels == channels) return;
  const size_t count = static_cast<size_t>(image.height) * image.width;
  std::vector<uint8_t> pixels(count * channels);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* in = image.pixels.data() + i * image.channels;
    const int grey = image.channels == 3 ? (299 * in[0] + 587 * in[1] + 114 * in[2] + 500) / 1000 : in[0];
    std::fill_n(pixels.data() + i * channels, channels, static_cast<uint8_t>(grey));
  }
  image.channels = channels;
  image.pixels = std::move(pixels);
}

Pictures::Pictures(const std::vector<std::string>& sources, Wanted wanted) : wanted_(wanted) {
  if (wanted_.channels != 1 && wanted_.channels != 3) {
    fail("Pictures are grey or RGB; the model takes images of {} channels.", wanted_.channels);
  }
  for (const auto& source : sources) add_source(source);
  if (entries_.empty()) fail("There is no picture in {}.", join(sources, ", "));
}

void Pictures::add_source(const std::string& source) {
  if (source == "-") return add_standard_input();
  if (fs::is_directory(source)) return add_folder(source);
  const std::string start = start_of(source);
  // What looks like a picture, or is not there at all, is opened when it is read.
  if (start.empty() || starts_as_picture(start)) {
    entries_.push_back({source, nullptr, 0});
    return;
  }
  try {
    if (!add_records(source, read_maybe_gzip(source))) entries_.push_back({source, nullptr, 0});
  } catch (const Error& error) {
    add_unreadable(source, error.what());
  }
}

void Pictures::add_folder(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink)) {
    const bool hidden = entry.path().filename().string().starts_with(".");
    if (entry.is_regular_file() && !hidden && has_picture_name(entry.path())) paths.push_back(entry.path().string());
  }
  if (paths.empty()) fail("{} holds no {} file.", folder, picture_formats());
  std::sort(paths.begin(), paths.end());
  for (auto& path : paths) entries_.push_back({std::move(path), nullptr, 0});
}

void Pictures::add_standard_input() {
  const std::string bytes{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  if (starts_as_picture(bytes)) {
    entries_.push_back({"-", nullptr, 0, std::make_shared<const std::string>(bytes)});
  } else if (!add_records("-", bytes)) {
    for (const auto& line : split(bytes, '\n')) {
      if (const auto path = trim(line); !path.empty() && path != "-") add_source(std::string(path));
    }
  }
}

bool Pictures::add_records(const std::string& name, const std::string& bytes) {
  if (is_idx(bytes)) {
    IdxArray array = parse_idx(bytes, 3, name);
    const Shape shape{1, static_cast<int>(array.sizes[1]), static_cast<int>(array.sizes[2])};
    check_image_size(shape.height, shape.width, name);
    add_all(name, {shape, std::move(array.values)});
  } else if (const size_t labels = label_bytes(bytes.size(), wanted_.classes); labels > 0) {
    add_all(name, {{3, kCifarSide, kCifarSide}, binary_pixels(bytes, labels)});
  } else if (bytes.starts_with('\x80')) {
    add_all(name, {{3, kCifarSide, kCifarSide}, pickled_pixels(bytes, name)});
  } else {
    return false;
  }
  return true;
}

void Pictures::add_all(const std::string& name, Records records) {
  const auto shared = std::make_shared<const Records>(std::move(records));
  for (int64_t i = 0; i < shared->count(); ++i) entries_.push_back({fmt::format("{}#{}", name, i), shared, i});
}

void Pictures::add_unreadable(const std::string& name, const std::string& reason) {
  failures_[size()] = reason;
  entries_.push_back({name, nullptr, 0});
}

std::optional<std::string> Pictures::failure(int64_t index) const {
  const std::lock_guard lock(mutex_);
  const auto it = failures_.find(index);
  return it == failures_.end() ? std::nullopt : std::optional(it->second);
}

void Pictures::read_entry(const Entry& entry, Image& image) const {
  if (entry.bytes) {
    decode_image(*entry.bytes, entry.name, image);
  } else if (!entry.records) {
    read_image_file(entry.name, image);
  } else {
    image.reshape(entry.records->shape);
    const auto* first = entry.records->pixels.data() + entry.record * entry.records->shape.count();
    std::copy_n(first, image.pixels.size(), image.pixels.data());
  }
  set_channels(image, wanted_.channels);
}

void Pictures::read(int64_t index, Image& image) const {
  try {
    if (!failure(index)) return read_entry(entries_.at(index), image);
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    failures_[index] = error.what();
  }
  image.reshape({wanted_.channels, 1, 1});  // stands in its place in the batch
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{0});
}

}  // namespace nascent
