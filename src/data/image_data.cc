#include "nascent/data/image_data.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

// Height and width may differ between the parts of an image folder; the transforms must then serve both.
void check_agreement(const Dataset& train, const Dataset& test) {
  if (train.classes() != test.classes() || !(train.shape() == test.shape() || train.reads_files())) {
    fail("The parts of '{}' do not match: training images are {} in {} classes, test images {} in {}.", train.name(),
         train.shape().text(), train.classes(), test.shape().text(), test.classes());
  }
}

}  // namespace

ImageData::ImageData(const DataOptions& options, uint64_t seed, const std::optional<ChannelStatistics>& statistics)
    : options_(options), seed_(seed) {
  train_ = load_dataset(options, Part::train, seed);
  test_ = load_dataset(options, Part::test, seed);
  check_agreement(*train_, *test_);
  split_ = split_indices(options, train_->size(), seed);
  test_indices_ = limited_indices(test_->size(), options.limit_test, seed);
  train_transforms_ =
      options.train_transforms.empty() ? train_->default_transforms(Part::train) : options.train_transforms;
  eval_transforms_ = options.eval_transforms.empty() ? test_->default_transforms(Part::test) : options.eval_transforms;
  if (!statistics) {  // whoever brings a model's own has seen them
    for (const auto& note : train_->notes()) log::info("{}", note);
  }
  if (train_->reads_files()) check_images({train_.get(), test_.get()}, options.workers);
  const bool needed =
      TransformPipeline::needs_statistics(train_transforms_) || TransformPipeline::needs_statistics(eval_transforms_);
  if (statistics) {
    statistics_ = *statistics;
  } else if (needed) {
    statistics_ = channel_statistics(*train_, options.workers);
  }
  shape_ = TransformPipeline(eval_transforms_, statistics_, train_->shape()).output();
  const Shape trained = TransformPipeline(train_transforms_, statistics_, train_->shape()).output();
  if (trained.fixed() && shape_.fixed() && trained != shape_) {
    fail(
        "Training images come out as {} and evaluation images as {}: --train-transforms and --eval-transforms must "
        "agree.",
        trained.text(), shape_.text());
  }
}

uint32_t ImageData::digest() const {
  std::string text = fmt::format("{:08x} {:08x}\n", train_->checksum(), test_->checksum());
  for (const auto* part : {train_.get(), test_.get()}) {
    for (int64_t i = 0; i < part->size(); ++i) text += fmt::format("{},", part->label(i));
  }
  text += fmt::format("\n{}\n{}\n{}\n{}\n{}\n{}", join(train_->class_names(), "\n"), fmt::join(split_.train, ","),
                      fmt::join(split_.valid, ","), fmt::join(test_indices_, ","), join(train_transforms_, ","),
                      join(eval_transforms_, ","));
  return crc32(text);
}

std::vector<int64_t> ImageData::all() const {
  std::vector<int64_t> indices = split_.train;
  indices.insert(indices.end(), split_.valid.begin(), split_.valid.end());
  std::sort(indices.begin(), indices.end());
  return indices;
}

std::unique_ptr<Loader> ImageData::training(std::vector<int64_t> indices, const std::string& purpose) const {
  if (indices.empty()) {
    fail("There are no images for {}: --valid-fraction is {} of {}. Choose another fraction or a larger --limit.",
         purpose, options_.valid_fraction, all().size());
  }
  if (static_cast<int64_t>(indices.size()) < options_.batch) {
    fail("There {} for {}, fewer than one batch of {}. Lower --batch or raise --limit.",
         indices.size() == 1 ? "is 1 image" : fmt::format("are {} images", indices.size()), purpose, options_.batch);
  }
  return std::make_unique<Loader>(train_, std::move(indices),
                                  TransformPipeline(train_transforms_, statistics_, train_->shape()),
                                  LoaderOptions{.batch = options_.batch,
                                                .shuffle = true,
                                                .drop_last = true,
                                                .seed = seed_,
                                                .purpose = purpose,
                                                .workers = options_.workers});
}

std::unique_ptr<Loader> ImageData::evaluation(const std::shared_ptr<const Dataset>& dataset,
                                              std::vector<int64_t> indices) const {
  return std::make_unique<Loader>(
      dataset, std::move(indices), TransformPipeline(eval_transforms_, statistics_, dataset->shape()),
      LoaderOptions{
          .batch = std::max(options_.batch, 128), .seed = seed_, .purpose = "evaluation", .workers = options_.workers});
}

std::unique_ptr<Loader> ImageData::evaluation(std::vector<int64_t> indices) const {
  return evaluation(train_, std::move(indices));
}

std::unique_ptr<Loader> ImageData::testing() const { return evaluation(test_, test_indices_); }

std::string ImageData::describe() const {
  return fmt::format("{}: {} training, {} validation and {} test images, {} classes", options_.name,
                     split_.train.size(), split_.valid.size(), test_indices_.size(), classes());
}

}  // namespace nascent
