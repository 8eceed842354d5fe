#include "nascent/ensemble/member_images.h"

#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/train/model_data.h"

namespace nascent {
namespace {

// A model of random images, a quarter of which its training held out; it has no network, which images do without.
Model trained_on_random(uint64_t seed) {
  DataOptions data;
  data.name = "random";
  data.shape = {3, 8, 8};
  data.classes = 4;
  data.size = 64;
  data.limit = 40;
  data.valid_fraction = 0.25;
  Model model;
  remember_data(model, ImageData(data, seed), data, seed);
  return model;
}

std::vector<int64_t> indices_of(Loader& loader) {
  std::vector<int64_t> all;
  loader.start(0);
  while (auto batch = loader.next()) all.insert(all.end(), batch->indices.begin(), batch->indices.end());
  return all;
}

TEST(MemberImages, AreThoseOfItsTraining) {
  const Model model = trained_on_random(3);
  const auto held = indices_of(*member_images(model, unknown_data(), 3, MemberImages::held_out));
  auto trained = indices_of(*member_images(model, unknown_data(), 3, MemberImages::training));
  EXPECT_EQ(held.size(), 10u);
  EXPECT_EQ(trained.size(), 30u);
  for (const int64_t image : held) EXPECT_THAT(trained, testing::Not(testing::Contains(image)));
  EXPECT_EQ(indices_of(*member_images(model, unknown_data(), 3, MemberImages::test)).size(), 64u);
}

TEST(MemberImages, OtherSplitsOfItsOwnImagesAreRefused) {
  Model model = trained_on_random(3);
  DataOptions asked = unknown_data();
  asked.valid_fraction = 0.4;
  EXPECT_THAT([&] { member_images(model, asked, 3, MemberImages::held_out); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("held out 0.25 of its images")));
  model.data.valid_fraction = 0;
  EXPECT_THAT([&] { member_images(model, unknown_data(), 3, MemberImages::held_out); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("used all of its images")));
  const std::vector<Model> two = {trained_on_random(3), trained_on_random(4)};
  EXPECT_THAT([&] { require_one_split(two); }, testing::ThrowsMessage<Error>(testing::HasSubstr("Member 2")));
  EXPECT_NO_THROW(require_one_split({two[0], two[0]}));
}

TEST(MemberImages, CorruptedOnesAreReadOnceAndAreTheSame) {
  const Model model = trained_on_random(3);
  CorruptedImages images(unknown_data(), 3);
  for (const std::string corruption : {"corrupt gaussian-noise 3", "corrupt contrast 5"}) {
    const auto once = images.loader(model, corruption);
    const auto anew = member_images(model, unknown_data(), 3, MemberImages::test, corruption);
    once->start(0);
    anew->start(0);
    const auto a = once->next(), b = anew->next();
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->pixels, b->pixels) << corruption;
    EXPECT_EQ(a->labels, b->labels);
  }
}

}  // namespace
}  // namespace nascent
