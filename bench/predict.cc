// Pictures labelled per second by `predict` from a folder of PNG files, beside what `eval` scores of the same files.
//
//   bench_predict [pictures] [side] [channels] [threads]
#include "nascent/train/predict.h"

#include <png.h>

#include <chrono>
#include <cstring>
#include <iostream>

#include "nascent/core/random.h"
#include "nascent/data/pictures.h"
#include "nascent/nn/threads.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/model_data.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

void write_noise(const fs::path& path, int side, uint64_t seed) {
  std::vector<uint8_t> pixels(static_cast<size_t>(3) * side * side);
  RandomStream random(seed, "bench");
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  png.width = png.height = side;
  png.format = PNG_FORMAT_RGB;
  fs::create_directories(path.parent_path());
  if (png_image_write_to_file(&png, path.c_str(), 0, pixels.data(), 0, nullptr) == 0) fail("{}", png.message);
}

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(int count, int side, int channels, int threads) {
  use_threads(threads);
  const fs::path folder = fs::temp_directory_path() / fmt::format("nascent-bench-{}", ::getpid());
  for (int i = 0; i < count; ++i) {
    write_noise(folder / "val" / (i % 2 == 0 ? "a" : "b") / fmt::format("{}.png", i), side, i);
    if (i < 2) write_noise(folder / "train" / (i % 2 == 0 ? "a" : "b") / fmt::format("{}.png", i), side, i);
  }
  DataOptions options;
  options.name = "image-folder";
  options.path = folder.string();
  options.eval_transforms = options.train_transforms = {fmt::format("resize {} {}", side, side)};
  const ImageData data(options, 1, ChannelStatistics{{0.5, 0.5, 0.5}, {0.3, 0.3, 0.3}});
  Model model;
  remember_data(model, data, options, 1);
  const Genotype genotype = find_genotype("nasbench201:4321");
  model.network = std::make_shared<Network>(
      plan_network(*find_space("nasbench201"), genotype, {.channels = channels}, data.shape(), 2), 1);
  double scored = 1e9, labelled = 1e9;
  for (int round = 0; round < 3; ++round) {
    scored = std::min(scored, seconds([&] { evaluate(*model.network, *data.testing()); }));
    labelled = std::min(labelled, seconds([&] {
                          predict(model,
                                  std::make_shared<Pictures>(std::vector<std::string>{(folder / "val").string()},
                                                             Pictures::Wanted{3, 2}),
                                  {}, [](const Prediction&) {});
                        }));
  }
  fs::remove_all(folder);
  std::cout << fmt::format("{} pictures of {}x{}: predict {:.0f} per second, eval {:.0f} per second, ratio {:.2f}\n",
                           count, side, side, count / labelled, count / scored, scored / labelled);
  return 0;
}

}  // namespace
}  // namespace nascent

int main(int count, char** words) {
  const auto number = [&](int index, int usual) { return index < count ? std::atoi(words[index]) : usual; };
  return nascent::run(number(1, 2000), number(2, 32), number(3, 16), number(4, 0));
}
