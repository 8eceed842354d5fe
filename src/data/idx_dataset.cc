// The data sets "fashion-mnist", "mnist" and "idx": pairs of IDX files, images and labels.
#include <algorithm>

#include "nascent/data/idx.h"
#include "nascent/data/locate.h"
#include "nascent/data/memory_dataset.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

struct IdxFamily {
  std::string name;
  std::vector<std::string> folders;
  std::vector<fs::path> system_folders;
  std::vector<std::string> class_names;  // empty: counted from the labels
  std::vector<std::string> train_transforms;
  std::string advice;
};

// "train-images-idx3-ubyte", plain or gzipped; some mirrors write a dot before "idx".
std::vector<std::string> spellings(Part part, const std::string& what) {
  const std::string stem = part == Part::train ? "train-" : "t10k-",
                    idx = what == "images" ? "idx3-ubyte" : "idx1-ubyte";
  const std::string dash = stem + what + "-" + idx, dot = stem + what + "." + idx;
  return {dash, dash + ".gz", dot, dot + ".gz"};
}

fs::path find_folder(const IdxFamily& family, const DataOptions& options, Part part) {
  const auto folders = candidate_folders(options.path, family.folders, family.system_folders);
  for (const auto& folder : folders) {
    if (file_in(folder, spellings(part, "images")) || file_in(folder, spellings(part, "labels"))) return folder;
  }
  const std::string expected = spellings(part, "images")[0] + " and " + spellings(part, "labels")[0] + ", plain or .gz";
  fail_not_found(family.name, folders, expected, family.advice);
}

fs::path require_file(const IdxFamily& family, const fs::path& folder, Part part, const std::string& what) {
  const auto names = spellings(part, what);
  if (const auto path = file_in(folder, names)) return *path;
  fail("{} holds part of '{}' but lacks {} (or {}). {}", folder.string(), family.name, names[0], names[1],
       family.advice);
}

// As many classes as the labels of both parts have, so that the parts agree.
std::vector<std::string> count_classes(const fs::path& folder) {
  int highest = 0;
  for (const Part part : {Part::train, Part::test}) {
    const auto path = file_in(folder, spellings(part, "labels"));
    if (!path) continue;
    for (const uint8_t label : read_idx(*path, 1).values) highest = std::max<int>(highest, label);
  }
  std::vector<std::string> names;
  for (int i = 0; i <= highest; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

std::vector<int64_t> checked_labels(const IdxArray& labels, const fs::path& path, size_t classes) {
  for (size_t i = 0; i < labels.values.size(); ++i) {
    if (labels.values[i] >= classes) {
      fail("{} is damaged: label {} is {}; expected 0 to {}.", path.string(), i, labels.values[i], classes - 1);
    }
  }
  return {labels.values.begin(), labels.values.end()};
}

std::shared_ptr<const Dataset> load(const IdxFamily& family, const DataOptions& options, Part part) {
  const fs::path folder = find_folder(family, options, part);
  const fs::path image_path = require_file(family, folder, part, "images");
  const fs::path label_path = require_file(family, folder, part, "labels");
  IdxArray images = read_idx(image_path, 3);
  const IdxArray labels = read_idx(label_path, 1);
  if (images.sizes[0] != labels.sizes[0] || images.values.empty()) {
    fail("{} has {} images and {} has {} labels; expected as many of each, and at least one.", image_path.string(),
         images.sizes[0], label_path.string(), labels.sizes[0]);
  }
  const auto class_names = family.class_names.empty() ? count_classes(folder) : family.class_names;
  const Shape shape{1, static_cast<int>(images.sizes[1]), static_cast<int>(images.sizes[2])};
  return std::make_shared<MemoryDataset>(MemoryDataset::Contents{family.name, shape, std::move(images.values),
                                                                 checked_labels(labels, label_path, class_names.size()),
                                                                 class_names, family.train_transforms});
}

std::shared_ptr<const Dataset> load_fashion_mnist(const DataOptions& options, Part part, uint64_t) {
  static const IdxFamily family{
      "fashion-mnist",
      {"fashion-mnist", "FashionMNIST/raw"},
      {"/usr/share/datasets/fashion-mnist"},
      {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"},
      {"pad-crop 2", "flip"},
      "On Debian: `apt install dataset-fashion-mnist`; elsewhere set data.path to the folder of the four files."};
  return load(family, options, part);
}

std::shared_ptr<const Dataset> load_mnist(const DataOptions& options, Part part, uint64_t) {
  static const IdxFamily family{"mnist",
                                {"mnist", "MNIST/raw"},
                                {"/usr/share/datasets/mnist"},
                                {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
                                {"pad-crop 2"},
                                "Fetch the four files of MNIST and set data.path to their folder."};
  return load(family, options, part);
}

std::shared_ptr<const Dataset> load_idx(const DataOptions& options, Part part, uint64_t) {
  static const IdxFamily family{"idx", {}, {},
                                {},    {}, "Set data.path to a folder of IDX files named as those of MNIST."};
  return load(family, options, part);
}

}  // namespace

NASCENT_REGISTER(Dataset, "fashion-mnist", "70,000 grey 28x28 pictures of clothing in 10 classes", load_fashion_mnist);
NASCENT_REGISTER(Dataset, "mnist", "70,000 grey 28x28 handwritten digits", load_mnist);
NASCENT_REGISTER(Dataset, "idx", "any grey images in IDX files named as those of MNIST", load_idx);

}  // namespace nascent
