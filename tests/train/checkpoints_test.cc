#include "nascent/train/checkpoints.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "nascent/core/files.h"
#include "train/toy.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

State numbered(int64_t number) {
  State state;
  state.values["number"] = number;
  state.put("x", at::full({100}, static_cast<double>(number)));
  return state;
}

int64_t newest_number(const CheckpointStore& store) { return store.newest()->values.at("number").get<int64_t>(); }

std::set<std::string> names(const fs::path& folder) {
  std::set<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) all.insert(entry.path().filename().string());
  return all;
}

TEST(CheckpointStore, IsEmptyWithoutItsFolder) {
  const CheckpointStore store("/nonexistent/folder");
  EXPECT_TRUE(store.empty());
  EXPECT_FALSE(store.newest());
  EXPECT_EQ(store.newest_path(), "");
}

TEST(CheckpointStore, KeepsTheNewestTwo) {
  const toy::Folder folder;
  CheckpointStore store(folder.path() / "checkpoints");
  for (const int64_t step : {8, 9, 10, 100}) store.write(step, numbered(step));
  EXPECT_EQ(names(store.folder()), (std::set<std::string>{"checkpoint-10.nascent", "checkpoint-100.nascent"}));
  EXPECT_EQ(newest_number(store), 100);
  EXPECT_EQ(store.newest_path(), store.folder() / "checkpoint-100.nascent");
}

TEST(CheckpointStore, PassesOverDamagedOnes) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  store.write(1, numbered(1));
  store.write(2, numbered(2));
  const auto newest = store.newest_path();
  const std::string bytes = read_file(newest);
  write_file(newest, bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(newest_number(store), 1);
  EXPECT_EQ(store.newest_path(), folder.path() / "checkpoint-1.nascent");
  write_file(store.newest_path(), "");
  EXPECT_FALSE(store.newest());
}

TEST(CheckpointStore, WritingEndsWhatCameAfter) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  store.write(10, numbered(10));
  store.write(20, numbered(20));
  store.write(15, numbered(15));
  EXPECT_EQ(names(folder.path()), (std::set<std::string>{"checkpoint-10.nascent", "checkpoint-15.nascent"}));
}

TEST(CheckpointStore, SweepsUpAfterAKilledWriter) {
  const toy::Folder folder;
  std::ofstream(folder.path() / "checkpoint-3.nascent.partial.123") << "half a file";
  std::ofstream(folder.path() / "checkpoint-list.txt") << "not ours";
  CheckpointStore store(folder.path());
  EXPECT_TRUE(store.empty());
  store.write(4, numbered(4));
  EXPECT_EQ(names(folder.path()), (std::set<std::string>{"checkpoint-4.nascent", "checkpoint-list.txt"}));
}

}  // namespace
}  // namespace nascent
