#include "nascent/data/pictures.h"

#include "data/fixtures.h"
#include "nascent/data/normalisation.h"

namespace nascent {
namespace {

using testing::HasSubstr;

class PicturesTest : public DataTest {};

TEST_F(PicturesTest, ReadsFilesFoldersAndRecords) {
  write_png(folder() / "set" / "deep" / "b.png", solid_image(4, 6, 10, 20, 30));
  write_jpeg(folder() / "set" / "a.jpg", solid_image(8, 8, 200, 200, 200));
  write_file(folder() / "set" / "notes.txt", "not a picture");
  write_file(path("digits"), idx_text({2, 2, 3}, "abcdefghijkl"));
  std::string record(1, '\1');
  for (int plane = 0; plane < 3; ++plane) record += std::string(1024, static_cast<char>(plane + 1));
  write_file(path("batch.bin"), record);
  const Pictures pictures({path("set"), path("digits"), path("batch.bin")}, {3, 10});
  ASSERT_EQ(pictures.size(), 5);
  EXPECT_EQ(pictures.picture_name(1), path("set/deep/b.png"));
  EXPECT_EQ(pictures.picture_name(3), path("digits") + "#1");
  Image image;
  pictures.read(1, image);
  EXPECT_EQ(image.shape(), (Shape{3, 4, 6}));
  EXPECT_EQ(image.pixels[1], 20);
  pictures.read(3, image);
  EXPECT_EQ(image.shape(), (Shape{3, 2, 3})) << "grey is repeated";
  EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.begin() + 6), "ggghhh");
  pictures.read(4, image);
  EXPECT_EQ(image.pixels[0], 1);
  EXPECT_EQ(image.pixels[2], 3) << "planes become channels";
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(pictures.failure(i)) << i;
}

TEST_F(PicturesTest, MakesColoursGrey) {
  write_png(folder() / "a.png", solid_image(2, 2, 255, 0, 0));
  const Pictures pictures({path("a.png")}, {1, 10});
  Image image;
  pictures.read(0, image);
  EXPECT_EQ(image.shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(image.pixels[0], 76);  // 0.299 of 255
}

TEST_F(PicturesTest, NotesWhatCannotBeRead) {
  write_file(path("torn.png"), "\x89PNG\r\n\x1a\nrubbish");
  write_file(path("digits"), idx_text({9, 2, 3}, "abc"));
  const Pictures pictures({path("torn.png"), path("nothere.png"), path("digits")}, {3, 10});
  ASSERT_EQ(pictures.size(), 3);
  Image image;
  for (int i = 0; i < 3; ++i) {
    pictures.read(i, image);
    EXPECT_EQ(image.shape(), (Shape{3, 1, 1}));
    EXPECT_TRUE(pictures.failure(i)) << i;
  }
  EXPECT_THAT(*pictures.failure(1), HasSubstr("nothere.png"));
  EXPECT_THAT(*pictures.failure(2), HasSubstr("truncated"));
}

TEST_F(PicturesTest, NothingToReadIsAnError) {
  fs::create_directories(folder() / "empty");
  EXPECT_THAT(error_of([&] { Pictures({path("empty")}, {3, 10}); }), HasSubstr("no JPEG, PNG"));
  EXPECT_THAT(error_of([&] { Pictures({path("x.png")}, {5, 10}); }), HasSubstr("5 channels"));
}

TEST(Normalisation, IsGivenOrOfTheData) {
  const ChannelStatistics data{{0.1, 0.2, 0.3}, {0.5, 0, 0.7}};
  EXPECT_EQ(normalisation_of({"resize 4"}, data, 3).mean, data.mean);
  EXPECT_EQ(normalisation_of({"resize 4"}, data, 3).deviation, (std::vector<double>{0.5, 1, 0.7}));
  EXPECT_EQ(normalisation_of({"normalise 0.5 0.25"}, data, 2).mean, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(normalisation_of({"normalise 1 2 3 4"}, data, 2).deviation, (std::vector<double>{3, 4}));
  EXPECT_THROW(normalisation_of({}, data, 2), Error);
}

}  // namespace
}  // namespace nascent
