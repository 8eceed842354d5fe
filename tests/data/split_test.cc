#include "nascent/data/split.h"

#include <algorithm>

#include "data/fixtures.h"

namespace nascent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SplitTest : public DataTest {
 protected:
  void use_file(const std::string& text) {
    write_file(path("split"), text);
    options_.split_file = path("split");
  }
  std::string file_error(const std::string& text) {
    use_file(text);
    return error_of([&] { split_indices(options_, 5, 1); });
  }

  DataOptions options_;
};

TEST_F(SplitTest, FractionDividesAllImages) {
  options_.valid_fraction = 0.3;
  const Split split = split_indices(options_, 100, 1);
  EXPECT_EQ(split.train.size(), 70u);
  EXPECT_EQ(split.valid.size(), 30u);
  std::vector<int64_t> all;
  std::merge(split.train.begin(), split.train.end(), split.valid.begin(), split.valid.end(), std::back_inserter(all));
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(all[i], i);
}

TEST_F(SplitTest, DependsOnTheSeedAlone) {
  EXPECT_EQ(split_indices(options_, 100, 1).train, split_indices(options_, 100, 1).train);
  EXPECT_NE(split_indices(options_, 100, 1).train, split_indices(options_, 100, 2).train);
}

TEST_F(SplitTest, LimitComesBeforeTheSplit) {
  options_.limit = 10;
  const Split split = split_indices(options_, 100, 1);
  EXPECT_EQ(split.train.size(), 5u);
  EXPECT_EQ(split.valid.size(), 5u);
  const auto chosen = limited_indices(100, 10, 1);
  EXPECT_TRUE(std::includes(chosen.begin(), chosen.end(), split.train.begin(), split.train.end()));
  EXPECT_TRUE(std::includes(chosen.begin(), chosen.end(), split.valid.begin(), split.valid.end()));
  options_.limit = 1000;
  EXPECT_EQ(split_indices(options_, 100, 1).train.size(), 50u);
}

TEST_F(SplitTest, FractionZeroTrainsOnAll) {
  options_.valid_fraction = 0;
  EXPECT_EQ(split_indices(options_, 7, 1).train.size(), 7u);
  EXPECT_TRUE(split_indices(options_, 7, 1).valid.empty());
}

TEST_F(SplitTest, RefusesFractionsThatLeaveNothing) {
  EXPECT_THAT(error_of([&] { split_indices(options_, 1, 1); }), HasSubstr("leaves none to validate on"));
  options_.valid_fraction = 1;
  EXPECT_THAT(error_of([&] { split_indices(options_, 10, 1); }), HasSubstr("expected 0 to below 1"));
}

TEST_F(SplitTest, FileListsTheTrainingImages) {
  use_file("# chosen by hand\n4\n\n 0 \r\n2\n");
  const Split split = split_indices(options_, 5, 1);
  EXPECT_THAT(split.train, ElementsAre(0, 2, 4));
  EXPECT_THAT(split.valid, ElementsAre(1, 3));
}

TEST_F(SplitTest, FileErrorsNameTheLine) {
  EXPECT_EQ(file_error("0\n5\n"), path("split") + ":2: index 5 is out of range; expected 0 to 4.");
  EXPECT_EQ(file_error("0\n\n-1\n"), path("split") + ":3: index -1 is out of range; expected 0 to 4.");
  EXPECT_EQ(file_error("0\nfour\n"), path("split") + ":2: 'four' is not an index; expected a whole number.");
  EXPECT_EQ(file_error("3\n1\n3\n"), path("split") + ":3: index 3 is listed already on line 1; expected each once.");
  EXPECT_THAT(file_error("\n"), HasSubstr("lists none of the 5 images"));
  options_.split_file = path("nothing");
  EXPECT_THAT(error_of([&] { split_indices(options_, 5, 1); }), HasSubstr(path("nothing")));
}

}  // namespace
}  // namespace nascent
