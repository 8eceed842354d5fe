// The data set "npy": images and labels as NumPy saves them. x.npy and y.npy hold all of them, of which some are set
// aside for testing; or x_train.npy, y_train.npy, x_test.npy and y_test.npy hold the parts.
#include <algorithm>
#include <cmath>

#include "nascent/core/random.h"
#include "nascent/data/locate.h"
#include "nascent/data/memory_dataset.h"
#include "nascent/data/npy.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

// N x C x H x W; N x H x W are grey.
Shape image_shape(const NpyArray& images, const fs::path& path) {
  std::vector<int64_t> sides = images.shape;
  if (sides.size() == 3) sides.insert(sides.begin() + 1, 1);
  const bool images_at_all = sides.size() == 4 && *std::min_element(sides.begin(), sides.end()) > 0;
  const bool channels_last = images_at_all && sides[3] <= 4 && sides[1] > 4;
  if (images_at_all && !channels_last && sides[1] <= 64 && sides[2] <= 4096 && sides[3] <= 4096) {
    return {static_cast<int>(sides[1]), static_cast<int>(sides[2]), static_cast<int>(sides[3])};
  }
  fail("{} is an array of {}; expected N x C x H x W (or N x H x W, grey), with sides up to 4096.{}", path.string(),
       fmt::join(images.shape, " x "),
       channels_last ? " Its channels come last: save numpy.transpose(x, (0, 3, 1, 2))." : "");
}

// Bytes as they are; real numbers from 0 to 1 become 0 to 255.
class ToBytes {
 public:
  ToBytes(const NpyArray& images, const fs::path& path) {
    double low = 0, high = 0;
    for (int64_t i = 0; i < images.count(); ++i) {
      const double value = images.number(i);
      if (!std::isfinite(value)) fail("{}: number {} is not finite.", path.string(), i);
      low = std::min(low, value), high = std::max(high, value);
    }
    if (low < 0 || high > 255) {
      fail(
          "{} holds numbers from {} to {}; expected 0 to 255, or real numbers from 0 to 1. Nascent normalises images "
          "itself.",
          path.string(), low, high);
    }
    const bool real = images.type.starts_with("f");
    scale_ = real && high <= 1 ? 255 : 1;
  }
  uint8_t operator()(double value) const { return static_cast<uint8_t>(std::lround(scale_ * value)); }

 private:
  double scale_ = 1;
};

std::vector<int64_t> read_labels(const NpyArray& labels, const fs::path& path, int64_t images) {
  std::vector<int64_t> shape = labels.shape;
  if (shape.size() == 2 && shape[1] == 1) shape.pop_back();
  if (shape.size() != 1 || shape[0] != images || images == 0) {
    fail("{} has the shape {}; expected one label for each of {} images.", path.string(),
         fmt::join(labels.shape, " x "), images);
  }
  std::vector<int64_t> all;
  for (int64_t i = 0; i < images; ++i) {
    const double label = labels.number(i);
    if (!(label >= 0 && label < 100000) || label != std::floor(label)) {
      fail("{}: label {} is {}; expected whole numbers from 0.", path.string(), i, label);
    }
    all.push_back(static_cast<int64_t>(label));
  }
  return all;
}

struct Arrays {
  Shape shape;
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
};

Arrays read_arrays(const fs::path& folder, const std::string& suffix) {
  const fs::path x = folder / fmt::format("x{}.npy", suffix), y = folder / fmt::format("y{}.npy", suffix);
  const NpyArray images = read_npy(x);
  Arrays arrays{image_shape(images, x), {}, read_labels(read_npy(y), y, images.shape[0])};
  const ToBytes to_byte(images, x);
  const auto [channels, height, width] = std::tuple(arrays.shape.channels, arrays.shape.height, arrays.shape.width);
  const int64_t plane = int64_t{height} * width;
  arrays.pixels.resize(images.count());
  for (int64_t image = 0; image < images.shape[0]; ++image) {
    for (int c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < plane; ++i) {
        arrays.pixels[(image * plane + i) * channels + c] = to_byte(images.number((image * channels + c) * plane + i));
      }
    }
  }
  return arrays;
}

// Those set aside for testing, or the others: by chance, but the same for every seed.
Arrays share_of_arrays(const Arrays& all, Part part, double fraction) {
  const auto count = static_cast<int64_t>(all.labels.size());
  if (count < 2) fail("There is one image; at least two are needed, one to train on and one to test with.");
  const int64_t tested = std::clamp<int64_t>(std::llround(fraction * static_cast<double>(count)), 1, count - 1);
  const std::vector<int64_t> order = RandomStream(0, "array split").permutation(count);
  std::vector<int64_t> chosen(order.begin() + (part == Part::test ? 0 : tested),
                              part == Part::test ? order.begin() + tested : order.end());
  std::sort(chosen.begin(), chosen.end());
  Arrays share{all.shape, {}, {}};
  for (const int64_t i : chosen) {
    const auto begin = all.pixels.begin() + i * all.shape.count();
    share.pixels.insert(share.pixels.end(), begin, begin + all.shape.count());
    share.labels.push_back(all.labels[i]);
  }
  return share;
}

std::vector<std::string> class_names_up_to(int64_t highest) {
  std::vector<std::string> names;
  for (int64_t i = 0; i <= highest; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

std::shared_ptr<const Dataset> load_npy(const DataOptions& options, Part part, uint64_t) {
  const std::string advice = "Set data.path to the folder of x.npy (N x C x H x W) and y.npy (N).";
  if (options.path.empty()) fail("The data set 'npy' needs a path. {}", advice);
  const fs::path folder = options.path;
  const bool parts = fs::exists(folder / "x_train.npy");
  if (!parts && !fs::exists(folder / "x.npy")) {
    fail_not_found("npy", {folder}, "x.npy and y.npy, or x_train.npy, y_train.npy, x_test.npy and y_test.npy", advice);
  }
  int64_t highest = 0;
  Arrays arrays;
  if (parts) {
    const Arrays train = read_arrays(folder, "_train"), test = read_arrays(folder, "_test");
    for (const Arrays* one : {&train, &test}) {
      highest = std::max(highest, *std::max_element(one->labels.begin(), one->labels.end()));
    }
    arrays = part == Part::train ? train : test;
  } else {
    const Arrays all = read_arrays(folder, "");
    highest = *std::max_element(all.labels.begin(), all.labels.end());
    arrays = share_of_arrays(all, part, options.test_fraction);
  }
  return std::make_shared<MemoryDataset>(MemoryDataset::Contents{
      "npy", arrays.shape, std::move(arrays.pixels), std::move(arrays.labels), class_names_up_to(highest), {}});
}

}  // namespace

NASCENT_REGISTER(Dataset, "npy", "arrays of NumPy: x.npy (N x C x H x W) and y.npy, or _train and _test of each",
                 load_npy);

}  // namespace nascent
