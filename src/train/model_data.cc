#include "nascent/train/model_data.h"

#include <filesystem>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

// "class 3", as data sets call a class that they know no name of.
bool is_unnamed(const std::string& name, size_t index) { return name == fmt::format("class {}", index); }

}  // namespace

void remember_data(Model& model, const ImageData& data, const DataOptions& options, uint64_t seed) {
  model.input = data.shape();
  model.class_names = data.class_names();
  model.eval_transforms = data.eval_transforms();
  model.statistics = data.statistics();
  model.data = options;
  if (!options.path.empty()) model.data.path = std::filesystem::absolute(options.path).lexically_normal().string();
  model.data_seed = seed;
}

DataOptions data_of(const Model& model, DataOptions asked) {
  if (asked.name.empty() && model.data.name.empty()) {
    fail(
        "The model does not say which data it was trained on (it was imported without, or is of an older version). "
        "Name it with --data.");
  }
  if (asked.name.empty()) {
    const DataOptions usual;
    const auto take = [&](auto field) {
      if (asked.*field == usual.*field) asked.*field = model.data.*field;
    };
    asked.name = model.data.name;
    take(&DataOptions::path);
    take(&DataOptions::limit_test);
    take(&DataOptions::test_fraction);
    take(&DataOptions::random_labels);
    take(&DataOptions::shape);
    take(&DataOptions::classes);
    take(&DataOptions::size);
  }
  if (asked.eval_transforms.empty()) asked.eval_transforms = model.eval_transforms;
  // An empty list would stand for the data set's usual transforms; "normalise" alone changes nothing else.
  if (asked.eval_transforms.empty()) asked.eval_transforms = {"normalise"};
  asked.train_transforms = asked.eval_transforms;
  return asked;
}

void check_classes(const Model& model, const std::vector<std::string>& found) {
  const auto& known = model.class_names;
  if (known.size() != found.size()) {
    fail("The model has {} classes; the data has {}. Name the data it was trained on with --data and --path.",
         known.size(), found.size());
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i] == found[i] || is_unnamed(known[i], i) || is_unnamed(found[i], i)) continue;
    fail(
        "The model's class {} is '{}'; the data calls it '{}', so its scores would mean nothing. Give the data the "
        "classes that the model was trained on: {}.",
        i, known[i], found[i], join(known, ", "));
  }
}

void check_fits(const Model& model, const ImageData& data) {
  const Shape &expected = model.input, found = data.shape();
  if (!(found == expected)) {
    fail(
        "The model takes images of {} (channels x height x width); the data has {}. Name the data it was trained on "
        "with --data and --path, or set --eval-transforms.",
        expected.text(), found.text());
  }
  check_classes(model, data.class_names());
}

std::string data_text(const DataOptions& data) {
  return data.path.empty() ? data.name : fmt::format("{} at {}", data.name, data.path);
}

}  // namespace nascent
