// Images for trained members: those that they were trained, validated and tested on, unless others are named.
//
//   const auto loader = member_images(member, unknown_data(), member.data_seed, MemberImages::test);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nascent/data/data_options.h"
#include "nascent/data/dataset.h"
#include "nascent/data/loader.h"
#include "nascent/train/model.h"

namespace nascent {

enum class MemberImages {
  test,      // the data set's test part
  held_out,  // what training left out of its images
  training,  // what it was trained on, shuffled and as they are
};

// Where `asked` names no data set, all of it is the member's own: which images, and which were held out. `seed` chose
// them, where not all are used. `corruption` is a transform that comes first, or "". An Error where the images do not
// fit the member, or where none are held out.
std::unique_ptr<Loader> member_images(const Model& member, const DataOptions& asked, uint64_t seed, MemberImages which,
                                      const std::string& corruption = "");

// An Error where members held out different images: then none is new to all of them.
void require_one_split(const std::vector<Model>& members);

// Test images that are shown again and again, corrupted in many ways: they are read once.
class CorruptedImages {
 public:
  CorruptedImages(DataOptions asked, uint64_t seed) : asked_(std::move(asked)), seed_(seed) {}
  std::unique_ptr<Loader> loader(const Model& member, const std::string& corruption);

 private:
  DataOptions asked_;
  uint64_t seed_;
  std::map<std::string, std::shared_ptr<const Dataset>> read_;  // by name and place
};

}  // namespace nascent
