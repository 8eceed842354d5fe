#include "nascent/ensemble/member_images.h"

#include "nascent/core/error.h"
#include "nascent/data/image_data.h"
#include "nascent/train/model_data.h"

namespace nascent {
namespace {

// How the member's training divided its images; what is asked for comes first.
void take_split(const Model& member, const DataOptions& asked, DataOptions& data) {
  const DataOptions usual;
  const bool own = asked.name.empty() && asked.split_file.empty() && asked.valid_fraction == usual.valid_fraction;
  if (asked.name.empty() && asked.limit == usual.limit) data.limit = member.data.limit;
  if (!own) return;
  data.valid_fraction = member.data.valid_fraction;
  data.split_file = member.data.split_file;
}

}  // namespace

std::unique_ptr<Loader> member_images(const Model& member, const DataOptions& asked, uint64_t seed, MemberImages which,
                                      const std::string& corruption) {
  DataOptions data = data_of(member, asked);
  take_split(member, asked, data);
  if (!corruption.empty()) data.eval_transforms.insert(data.eval_transforms.begin(), corruption);
  data.train_transforms = data.eval_transforms;
  const ImageData images(data, seed, member.statistics);
  check_fits(member, images);
  if (which == MemberImages::test) return images.testing();
  if (which == MemberImages::training) return images.training(images.split().train, "recalibration");
  if (images.split().valid.empty()) {
    fail(
        "There are no held-out images: the training used all of its images. Train with --valid-fraction above 0 (0.1, "
        "say), or name the images with --data, --valid-fraction or --split-file.");
  }
  return images.evaluation(images.split().valid);
}

}  // namespace nascent
