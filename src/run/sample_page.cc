#include "nascent/run/sample_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "nascent/core/random.h"
#include "nascent/core/text.h"
#include "nascent/data/normalisation.h"
#include "nascent/data/transform_pipeline.h"
#include "nascent/run/html.h"
#include "nascent/run/thumbnail.h"

namespace nascent {

std::vector<int64_t> counts_by_class(const Dataset& part) {
  std::vector<int64_t> counts(part.classes());
  for (int64_t i = 0; i < part.size(); ++i) ++counts[part.label(i)];
  return counts;
}

std::string transforms_text(const std::vector<std::string>& transforms) {
  return transforms.empty() ? "none" : join(transforms, ", ");
}

namespace {

constexpr size_t kSamples = 6;         // of a class
constexpr size_t kClassesShown = 100;  // on the page

std::string sample(Image image, const std::string& title) {
  return fmt::format("<img src=\"{}\" alt=\"\" title=\"{}\" height=\"{}\">\n", thumbnail(std::move(image)),
                     html::escape(title), kThumbnailSide);
}

// What a network is shown in training, with the normalisation taken back.
class TrainingView {
 public:
  explicit TrainingView(const ImageData& data)
      : pipeline_(data.train_transforms(), data.statistics(), data.train().shape()),
        normalisation_(normalisation_of(pipeline_.specs(), data.statistics(), pipeline_.output().channels)) {}

  Image of(Image image, int64_t index) const {
    // Where pictures differ in size and nothing makes them equal, there is nothing to show.
    if (!pipeline_.output().fixed()) return image;
    const Shape shape = pipeline_.output();
    std::vector<float> pixels(shape.count());
    Image scratch, shown;
    RandomStream random(0, "sample page", {static_cast<uint64_t>(index)});
    pipeline_.apply(image, scratch, random, pixels.data());
    shown.reshape(shape);
    for (size_t i = 0; i < pixels.size(); ++i) {
      const size_t c = i % shape.channels;
      const double value = pixels[i] * normalisation_.deviation[c] + normalisation_.mean[c];
      shown.pixels[i] = static_cast<uint8_t>(std::clamp(value * 255 + 0.5, 0.0, 255.0));
    }
    return shown;
  }

 private:
  TransformPipeline pipeline_;
  ChannelStatistics normalisation_;
};

std::string samples_of_class(const ImageData& data, int64_t label, const TrainingView& view) {
  std::string stored, seen;
  size_t shown = 0;
  for (int64_t i = 0; i < data.train().size() && shown < kSamples; ++i) {
    if (data.train().label(i) != label) continue;
    ++shown;
    Image image;
    data.train().read(i, image);
    if (image.channels != 1 && image.channels != 3) return "<p class=\"soft\">neither grey nor RGB</p>";
    stored += sample(image, fmt::format("image {}, {} x {} pixels", i, image.height, image.width));
    seen += sample(view.of(image, i), fmt::format("image {} in training", i));
  }
  return fmt::format(
      "<div class=\"samples\">{}</div>\n<p class=\"soft\">in training:</p>\n<div class=\"samples\">{}</div>\n", stored,
      seen);
}

}  // namespace

std::string sample_page(const ImageData& data, const std::string& title) {
  std::string notes;
  for (const auto& note : data.train().notes()) notes += fmt::format("<p>{}</p>\n", html::escape(note));
  std::string markup = fmt::format("<header><p class=\"eyebrow\">nascent data</p><h1>{}</h1></header>\n<p>{}</p>\n{}",
                                   html::escape(title), html::escape(data.describe()), notes);
  markup += fmt::format("<p>In training: <code>{}</code>; in evaluation: <code>{}</code>; networks see {}.</p>\n",
                        html::escape(transforms_text(data.train_transforms())),
                        html::escape(transforms_text(data.eval_transforms())), html::escape(data.shape().text()));
  const auto train = counts_by_class(data.train()), test = counts_by_class(data.test());
  const TrainingView view(data);
  std::vector<html::Row> rows;
  std::string samples;
  for (size_t label = 0; label < data.class_names().size(); ++label) {
    const std::string name = html::escape(data.class_names()[label]);
    rows.push_back({{name, std::to_string(train[label]), std::to_string(test[label])}, ""});
    if (label >= kClassesShown) continue;
    samples += fmt::format("<h3>{}</h3>\n{}", name, samples_of_class(data, static_cast<int64_t>(label), view));
  }
  markup += html::section("Classes", html::table({"class", "training", "test"}, rows));
  markup += html::section("Samples", samples);
  return html::page(title, markup);
}

}  // namespace nascent
