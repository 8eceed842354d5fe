// nascent data: what is known of a data set, and what would be done with it.
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/data/image_data.h"
#include "nascent/data/image_file.h"
#include "nascent/data/normalisation.h"
#include "nascent/data/resample.h"
#include "nascent/data/transform_pipeline.h"
#include "nascent/run/html.h"

namespace nascent {
namespace {

constexpr int kShownSide = 112;        // of a sample picture on the page, in pixels
constexpr size_t kSamples = 6;         // of a class
constexpr size_t kClassesShown = 100;  // on the page

std::vector<int64_t> counts_by_class(const Dataset& part) {
  std::vector<int64_t> counts(part.classes());
  for (int64_t i = 0; i < part.size(); ++i) ++counts[part.label(i)];
  return counts;
}

std::string listed(const std::vector<std::string>& transforms) {
  return transforms.empty() ? "none" : join(transforms, ", ");
}

// As large as the page shows it, and no larger.
std::string thumbnail(Image image, const std::string& title) {
  const double scale = static_cast<double>(kShownSide) / std::max(image.height, image.width);
  if (scale < 1) {
    Image small;
    resample(image, {0, 0, image.height, image.width}, std::max(1, static_cast<int>(image.height * scale)),
             std::max(1, static_cast<int>(image.width * scale)), small);
    image = std::move(small);
  }
  return fmt::format("<img src=\"{}\" alt=\"\" title=\"{}\" height=\"{}\">",
                     html::data_uri("image/png", encode_png(image)), html::escape(title), kShownSide);
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
    stored += thumbnail(image, fmt::format("image {}, {} x {} pixels", i, image.height, image.width)) + "\n";
    seen += thumbnail(view.of(image, i), fmt::format("image {} in training", i)) + "\n";
  }
  return fmt::format(
      "<div class=\"samples\">{}</div>\n<p class=\"soft\">in training:</p>\n<div class=\"samples\">{}</div>\n", stored,
      seen);
}

std::string sample_page(const ImageData& data, const std::string& title) {
  std::string notes;
  for (const auto& note : data.train().notes()) notes += fmt::format("<p>{}</p>\n", html::escape(note));
  std::string markup = fmt::format("<header><p class=\"eyebrow\">nascent data</p><h1>{}</h1></header>\n<p>{}</p>\n{}",
                                   html::escape(title), html::escape(data.describe()), notes);
  markup += fmt::format("<p>In training: <code>{}</code>; in evaluation: <code>{}</code>; networks see {}.</p>\n",
                        html::escape(listed(data.train_transforms())), html::escape(listed(data.eval_transforms())),
                        html::escape(data.shape().text()));
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

class DataVerb : public Verb {
 public:
  std::string arguments() const override { return "[NAME]"; }
  void declare(OptionTable& table) override {
    data_.declare(table);
    table.section("data", "")
        .add("page", page_,
             "write an HTML page with the classes and samples of their pictures, as they are stored "
             "and as networks see them");
  }

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("data set", false);
    if (name.empty() && !invocation.options->at("data.name", "").was_set()) return list(invocation);
    if (!name.empty()) data_.name = name;
    const ImageData data(data_, 0);
    print(invocation, data);
    Json result = to_json(data);
    if (!page_.empty()) {
      write_file(page_, sample_page(data, data_.path.empty() ? data_.name : data_.path));
      invocation.print(fmt::format("page       {}", page_));
      result["page"] = page_;
    }
    return result;
  }

 private:
  static Json list(const Invocation& invocation) {
    Json all = Json::array();
    for (const auto& [name, entry] : Dataset::Registry::instance().entries()) {
      invocation.print(fmt::format("{:<14} {}", name, entry.description));
      all.push_back({{"name", name}, {"description", entry.description}});
    }
    return all;
  }

  static void print(const Invocation& invocation, const ImageData& data) {
    const auto& statistics = data.statistics();
    const Shape stored = data.train().shape();
    invocation.print(data.describe());
    invocation.print(fmt::format("stored     {}", stored.fixed() ? stored.text() + " (channels x height x width)"
                                                                 : "pictures of different sizes"));
    invocation.print(fmt::format("seen as    {}", data.shape().text()));
    invocation.print(fmt::format("training   {}", listed(data.train_transforms())));
    invocation.print(fmt::format("evaluation {}", listed(data.eval_transforms())));
    invocation.print(fmt::format("mean       {:.4f}", fmt::join(statistics.mean, ", ")));
    invocation.print(fmt::format("deviation  {:.4f}", fmt::join(statistics.deviation, ", ")));
    const auto train = counts_by_class(data.train()), test = counts_by_class(data.test());
    for (size_t i = 0; i < train.size(); ++i) {
      invocation.print(fmt::format("{} {:<20} {} training, {} test", i == 0 ? "classes   " : "          ",
                                   data.class_names()[i], train[i], test[i]));
    }
  }

  Json to_json(const ImageData& data) const {
    const Shape shape = data.shape();
    return {{"name", data_.name},
            {"train", data.all().size()},
            {"test", data.test_size()},
            {"shape", {shape.channels, shape.height, shape.width}},
            {"classes", data.class_names()},
            {"train_counts", counts_by_class(data.train())},
            {"test_counts", counts_by_class(data.test())},
            {"train_transforms", data.train_transforms()},
            {"eval_transforms", data.eval_transforms()},
            {"notes", data.train().notes()},
            {"mean", data.statistics().mean},
            {"deviation", data.statistics().deviation}};
  }

  DataOptions data_;
  std::string page_;
};

NASCENT_REGISTER(Verb, "data", "lists the data sets, or describes one", [] { return std::make_unique<DataVerb>(); });

}  // namespace
}  // namespace nascent
