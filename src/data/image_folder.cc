// The data set "image-folder": train/ and val/ (or valid/, test/), in each a folder of JPEG and PNG files per class.
#include <algorithm>

#include "nascent/core/files.h"
#include "nascent/data/dataset.h"
#include "nascent/data/image_file.h"
#include "nascent/data/locate.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

struct LabelledFile {
  std::string path;
  int64_t label;
};

bool is_image(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !is_hidden(entry.path())) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> images_below(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink)) {
    if (entry.is_regular_file() && is_image(entry.path()) && !is_hidden(entry.path()))
      paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class ImageFolder : public Dataset {
 public:
  ImageFolder(const fs::path& train, const fs::path& folder);

  const std::string& name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int64_t label(int64_t index) const override { return files_.at(index).label; }
  void read(int64_t index, Image& image) const override { read_image_file(files_.at(index).path, image); }
  Shape shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::vector<std::string> default_transforms(Part part) const override;
  uint32_t checksum() const override;

 private:
  void add_class(const fs::path& folder, int64_t label);
  Shape common_shape() const;

  std::string name_ = "image-folder";
  std::vector<std::string> class_names_;
  std::vector<LabelledFile> files_;
  Shape shape_;
};

ImageFolder::ImageFolder(const fs::path& train, const fs::path& folder) : class_names_(class_folders(train)) {
  if (class_names_.empty()) fail("{} has no folders; expected one for each class.", train.string());
  for (const auto& name : class_folders(folder)) {
    const auto it = std::lower_bound(class_names_.begin(), class_names_.end(), name);
    if (it == class_names_.end() || *it != name) {
      fail("{} is a class that {} does not have.{} Expected the same class folders in both.", (folder / name).string(),
           train.string(), suggestion(name, class_names_));
    }
    add_class(folder / name, it - class_names_.begin());
  }
  if (files_.empty()) fail("{} holds no JPEG or PNG files in folders of classes.", folder.string());
  shape_ = common_shape();
}

void ImageFolder::add_class(const fs::path& folder, int64_t label) {
  const auto paths = images_below(folder);
  if (paths.empty()) fail("{} holds no JPEG or PNG file; expected at least one for each class.", folder.string());
  for (const auto& path : paths) files_.push_back({path, label});
}

// Stops at the first image that differs, so only folders of equal images are read through.
Shape ImageFolder::common_shape() const {
  const Shape first = read_image_shape(files_.front().path);
  for (const auto& file : files_) {
    if (!(read_image_shape(file.path) == first)) return {3, 0, 0};
  }
  return first;
}

std::vector<std::string> ImageFolder::default_transforms(Part part) const {
  if (part == Part::train) return {"random-resized-crop 224", "flip", "colour-jitter 0.4 0.4 0.4 0.2"};
  return {"resize 256", "center-crop 224"};
}

// Names, sizes and times stand for the content, which would take as long to read as to use.
uint32_t ImageFolder::checksum() const {
  std::string listing;
  for (const auto& file : files_) {
    const auto time = fs::last_write_time(file.path).time_since_epoch().count();
    listing += fmt::format("{} {} {}\n", file.path, fs::file_size(file.path), time);
  }
  return crc32(listing);
}

std::shared_ptr<const Dataset> load_image_folder(const DataOptions& options, Part part, uint64_t) {
  const std::string advice = "Set data.path to the folder that holds train/ and val/.";
  if (options.path.empty()) fail("The data set 'image-folder' needs a path. {}", advice);
  const fs::path root = options.path, train = root / "train";
  if (!fs::is_directory(train)) {
    fail_not_found("image-folder", {root}, "train/ and val/ (or valid/, test/), each with a folder per class", advice);
  }
  if (part == Part::train) return std::make_shared<ImageFolder>(train, train);
  for (const char* name : {"val", "valid", "test"}) {
    if (fs::is_directory(root / name)) return std::make_shared<ImageFolder>(train, root / name);
  }
  fail("{} has train/ but neither val/, valid/ nor test/; expected one of them, with a folder per class.",
       root.string());
}

}  // namespace

NASCENT_REGISTER(Dataset, "image-folder", "JPEG and PNG files of any size in train/CLASS/ and val/CLASS/",
                 load_image_folder);

}  // namespace nascent
