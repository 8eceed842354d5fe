#include "data/fixtures.h"
#include "nascent/data/statistics.h"

namespace nascent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IdxDatasetTest : public DataTest {
 protected:
  std::shared_ptr<const Dataset> load(const std::string& name, Part part) {
    DataOptions options;
    options.name = name;
    options.path = folder().string();
    return load_dataset(options, part, 1);
  }
};

TEST_F(IdxDatasetTest, LoadsBothParts) {
  write_idx_folder(folder());
  const auto train = load("fashion-mnist", Part::train), test = load("fashion-mnist", Part::test);
  EXPECT_EQ(train->size(), 2);
  EXPECT_EQ(train->shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(train->label(0), 4);
  EXPECT_EQ(train->label(1), 9);
  EXPECT_EQ(train->class_names()[9], "Ankle boot");
  EXPECT_THAT(train->default_transforms(Part::train), ElementsAre("pad-crop 2", "flip"));
  Image image;
  train->read(1, image);
  EXPECT_THAT(image.pixels, ElementsAre('g', 'h', 'i', 'j', 'k', 'l'));
  EXPECT_EQ(test->size(), 1);
  EXPECT_EQ(test->label(0), 0);
}

TEST_F(IdxDatasetTest, FindsASetUnderNascentData) {
  write_idx_folder(folder() / "mnist");
  const Environment data("NASCENT_DATA", folder().string());
  DataOptions options;
  options.name = "mnist";
  EXPECT_EQ(load_dataset(options, Part::train, 1)->size(), 2);
}

TEST_F(IdxDatasetTest, CountsTheClassesOfAGenericSetOverBothParts) {
  write_idx_folder(folder());
  EXPECT_EQ(load("idx", Part::train)->classes(), 10);
  EXPECT_EQ(load("idx", Part::test)->classes(), 10);
}

TEST_F(IdxDatasetTest, SaysWhereItLookedAndWhatToDo) {
  const std::string error = error_of([&] { load("fashion-mnist", Part::train); });
  EXPECT_THAT(error, HasSubstr("'fashion-mnist' was not found"));
  EXPECT_THAT(error, HasSubstr("Looked in: " + folder().string()));
  EXPECT_THAT(error, HasSubstr("train-images-idx3-ubyte and train-labels-idx1-ubyte"));
  EXPECT_THAT(error, HasSubstr("apt install dataset-fashion-mnist"));
}

TEST_F(IdxDatasetTest, NamesTheMissingHalf) {
  write_idx_folder(folder());
  fs::remove(path("train-labels-idx1-ubyte"));
  EXPECT_THAT(error_of([&] { load("mnist", Part::train); }), HasSubstr("lacks train-labels-idx1-ubyte"));
}

TEST_F(IdxDatasetTest, RefusesLabelsThatDoNotFit) {
  write_idx_folder(folder());
  write_file(path("train-labels-idx1-ubyte"), idx_text({2}, {4, 10}));
  EXPECT_THAT(error_of([&] { load("mnist", Part::train); }), HasSubstr("label 1 is 10; expected 0 to 9"));
  write_file(path("train-labels-idx1-ubyte"), idx_text({3}, {4, 5, 6}));
  EXPECT_THAT(error_of([&] { load("mnist", Part::train); }), HasSubstr("has 2 images and"));
}

TEST_F(IdxDatasetTest, FashionMnistHasItsKnownStatistics) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "Debian's dataset-fashion-mnist is not installed: the known statistics are NOT checked.";
  }
  const Environment data("NASCENT_DATA", "");
  const auto train = load_dataset(DataOptions{}, Part::train, 1);
  EXPECT_EQ(train->size(), 60000);
  EXPECT_EQ(train->shape(), (Shape{1, 28, 28}));
  const ChannelStatistics statistics = channel_statistics(*train, 2);
  EXPECT_NEAR(statistics.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(statistics.deviation[0], 0.3530, 5e-5);
  EXPECT_EQ(load_dataset(DataOptions{}, Part::test, 1)->size(), 10000);
}

}  // namespace
}  // namespace nascent
