#include "nascent/cluster/work_list.h"

#include <gtest/gtest.h>

namespace nascent::cluster {
namespace {

void expect_same(const WorkList& list, const std::vector<Work>& all) {
  ASSERT_EQ(list.size(), std::ssize(all));
  for (int64_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list.at(i).text, all[i].text) << i;
    EXPECT_EQ(list.at(i).number, all[i].number) << i;
  }
}

TEST(WorkList, AMillionThatFollowOneAnotherAreToldInAFewBytes) {
  WorkList list, other;
  for (int64_t i = 0; i < 1'000'000; ++i) list.add({"snip", 7 + i});
  const std::string bytes = list.packed(0);
  EXPECT_LT(bytes.size(), 64);
  other.add_packed(bytes);
  EXPECT_EQ(other.size(), 1'000'000);
  EXPECT_EQ(other.at(999'999).number, 1'000'006);
  EXPECT_EQ(other.at(0).text, "snip");
}

TEST(WorkList, KeepsTheOrderOfWhatDiffers) {
  const std::vector<Work> all = {{"", 0}, {"", 1}, {"", 3}, {"a", 4}, {"a", 5}, {"b", 6}, {"b", 6}, {"", 7}, {"", 8}};
  WorkList list;
  for (const Work& work : all) list.add(work);
  expect_same(list, all);
  // Told in two parts, wherever they are cut.
  for (int64_t cut = 0; cut <= list.size(); ++cut) {
    WorkList begun, other;
    for (int64_t i = 0; i < cut; ++i) begun.add(all[i]);
    other.add_packed(begun.packed(0));
    other.add_packed(list.packed(cut));
    expect_same(other, all);
  }
  EXPECT_EQ(list.packed(list.size()), "");
}

}  // namespace
}  // namespace nascent::cluster
