// The data sets "cifar10" and "cifar100", in the binary form (records of label bytes and planar pixels) or the "python"
// form.
#include <algorithm>

#include "nascent/core/files.h"
#include "nascent/core/pickle.h"
#include "nascent/core/text.h"
#include "nascent/data/locate.h"
#include "nascent/data/memory_dataset.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

constexpr int side = 32, plane = side * side, image_bytes = 3 * plane;

struct CifarForm {
  std::vector<std::string> train, test;  // files
  std::string class_names;               // file
};

struct CifarFamily {
  std::string name;
  std::vector<std::string> folders;
  CifarForm binary, python;
  int label_bytes;  // per record of the binary form; the last is the class
  std::string python_labels, python_names;
  size_t classes;
  std::string advice;
};

struct Cifar {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
};

void add_image(Cifar& cifar, const uint8_t* planes) {
  const size_t start = cifar.pixels.size();
  cifar.pixels.resize(start + image_bytes);
  uint8_t* out = cifar.pixels.data() + start;
  for (int i = 0; i < plane; ++i) {
    for (int c = 0; c < 3; ++c) *out++ = planes[c * plane + i];
  }
}

void add_label(Cifar& cifar, int64_t label, size_t classes, const fs::path& path, int64_t record) {
  if (label < 0 || label >= static_cast<int64_t>(classes)) {
    fail("{} is damaged: record {} has label {}; expected 0 to {}. Fetch it again.", path.string(), record, label,
         classes - 1);
  }
  cifar.labels.push_back(label);
}

void read_binary(const CifarFamily& family, const fs::path& path, Cifar& cifar) {
  const std::string bytes = read_maybe_gzip(path);
  const size_t record_bytes = family.label_bytes + image_bytes, records = bytes.size() / record_bytes;
  if (records == 0 || bytes.size() % record_bytes != 0) {
    fail(
        "{} is truncated or damaged: it has {} bytes; expected a multiple of {} ({} label bytes and 3x32x32 pixels), "
        "usually 10000 or 50000 times that. Fetch it again.",
        path.string(), bytes.size(), record_bytes, family.label_bytes);
  }
  for (size_t i = 0; i < records; ++i) {
    const auto* record = reinterpret_cast<const uint8_t*>(bytes.data()) + i * record_bytes;
    add_label(cifar, record[family.label_bytes - 1], family.classes, path, static_cast<int64_t>(i));
    add_image(cifar, record + family.label_bytes);
  }
}

// Rows of `array`, which must be N x 3072 bytes, whichever way they are laid out.
void add_rows(const PickleArray& array, Cifar& cifar) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(array.bytes.data());
  const int64_t rows = array.shape[0];
  std::vector<uint8_t> row(image_bytes);
  for (int64_t i = 0; i < rows; ++i) {
    if (!array.fortran) {
      add_image(cifar, bytes + i * image_bytes);
      continue;
    }
    for (int j = 0; j < image_bytes; ++j) row[j] = bytes[j * rows + i];
    add_image(cifar, row.data());
  }
}

void read_python(const CifarFamily& family, const fs::path& path, Cifar& cifar) {
  const Pickle pickle = read_pickle(path);
  try {
    const PickleArray& array = pickle.root().at("data").array();
    const auto& labels = pickle.root().at(family.python_labels).items();
    const bool good = array.type == "u1" && array.shape.size() == 2 && array.shape[1] == image_bytes &&
                      array.shape[0] == static_cast<int64_t>(labels.size()) && !labels.empty();
    if (!good) {
      fail("'data' is an array of {} of type {} with {} labels; expected N x 3072 of type u1 and N labels.",
           fmt::join(array.shape, " x "), array.type, labels.size());
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      add_label(cifar, labels[i]->integer(), family.classes, path, static_cast<int64_t>(i));
    }
    add_rows(array, cifar);
  } catch (const Error& error) {
    fail("{} is not a batch of '{}' in the python form: {}", path.string(), family.name, error.what());
  }
}

std::vector<std::string> numbered_classes(size_t classes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < classes; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

// From the file beside the batches if it is there; names are for people only, so a set without them is still good.
std::vector<std::string> read_class_names(const CifarFamily& family, const fs::path& path, bool python) {
  std::vector<std::string> names;
  if (!fs::is_regular_file(path)) return numbered_classes(family.classes);
  if (python) {
    const Pickle pickle = read_pickle(path);
    for (const PickleValue* name : pickle.root().at(family.python_names).items()) names.push_back(name->text());
  } else {
    for (const auto& line : split(read_file(path), '\n')) {
      if (!trim(line).empty()) names.emplace_back(trim(line));
    }
  }
  if (names.size() != family.classes) {
    fail("{} names {} classes; expected {}.", path.string(), names.size(), family.classes);
  }
  return names;
}

bool holds_any(const fs::path& folder, const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file_in(folder, {file}).has_value(); });
}

std::shared_ptr<const Dataset> load_form(const CifarFamily& family, const fs::path& folder, bool python, Part part) {
  const CifarForm& form = python ? family.python : family.binary;
  Cifar cifar;
  for (const auto& file : part == Part::train ? form.train : form.test) {
    const auto path = file_in(folder, {file});
    if (!path) fail("{} holds part of '{}' but lacks {}. {}", folder.string(), family.name, file, family.advice);
    python ? read_python(family, *path, cifar) : read_binary(family, *path, cifar);
  }
  return std::make_shared<MemoryDataset>(
      MemoryDataset::Contents{family.name,
                              Shape{3, side, side},
                              std::move(cifar.pixels),
                              std::move(cifar.labels),
                              read_class_names(family, folder / form.class_names, python),
                              {"pad-crop 4", "flip"}});
}

std::shared_ptr<const Dataset> load(const CifarFamily& family, const DataOptions& options, Part part) {
  const auto folders = candidate_folders(options.path, family.folders);
  const auto& binary = part == Part::train ? family.binary.train : family.binary.test;
  const auto& python = part == Part::train ? family.python.train : family.python.test;
  for (const auto& folder : folders) {
    if (holds_any(folder, binary)) return load_form(family, folder, false, part);
    if (holds_any(folder, python)) return load_form(family, folder, true, part);
  }
  fail_not_found(family.name, folders,
                 join(binary, ", ") + " (binary form) or " + join(python, ", ") + " (python form)", family.advice);
}

std::shared_ptr<const Dataset> load_cifar10(const DataOptions& options, Part part, uint64_t) {
  static const CifarFamily family{
      "cifar10",
      {"cifar-10-batches-bin", "cifar-10-batches-py", "cifar10"},
      {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
       {"test_batch.bin"},
       "batches.meta.txt"},
      {{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
       {"test_batch"},
       "batches.meta"},
      1,
      "labels",
      "label_names",
      10,
      "Fetch and unpack cifar-10-binary.tar.gz or cifar-10-python.tar.gz from "
      "https://www.cs.toronto.edu/~kriz/cifar.html, "
      "and set data.path or $NASCENT_DATA to its folder."};
  return load(family, options, part);
}

std::shared_ptr<const Dataset> load_cifar100(const DataOptions& options, Part part, uint64_t) {
  static const CifarFamily family{"cifar100",
                                  {"cifar-100-binary", "cifar-100-python", "cifar100"},
                                  {{"train.bin"}, {"test.bin"}, "fine_label_names.txt"},
                                  {{"train"}, {"test"}, "meta"},
                                  2,
                                  "fine_labels",
                                  "fine_label_names",
                                  100,
                                  "Fetch and unpack cifar-100-binary.tar.gz or cifar-100-python.tar.gz from "
                                  "https://www.cs.toronto.edu/~kriz/cifar.html, "
                                  "and set data.path or $NASCENT_DATA to its folder."};
  return load(family, options, part);
}

}  // namespace

NASCENT_REGISTER(Dataset, "cifar10", "60,000 32x32 colour photographs in 10 classes", load_cifar10);
NASCENT_REGISTER(Dataset, "cifar100", "60,000 32x32 colour photographs in 100 classes", load_cifar100);

}  // namespace nascent
