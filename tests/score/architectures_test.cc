#include "nascent/score/architectures.h"

#include "nascent/core/random.h"
#include "nascent/score/score_cache.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

class ArchitecturesTest : public TableTest {
 protected:
  std::shared_ptr<const BenchmarkTable> table(const std::string& name, uint64_t seed) const {
    TableBuilder builder(find_space("darts"), "made up");
    RandomStream random(seed, "table");
    for (int i = 0; i < 20; ++i) {
      builder.set(builder.add(builder.space().sample(random), -1), parse_measure("toy_valid12"), i);
    }
    builder.write(path(name));
    return std::make_shared<const BenchmarkTable>(path(name));
  }
};

TEST_F(ArchitecturesTest, OfATableAreItsRows) {
  const auto rows = table("a.table", 1);
  const auto all = Architectures::of_table(rows);
  ASSERT_EQ(all.size(), 20u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(ScoreCache::key(all[i]), ScoreCache::key(rows->genotype(i)));
    EXPECT_EQ(rows->row(all[i]), i);
  }
}

// Ranks compare them: the same names may stand for other files there.
TEST_F(ArchitecturesTest, HaveADigestOfTheFilesThatTheyComeFrom) {
  const auto space = find_space("darts");
  EXPECT_EQ(Architectures::sample(space, 5, 1).digest(), "");
  const std::string one = Architectures::of_table(table("a.table", 1)).digest();
  EXPECT_EQ(one, Architectures::of_table(table("same.table", 1)).digest());
  EXPECT_NE(one, Architectures::of_table(table("b.table", 2)).digest());
  const auto list = [](const std::string& name) { return Architectures({find_genotype(name)}).digest(); };
  EXPECT_EQ(list("darts-v2"), list("darts-v2"));
  EXPECT_NE(list("darts-v2"), list("darts-v1"));
}

}  // namespace
}  // namespace nascent
