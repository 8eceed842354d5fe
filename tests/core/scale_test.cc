#include "nascent/core/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nascent/core/error.h"

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Sample {
  int epochs = 50, freeze_epochs = 15, channels = 16, cells = 8, partial = 1, limit = 0, batch = 64;
  double warmup_epochs = 5;
  OptionTable table;
  Sample() {
    auto search = table.section("search", "");
    search.add("epochs", epochs, "");
    search.add("freeze-epochs", freeze_epochs, "");
    table.section("weights", "").add("warmup-epochs", warmup_epochs, "");
    auto network = table.section("network", "");
    network.add("channels", channels, "");
    network.add("cells", cells, "");
    network.add("partial", partial, "");
    auto data = table.section("data", "");
    data.add("limit", limit, "");
    data.add("batch", batch, "");
  }
  void scale(const std::string& text, const std::vector<std::string>& typed = {}, bool fixed_cells = false) {
    const ScaleLimits limits{
        .fewest_cells = 3, .fixed_cells = fixed_cells, .fewest_images = 128, .all_images = [] { return 50000; }};
    apply_scale(Scale::parse(text), limits, typed, table);
  }
};

TEST(Scale, OneFactorShrinksEverything) {
  Sample sample;
  sample.scale("0.5");
  EXPECT_EQ(sample.epochs, 25);
  EXPECT_EQ(sample.freeze_epochs, 8);
  EXPECT_EQ(sample.warmup_epochs, 2.5);
  EXPECT_EQ(sample.channels, 8);
  EXPECT_EQ(sample.cells, 4);
  EXPECT_EQ(sample.limit, 25000);
  EXPECT_EQ(sample.batch, 64);
}

TEST(Scale, StopsAtWhatStillRuns) {
  Sample sample;
  sample.scale("0.001");
  EXPECT_EQ(sample.epochs, 1);
  EXPECT_EQ(sample.freeze_epochs, 0);
  EXPECT_EQ(sample.channels, 4);
  EXPECT_EQ(sample.cells, 3);
  EXPECT_EQ(sample.limit, 128);
}

TEST(Scale, EachByItsOwnFactor) {
  Sample sample;
  sample.limit = 1000;
  sample.scale("epochs=0.1, data=0.5");
  EXPECT_EQ(sample.epochs, 5);
  EXPECT_EQ(sample.channels, 16);
  EXPECT_EQ(sample.cells, 8);
  EXPECT_EQ(sample.limit, 500);
}

TEST(Scale, KeepsWhatWasTypedAndWhatIsFixed) {
  Sample sample;
  sample.scale("0.1", {"search.epochs", "data.limit"}, /*fixed_cells=*/true);
  EXPECT_EQ(sample.epochs, 50);
  EXPECT_EQ(sample.freeze_epochs, 2);
  EXPECT_EQ(sample.cells, 8);
  EXPECT_EQ(sample.limit, 0);
}

TEST(Scale, ChannelsStayAMultipleOfPartial) {
  Sample sample;
  sample.channels = 36;
  sample.partial = 6;
  sample.scale("channels=0.4");
  EXPECT_EQ(sample.channels, 12);
  sample.scale("channels=0.01");
  EXPECT_EQ(sample.channels, 6);
}

TEST(Scale, Mistakes) {
  EXPECT_THAT([] { Scale::parse("small"); }, ThrowsMessage<Error>(HasSubstr("'small' is not a factor")));
  EXPECT_THAT([] { Scale::parse("epochs=0"); }, ThrowsMessage<Error>(HasSubstr("'0' is not a factor")));
  EXPECT_THAT([] { Scale::parse("epoch=0.1"); }, ThrowsMessage<Error>(HasSubstr("epochs")));
  EXPECT_THAT([] { Scale::parse("epochs=0.1,0.5"); }, ThrowsMessage<Error>(HasSubstr("nothing that can be scaled")));
}

}  // namespace
}  // namespace nascent
