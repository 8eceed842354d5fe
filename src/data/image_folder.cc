// The data set "image-folder": a folder of pictures per class, below train/ and val/ (or valid/, validation/, test/),
// or all in one place; then some of each class are set aside for testing.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "nascent/core/files.h"
#include "nascent/core/random.h"
#include "nascent/core/text.h"
#include "nascent/data/dataset.h"
#include "nascent/data/image_file.h"
#include "nascent/data/locate.h"
#include "nascent/data/pictures.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

bool is_utf8(std::string_view text) {
  try {
    return Json(text).dump() != "";
  } catch (const Json::exception&) {
    return false;
  }
}

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || is_hidden(entry.path())) continue;
    names.push_back(entry.path().filename().string());
    if (!is_utf8(names.back())) {
      fail("The name of a class folder in {} is not UTF-8, so no result could say it. Rename the folder.",
           folder.string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The files below a folder, in the order of their names.
struct Found {
  std::vector<std::string> pictures, others;
};

Found files_below(const fs::path& folder) {
  Found found;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink)) {
    if (!entry.is_regular_file() || is_hidden(entry.path())) continue;
    (has_picture_name(entry.path()) ? found.pictures : found.others).push_back(entry.path().string());
  }
  std::sort(found.pictures.begin(), found.pictures.end());
  std::sort(found.others.begin(), found.others.end());
  return found;
}

struct LabelledFile {
  std::string path;
  int64_t label;
};

// All pictures of a folder of class folders.
struct Listing {
  std::vector<std::string> class_names;
  std::vector<LabelledFile> files;
  std::vector<std::string> others;  // files that are no pictures, or of formats that are not read

  // `expected`: the classes that must be there, and no others; empty: whichever there are.
  Listing(const fs::path& folder, const std::vector<std::string>& expected) : class_names(class_folders(folder)) {
    if (class_names.empty()) fail("{} has no folders; expected one for each class.", folder.string());
    if (!expected.empty()) check_classes(folder, expected);
    for (size_t label = 0; label < class_names.size(); ++label) {
      Found found = files_below(folder / class_names[label]);
      if (found.pictures.empty()) {
        fail("{} holds no {} file; expected at least one for each class.", (folder / class_names[label]).string(),
             picture_formats());
      }
      for (auto& path : found.pictures) files.push_back({std::move(path), static_cast<int64_t>(label)});
      others.insert(others.end(), found.others.begin(), found.others.end());
    }
  }

 private:
  void check_classes(const fs::path& folder, const std::vector<std::string>& expected) const {
    for (const auto& name : class_names) {
      if (std::binary_search(expected.begin(), expected.end(), name)) continue;
      fail("{} is a class that the training images do not have.{} Expected the same class folders in both.",
           (folder / name).string(), suggestion(name, expected));
    }
    for (const auto& name : expected) {
      if (std::binary_search(class_names.begin(), class_names.end(), name)) continue;
      fail(
          "{} has no folder '{}', a class of the training images. Expected the same class folders in both: add some "
          "pictures of it.",
          folder.string(), name);
    }
  }
};

// How many pictures tell what all are like.
constexpr size_t kMeasured = 200, kLookedAt = 16;

template <class Item>
std::vector<Item> evenly(const std::vector<Item>& all, size_t most) {
  std::vector<Item> some;
  const size_t step = std::max<size_t>(1, (all.size() + most - 1) / most);
  for (size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

// What the pictures are like, from some of them: a picture that cannot be read is reported when all are.
struct Survey {
  int least = 0, middle = 0, most = 0;  // of the shorter sides, in pixels
  bool grey = false;

  explicit Survey(const std::vector<LabelledFile>& files) {
    std::vector<int> sides;
    for (const auto& file : evenly(files, kMeasured)) {
      try {
        const Shape shape = read_image_shape(file.path);
        sides.push_back(std::min(shape.height, shape.width));
      } catch (const Error&) {
      }
    }
    if (sides.empty()) return;
    std::sort(sides.begin(), sides.end());
    least = sides.front(), middle = sides[sides.size() / 2], most = sides.back();
    const auto some = evenly(files, kLookedAt);
    grey = std::all_of(some.begin(), some.end(), [](const LabelledFile& file) { return is_grey(file.path); });
  }

  // The side of the squares that networks see: no picture is blown up to have detail that it has not.
  int side() const {
    constexpr int kUsual = 224, kLeast = 8, kStep = 4;
    return std::clamp(middle / kStep * kStep, kLeast, kUsual);
  }

 private:
  static bool is_grey(const std::string& path) {
    Image image;
    try {
      read_image_file(path, image);
    } catch (const Error&) {
      return true;  // says nothing
    }
    for (size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
      if (image.pixels[i] != image.pixels[i + 1] || image.pixels[i] != image.pixels[i + 2]) return false;
    }
    return true;
  }
};

class ImageFolder : public Dataset {
 public:
  ImageFolder(fs::path root, std::vector<std::string> class_names, std::vector<LabelledFile> files,
              const Survey& survey, std::vector<std::string> notes)
      : root_(std::move(root)),
        class_names_(std::move(class_names)),
        files_(std::move(files)),
        survey_(survey),
        notes_(std::move(notes)),
        shape_(common_shape()) {}

  const std::string& name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int64_t label(int64_t index) const override { return files_.at(index).label; }
  void read(int64_t index, Image& image) const override {
    read_image_file(files_.at(index).path, image);
    set_channels(image, shape_.channels);
  }
  Shape shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::vector<std::string> default_transforms(Part part) const override;
  uint32_t checksum() const override;
  std::vector<std::string> notes() const override { return notes_; }
  bool reads_files() const override { return true; }

 private:
  Shape common_shape() const;

  std::string name_ = "image-folder";
  fs::path root_;
  std::vector<std::string> class_names_;
  std::vector<LabelledFile> files_;
  Survey survey_;
  std::vector<std::string> notes_;
  Shape shape_;
};

// Stops at the first image that differs, so only folders of equal images are read through.
Shape ImageFolder::common_shape() const {
  const int channels = survey_.grey ? 1 : 3;
  std::optional<Shape> first;
  for (const auto& file : files_) {
    try {
      const Shape shape = read_image_shape(file.path);
      if (first && !(shape == *first)) return {channels, 0, 0};
      first = shape;
    } catch (const Error&) {
      return {channels, 0, 0};  // reported with all others that cannot be read
    }
  }
  return {channels, first->height, first->width};
}

// As ImageNet's for pictures that are large enough for them; small ones lose less of themselves.
std::vector<std::string> ImageFolder::default_transforms(Part part) const {
  const int side = survey_.side();
  const bool small = side < 128;
  if (part == Part::test) {
    if (small) return {fmt::format("resize {}", side), fmt::format("center-crop {}", side)};
    return {fmt::format("resize {}", std::lround(side * 256.0 / 224)), fmt::format("center-crop {}", side)};
  }
  std::vector<std::string> transforms;
  transforms.push_back(fmt::format("random-resized-crop {}{}", side, small ? " 0.5 1" : ""));
  transforms.emplace_back("flip");
  if (!survey_.grey && !small) transforms.emplace_back("colour-jitter 0.4 0.4 0.4 0.2");
  return transforms;
}

// Names, sizes and times stand for the content, which would take as long to read as to use.
uint32_t ImageFolder::checksum() const {
  std::string listing = fmt::format("{} channels\n", shape_.channels);
  for (const auto& file : files_) {
    const auto time = fs::last_write_time(file.path).time_since_epoch().count();
    listing += fmt::format("{} {} {}\n", file.path, fs::file_size(file.path), time);
  }
  return crc32(listing);
}

// Some of each class, by chance but always the same: another seed must not train on what this one was tested with.
std::vector<LabelledFile> share_of(const Listing& listing, Part part, double fraction) {
  std::vector<LabelledFile> chosen;
  for (size_t label = 0, begin = 0; label < listing.class_names.size(); ++label) {
    size_t end = begin;
    while (end < listing.files.size() && listing.files[end].label == static_cast<int64_t>(label)) ++end;
    const auto count = static_cast<int64_t>(end - begin);
    if (count < 2) {
      fail("The class '{}' has a single picture; at least two are needed, one to train on and one to test with.",
           listing.class_names[label]);
    }
    const int64_t tested = std::clamp<int64_t>(std::llround(fraction * static_cast<double>(count)), 1, count - 1);
    std::vector<int64_t> order = RandomStream(0, "folder split", {label}).permutation(count);
    const bool test = part == Part::test;
    order.assign(order.begin() + (test ? 0 : tested), test ? order.begin() + tested : order.end());
    std::sort(order.begin(), order.end());
    for (const int64_t i : order) chosen.push_back(listing.files[begin + i]);
    begin = end;
  }
  return chosen;
}

std::string sizes_note(const Survey& survey) {
  const std::string sides = survey.least == survey.most ? fmt::format("{} pixels", survey.most)
                                                        : fmt::format("{} to {} pixels, half of them {} or more",
                                                                      survey.least, survey.most, survey.middle);
  return fmt::format(
      "The shorter side of the pictures has {}; networks see {} x {}, unless data.train-transforms says otherwise{}.",
      sides, survey.side(), survey.side(), survey.grey ? ", in one channel, since all are grey" : "");
}

std::string balance_note(const Listing& listing) {
  std::vector<int64_t> counts(listing.class_names.size());
  for (const auto& file : listing.files) ++counts[file.label];
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*most < 3 * *least) return "";
  return fmt::format(
      "The classes are uneven: '{}' has {} pictures, '{}' has {}. Accuracy alone will say little about the small ones; "
      "'nascent eval --details' tells each.",
      listing.class_names[most - counts.begin()], *most, listing.class_names[least - counts.begin()], *least);
}

std::string others_note(const std::vector<std::string>& others) {
  constexpr size_t kNamed = 5;
  if (others.empty()) return "";
  std::vector<std::string> named(others.begin(),
                                 others.begin() + static_cast<int64_t>(std::min(kNamed, others.size())));
  return fmt::format("{} not {} and left out: {}{}.",
                     others.size() == 1 ? "1 file is" : fmt::format("{} files are", others.size()), picture_formats(),
                     join(named, ", "), others.size() > kNamed ? ", ..." : "");
}

std::vector<std::string> notes_on(const Listing& listing, const Survey& survey, const std::string& split) {
  std::vector<std::string> notes;
  for (const std::string& note : {split, sizes_note(survey), balance_note(listing), others_note(listing.others)}) {
    if (!note.empty()) notes.push_back(note);
  }
  return notes;
}

std::optional<fs::path> test_folder(const fs::path& root) {
  for (const char* name : {"val", "valid", "validation", "test"}) {
    if (fs::is_directory(root / name)) return root / name;
  }
  return std::nullopt;
}

std::shared_ptr<const Dataset> load_image_folder(const DataOptions& options, Part part, uint64_t) {
  const std::string advice =
      "Set data.path to a folder that holds a folder of pictures for each class, or train/ and val/ with such folders.";
  if (options.path.empty()) fail("The data set 'image-folder' needs a path. {}", advice);
  const fs::path root = options.path;
  if (!fs::is_directory(root) || class_folders(root).empty()) {
    fail_not_found("image-folder", {root},
                   "train/ and val/ (or valid/, test/), each with a folder per class, or a folder per class", advice);
  }
  const bool has_train = fs::is_directory(root / "train");
  const fs::path train = has_train ? root / "train" : root;
  const Listing listing(train, {});
  const Survey survey(listing.files);
  if (const auto test = has_train ? test_folder(root) : std::nullopt) {
    if (part == Part::train) {
      return std::make_shared<ImageFolder>(root, listing.class_names, listing.files, survey,
                                           notes_on(listing, survey, ""));
    }
    const Listing tested(*test, listing.class_names);
    return std::make_shared<ImageFolder>(root, listing.class_names, tested.files, survey, std::vector<std::string>());
  }
  const std::string split = fmt::format(
      "{} has no {}: {:.0f} % of the pictures of each class are set aside for testing (data.test-fraction).",
      root.string(), has_train ? "val/ or test/" : "train/ and val/", 100 * options.test_fraction);
  return std::make_shared<ImageFolder>(root, listing.class_names, share_of(listing, part, options.test_fraction),
                                       survey, notes_on(listing, survey, split));
}

}  // namespace

NASCENT_REGISTER(Dataset, "image-folder",
                 "pictures of any size, a folder per class, in train/ and val/ or in one place", load_image_folder);

}  // namespace nascent
