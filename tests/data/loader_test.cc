#include "nascent/data/loader.h"

#include <algorithm>
#include <numeric>

#include "data/fixtures.h"

namespace nascent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> augmented = {"pad-crop 2", "flip", "colour-jitter 0.4 0.4 0.4 0.2", "cutout 3"};

std::vector<int64_t> first_indices(int64_t n) {
  std::vector<int64_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

Loader make_loader(LoaderOptions options, int images = 50, const std::vector<std::string>& specs = augmented) {
  const auto dataset = counting_dataset(images, 6, 5);
  return Loader(dataset, first_indices(images), TransformPipeline(specs, {{0.5}, {0.25}}, dataset->shape()),
                std::move(options));
}

std::vector<Batch> rest(Loader& loader) {
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

std::vector<Batch> epoch(Loader& loader, int64_t number, int64_t first = 0) {
  loader.start(number, first);
  return rest(loader);
}

void expect_same(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.pixels, b.pixels);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.indices, b.indices);
}

void expect_same(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i]);
}

TEST(LoaderTest, CoversEveryImageOnce) {
  Loader loader = make_loader({.batch = 8, .shuffle = true});
  EXPECT_EQ(loader.batches(), 7);
  EXPECT_EQ(loader.size(), 50);
  EXPECT_EQ(loader.shape(), (Shape{3, 6, 5}));
  std::vector<int64_t> seen;
  for (const Batch& batch : epoch(loader, 0)) {
    EXPECT_EQ(batch.pixels.size(), static_cast<size_t>(batch.size) * 90);
    for (int i = 0; i < batch.size; ++i) EXPECT_EQ(batch.labels[i], batch.indices[i] % 10);
    seen.insert(seen.end(), batch.indices.begin(), batch.indices.end());
  }
  EXPECT_NE(seen, first_indices(50));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, first_indices(50));
}

TEST(LoaderTest, WithoutShuffleTheOrderIsThatOfTheIndices) {
  const auto dataset = counting_dataset(10, 2, 2);
  Loader loader(dataset, {7, 3, 5}, TransformPipeline({}, {{0}, {1.0 / 255}}, dataset->shape()), {.batch = 2});
  const auto batches = epoch(loader, 0);
  EXPECT_THAT(batches[0].indices, ElementsAre(7, 3));
  EXPECT_THAT(batches[1].indices, ElementsAre(5));
  Image image;
  dataset->read(5, image);
  for (int i = 0; i < 12; ++i) EXPECT_FLOAT_EQ(batches[1].pixels[i], image.pixels[i]);
}

TEST(LoaderTest, WorkersDoNotChangeTheBatches) {
  Loader one = make_loader({.batch = 8, .shuffle = true, .seed = 5, .workers = 1});
  const auto expected = epoch(one, 3);
  for (const int workers : {2, 3}) {
    for (const int ahead : {1, 4}) {
      Loader many = make_loader({.batch = 8, .shuffle = true, .seed = 5, .workers = workers, .ahead = ahead});
      expect_same(epoch(many, 3), expected);
    }
  }
}

TEST(LoaderTest, SeedEpochAndPurposeDo) {
  Loader loader = make_loader({.batch = 50, .shuffle = true, .seed = 5});
  Loader other_seed = make_loader({.batch = 50, .shuffle = true, .seed = 6});
  Loader other_purpose = make_loader({.batch = 50, .shuffle = true, .seed = 5, .purpose = "valid"});
  const auto first = epoch(loader, 0)[0];
  EXPECT_NE(epoch(loader, 1)[0].indices, first.indices);
  EXPECT_NE(epoch(other_seed, 0)[0].indices, first.indices);
  EXPECT_NE(epoch(other_purpose, 0)[0].indices, first.indices);
  expect_same(epoch(loader, 0)[0], first);
}

TEST(LoaderTest, AnImageIsAugmentedAnewEachEpoch) {
  Loader loader = make_loader({.batch = 50});
  EXPECT_NE(epoch(loader, 0)[0].pixels, epoch(loader, 1)[0].pixels);
}

TEST(LoaderTest, RestartsWithinAnEpoch) {
  Loader loader = make_loader({.batch = 8, .shuffle = true, .seed = 5, .workers = 2});
  const auto whole = epoch(loader, 2);
  for (int64_t first = 0; first <= loader.batches(); ++first) {
    expect_same(epoch(loader, 2, first), {whole.begin() + first, whole.end()});
  }
}

TEST(LoaderTest, AnEpochUnderWayIsGivenUp) {
  Loader loader = make_loader({.batch = 4, .shuffle = true, .workers = 3});
  const auto expected = epoch(loader, 1);
  loader.start(0);
  EXPECT_TRUE(loader.next());
  expect_same(epoch(loader, 1), expected);
  loader.start(0);  // and destroyed while workers wait for room
}

TEST(LoaderTest, NothingBeforeTheStartAndAfterTheEnd) {
  Loader loader = make_loader({.batch = 50});
  EXPECT_FALSE(loader.next());
  epoch(loader, 0);
  EXPECT_FALSE(loader.next());
}

TEST(LoaderTest, DropLastLeavesOutAPartialBatch) {
  Loader loader = make_loader({.batch = 8, .shuffle = true, .drop_last = true});
  EXPECT_EQ(loader.batches(), 6);
  EXPECT_EQ(loader.size(), 48);
  for (const Batch& batch : epoch(loader, 0)) EXPECT_EQ(batch.size, 8);
}

TEST(LoaderTest, RefusesWhatCannotBeLoaded) {
  EXPECT_THAT(error_of([] { make_loader({}, 0); }), HasSubstr("No image of 'counting' is left to load for 'train'"));
  EXPECT_THAT(error_of([] { make_loader({.batch = 0}); }), HasSubstr("expected at least 1 of each"));
  EXPECT_THAT(error_of([] { make_loader({.batch = 51, .drop_last = true}); }), HasSubstr("fewer than one batch of 51"));
  EXPECT_THAT(error_of([] { make_loader({.batch = 50}).start(0, 2); }), HasSubstr("cannot start at batch 2"));
  const auto dataset = counting_dataset(3, 2, 2);
  const TransformPipeline plain({}, {{0}, {1}}, dataset->shape());
  EXPECT_THAT(error_of([&] { Loader(dataset, {3}, plain, {}); }),
              HasSubstr("Image 3 of 'counting' was asked for; expected 0 to 2"));
}

// What a rank reads that has only some shards of every batch.
TEST(LoaderTest, PartsOfABatchAreThoseOfTheWhole) {
  Loader whole = make_loader({.batch = 8, .shuffle = true, .drop_last = true}),
         part = make_loader({.batch = 8, .shuffle = true, .drop_last = true});
  part.read_only(1, 3, 4);
  const auto all = epoch(whole, 3), parts = epoch(part, 3);
  ASSERT_EQ(parts.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(parts[i].size, 4);
    EXPECT_EQ(parts[i].indices, all[i].indices) << "so that messages name the whole";
    EXPECT_EQ(parts[i].labels, std::vector<int64_t>(all[i].labels.begin() + 2, all[i].labels.begin() + 6));
    EXPECT_EQ(parts[i].pixels, std::vector<float>(all[i].pixels.begin() + 180, all[i].pixels.begin() + 540));
  }
}

}  // namespace
}  // namespace nascent
