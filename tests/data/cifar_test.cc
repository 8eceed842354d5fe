#include "data/fixtures.h"
#include "nascent/data/statistics.h"

namespace nascent {
namespace {

using ::testing::HasSubstr;

class CifarTest : public DataTest {
 protected:
  std::shared_ptr<const Dataset> load(const std::string& name, Part part, const std::string& below = "") {
    DataOptions options;
    options.name = name;
    options.path = (folder() / below).string();
    return load_dataset(options, part, 1);
  }

  void write_binary(const fs::path& to) {
    for (int i = 1; i <= 5; ++i) {
      write_file(to / ("data_batch_" + std::to_string(i) + ".bin"), static_cast<char>(i) + cifar_planes(i));
    }
    write_file(to / "test_batch.bin", static_cast<char>(0) + cifar_planes(0) + static_cast<char>(9) + cifar_planes(9));
    write_file(to / "batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  }

  void write_python(const fs::path& to) {
    for (int i = 1; i <= 5; ++i)
      write_file(to / ("data_batch_" + std::to_string(i)), cifar_pickle({i}, "labels", cifar_planes(i)));
    write_file(to / "test_batch", cifar_pickle({0, 9}, "labels", cifar_planes(0) + cifar_planes(9)));
  }
};

void expect_cifar_image(const Dataset& dataset, int64_t index, int number) {
  Image image;
  dataset.read(index, image);
  ASSERT_EQ(image.shape(), (Shape{3, 32, 32}));
  const std::string planes = cifar_planes(number);
  for (int i = 0; i < 1024; ++i) {
    for (int c = 0; c < 3; ++c) ASSERT_EQ(image.pixels[3 * i + c], static_cast<uint8_t>(planes[c * 1024 + i]));
  }
  EXPECT_EQ(dataset.label(index), number);
}

TEST_F(CifarTest, ReadsTheBinaryForm) {
  write_binary(folder() / "cifar-10-batches-bin");
  const auto train = load("cifar10", Part::train), test = load("cifar10", Part::test);
  ASSERT_EQ(train->size(), 5);
  for (int i = 0; i < 5; ++i) expect_cifar_image(*train, i, i + 1);
  ASSERT_EQ(test->size(), 2);
  expect_cifar_image(*test, 1, 9);
  EXPECT_EQ(train->class_names()[9], "truck");
}

TEST_F(CifarTest, ReadsThePythonForm) {
  write_python(folder() / "cifar-10-batches-py");
  write_file(path("cifar-10-batches-py/batches.meta"),
             "(dp0\nS'label_names'\np1\n(lp2\nS'a0'\naS'a1'\naS'a2'\naS'a3'\naS'a4'\naS'a5'\naS'a6'\naS'a7'\naS'a8'"
             "\naS'it\\'s'\nas.");
  const auto train = load("cifar10", Part::train), test = load("cifar10", Part::test);
  ASSERT_EQ(train->size(), 5);
  for (int i = 0; i < 5; ++i) expect_cifar_image(*train, i, i + 1);
  expect_cifar_image(*test, 1, 9);
  EXPECT_EQ(train->class_names()[9], "it's");
}

TEST_F(CifarTest, ReadsArraysStoredColumnByColumn) {
  const std::string first = cifar_planes(0), second = cifar_planes(9);
  std::string columns;
  for (int i = 0; i < 3072; ++i) columns += {first[i], second[i]};
  write_file(path("test_batch"), cifar_pickle({0, 9}, "labels", columns, true));
  const auto test = load("cifar10", Part::test);
  expect_cifar_image(*test, 0, 0);
  expect_cifar_image(*test, 1, 9);
}

TEST_F(CifarTest, ReadsBothFormsOfCifar100) {
  const std::string coarse(1, '\x05');
  write_file(path("bin/train.bin"), coarse + static_cast<char>(77) + cifar_planes(77));
  write_file(path("py/train"), cifar_pickle({77}, "fine_labels", cifar_planes(77)));
  for (const char* form : {"bin", "py"}) {
    const auto train = load("cifar100", Part::train, form);
    EXPECT_EQ(train->classes(), 100);
    expect_cifar_image(*train, 0, 77);
  }
}

TEST_F(CifarTest, NamesATruncatedBatch) {
  write_binary(folder());
  write_file(path("data_batch_3.bin"), cifar_planes(3).substr(0, 1000));
  const std::string error = error_of([&] { load("cifar10", Part::train); });
  EXPECT_THAT(error, HasSubstr(path("data_batch_3.bin") + " is truncated or damaged: it has 1000 bytes"));
  EXPECT_THAT(error, HasSubstr("a multiple of 3073"));
}

TEST_F(CifarTest, NamesAMissingBatchAndAMissingSet) {
  EXPECT_THAT(error_of([&] { load("cifar10", Part::train); }), HasSubstr("data_batch_1.bin, "));
  write_binary(folder());
  fs::remove(path("data_batch_4.bin"));
  EXPECT_THAT(error_of([&] { load("cifar10", Part::train); }), HasSubstr("lacks data_batch_4.bin"));
}

TEST_F(CifarTest, RefusesLabelsOutOfRange) {
  write_binary(folder());
  write_file(path("test_batch.bin"), static_cast<char>(10) + cifar_planes(0));
  EXPECT_THAT(error_of([&] { load("cifar10", Part::test); }), HasSubstr("record 0 has label 10; expected 0 to 9"));
}

TEST_F(CifarTest, RefusesPicklesOfOtherThings) {
  write_file(path("test_batch"), "}.");
  EXPECT_THAT(error_of([&] { load("cifar10", Part::test); }), HasSubstr("lacks the key 'data'"));
  write_file(path("test_batch"), cifar_pickle({1, 2}, "labels", cifar_planes(1) + cifar_planes(2)).substr(0, 5000));
  const std::string error = error_of([&] { load("cifar10", Part::test); });
  EXPECT_THAT(error, HasSubstr(path("test_batch")));
  EXPECT_THAT(error, HasSubstr("at byte"));
}

TEST_F(CifarTest, Cifar10HasItsKnownStatistics) {
  const char* data = std::getenv("NASCENT_DATA");
  if (data == nullptr || *data == '\0')
    GTEST_SKIP() << "NASCENT_DATA is not set: the known statistics of CIFAR-10 are NOT checked.";
  DataOptions options;
  options.name = "cifar10";
  const auto train = load_dataset(options, Part::train, 1);
  EXPECT_EQ(train->size(), 50000);
  const ChannelStatistics statistics = channel_statistics(*train, 2);
  const double mean[] = {0.4914, 0.4822, 0.4465}, deviation[] = {0.2470, 0.2435, 0.2616};
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(statistics.mean[c], mean[c], 6e-5);
    EXPECT_NEAR(statistics.deviation[c], deviation[c], 6e-5);
  }
}

}  // namespace
}  // namespace nascent
