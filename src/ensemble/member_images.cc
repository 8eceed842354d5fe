#include "nascent/ensemble/member_images.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/data/image_data.h"
#include "nascent/data/split.h"
#include "nascent/data/transform_pipeline.h"
#include "nascent/train/model_data.h"

namespace nascent {
namespace {

// Of the member's own data, the split is that of its training too: another would call images held out that it has seen.
void take_split(const Model& member, const DataOptions& asked, DataOptions& data) {
  if (!asked.name.empty()) return;
  const DataOptions usual, &own = member.data;
  const bool other = (asked.valid_fraction != usual.valid_fraction && asked.valid_fraction != own.valid_fraction) ||
                     (!asked.split_file.empty() && asked.split_file != own.split_file);
  if (other) {
    fail(
        "--valid-fraction and --split-file: the training held out {} of its images, and another split would take "
        "images for unseen that it has seen. Leave them out, or name other images with --data.",
        own.split_file.empty() ? fmt::format("{:g}", own.valid_fraction) : "those that are not in " + own.split_file);
  }
  data.limit = own.limit;
  data.valid_fraction = own.valid_fraction;
  data.split_file = own.split_file;
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
  if (which == MemberImages::training) {
    data.batch = std::min(data.batch, static_cast<int>(images.split().train.size()));
    return ImageData(data, seed, member.statistics).training(images.split().train, "recalibration");
  }
  if (images.split().valid.empty()) {
    fail(
        "There are no held-out images: the training used all of its images. Train with --valid-fraction above 0 (0.1, "
        "say), or name the images with --data, --valid-fraction or --split-file.");
  }
  return images.evaluation(images.split().valid);
}

void require_one_split(const std::vector<Model>& members) {
  const Model& first = members.front();
  for (size_t i = 1; i < members.size(); ++i) {
    const Model& member = members[i];
    const bool same = member.data_seed == first.data_seed && member.data.limit == first.data.limit &&
                      member.data.valid_fraction == first.data.valid_fraction &&
                      member.data.split_file == first.data.split_file;
    if (same) continue;
    fail(
        "Member {} held out other images than member 1 (another seed, fraction or file), so no image is new to all. "
        "Train the members with the same --seed and --valid-fraction, or name held-out images with --data.",
        i + 1);
  }
}

std::unique_ptr<Loader> CorruptedImages::loader(const Model& member, const std::string& corruption) {
  const DataOptions data = data_of(member, asked_);
  auto& images = read_[data_text(data)];
  if (!images) images = load_dataset(data, Part::test, seed_);
  std::vector<std::string> transforms = data.eval_transforms;
  transforms.insert(transforms.begin(), corruption);
  return std::make_unique<Loader>(
      images, limited_indices(images->size(), data.limit_test, seed_),
      TransformPipeline(transforms, member.statistics, images->shape()),
      LoaderOptions{
          .batch = std::max(data.batch, 128), .seed = seed_, .purpose = "evaluation", .workers = data.workers});
}

}  // namespace nascent
