// Pictures to be labelled, from files and folders of any kind. What cannot be read is noted and left out, not fatal.
//
//   auto pictures = std::make_shared<Pictures>(std::vector<std::string>{"cat.jpg", "holiday/"}, Pictures::Wanted{3,
//   10});
//   ... a Loader reads them ...
//   if (auto reason = pictures->failure(0)) ...
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "nascent/data/dataset.h"

namespace nascent {

class Pictures : public Dataset {
 public:
  // What the model takes: pictures are made grey (1) or coloured (3); the number of classes tells CIFAR-10's records
  // from CIFAR-100's where a file's length fits both.
  struct Wanted {
    int channels = 3;
    int64_t classes = 10;
  };

  // Each source is a picture (image_file.h), a folder of them (at any depth), IDX images (plain or gzipped), a CIFAR
  // batch (binary or python form), or "-": standard input, which is one such file or a list of paths, one per line.
  Pictures(const std::vector<std::string>& sources, Wanted wanted);

  // "cat.jpg"; of a file of many "t10k-images-idx3-ubyte#12", counted from 0.
  const std::string& picture_name(int64_t index) const { return entries_.at(index).name; }
  // Why a picture could not be read; nothing where it could, or has not been read yet.
  std::optional<std::string> failure(int64_t index) const;

  const std::string& name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  int64_t label(int64_t) const override { return 0; }  // unknown
  void read(int64_t index, Image& image) const override;
  Shape shape() const override { return {wanted_.channels, 0, 0}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::vector<std::string> default_transforms(Part) const override { return {}; }
  uint32_t checksum() const override { return 0; }

 private:
  // Many pictures of one shape from one file.
  struct Records {
    Shape shape;
    std::vector<uint8_t> pixels;  // image after image, channels innermost
    int64_t count() const { return static_cast<int64_t>(pixels.size()) / shape.count(); }
  };
  struct Entry {
    std::string name;
    std::shared_ptr<const Records> records;  // null: the picture is the file of that name, or `bytes`
    int64_t record = 0;
    std::shared_ptr<const std::string> bytes{};
  };

  void add_source(const std::string& source);
  void add_folder(const std::string& folder);
  void add_standard_input();
  // True where the bytes are of a file of many pictures, which are then added.
  bool add_records(const std::string& name, const std::string& bytes);
  void add_all(const std::string& name, Records records);
  void add_unreadable(const std::string& name, const std::string& reason);
  void read_entry(const Entry& entry, Image& image) const;

  std::string name_ = "pictures";
  std::vector<std::string> class_names_;
  Wanted wanted_;
  std::vector<Entry> entries_;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::string> failures_;
};

// Grey or RGB, as asked for: grey by the weights of ITU-R 601, RGB by repetition.
void set_channels(Image& image, int channels);

}  // namespace nascent
