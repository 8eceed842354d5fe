#include "nascent/attack/victim_files.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <fstream>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/framed_file.h"
#include "nascent/core/random.h"
#include "nascent/core/text.h"
#include "nascent/data/loader.h"
#include "nascent/data/split.h"
#include "nascent/data/transform_pipeline.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/model_data.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

std::string first_bytes(const fs::path& path, size_t count) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail("There is no model {}: a model.nascent, a run folder that holds one, or a TorchScript file was expected.",
         path.string());
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// "run" of runs/run/model.nascent, "net" of net.pt.
std::string short_name(const fs::path& path) {
  const std::string stem = path.stem().string(), folder = path.parent_path().filename().string();
  return stem == "model" && !folder.empty() ? folder : stem;
}

ChannelStatistics usable(ChannelStatistics statistics) {
  for (double& deviation : statistics.deviation) deviation = deviation > 1e-8 ? deviation : 1;
  return statistics;
}

void check_statistics(const ChannelStatistics& script, const Shape& shape) {
  const auto channels = static_cast<size_t>(shape.channels);
  const auto fits = [&](const std::vector<double>& values) { return values.size() == 1 || values.size() == channels; };
  if (script.mean.empty() && script.deviation.empty()) return;
  const bool positive =
      std::all_of(script.deviation.begin(), script.deviation.end(), [](double value) { return value > 0; });
  if (fits(script.mean) && fits(script.deviation) && positive) return;
  fail("--mean has {} values and --deviation {}; expected one or {} of each, and deviations above 0.",
       script.mean.size(), script.deviation.size(), channels);
}

}  // namespace

std::vector<std::string> pixel_transforms(const std::vector<std::string>& specs) {
  std::vector<std::string> bytes;
  for (const auto& text : specs) {
    const TransformSpec spec = TransformSpec::parse(text);
    const auto made = Transform::Registry::instance().make(spec.name, spec, ChannelStatistics{{0}, {1}});
    if (dynamic_cast<const ByteTransform*>(made.get()) != nullptr) bytes.push_back(text);
    if (dynamic_cast<const FloatTransform*>(made.get()) != nullptr) {
      fail("The model's images go through '{}' after they are normalised, which an attack cannot take account of.",
           text);
    }
  }
  bytes.push_back("normalise 0 1");
  return bytes;
}

ChannelStatistics normalisation(const std::vector<std::string>& specs, const ChannelStatistics& otherwise) {
  for (const auto& text : specs) {
    const TransformSpec spec = TransformSpec::parse(text);
    if (spec.name != "normalise" || spec.numbers.empty()) continue;
    const auto middle = spec.numbers.begin() + static_cast<ptrdiff_t>(spec.numbers.size() / 2);
    return usable({{spec.numbers.begin(), middle}, {middle, spec.numbers.end()}});
  }
  return usable(otherwise);
}

ModelFile read_model(const fs::path& path) { return {{load_model(path)}}; }

VictimFiles::VictimFiles(const std::vector<std::string>& paths, ChannelStatistics script, const ReadModels& read)
    : script_(std::move(script)) {
  if (paths.empty()) fail("nascent attack: what is attacked is missing, as in 'nascent attack runs/train-darts-1'.");
  for (const auto& path : paths) {
    open(path, read);
    if ((averaging_.plain() && random_.plain()) || paths.size() == 1) continue;
    fail(
        "{} has weights, a temperature, averaged logits or random passes of its own; only plain averages can be joined "
        "with others. Attack it alone, or name its members' model files.",
        path);
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    const auto same = std::count_if(files_.begin(), files_.begin() + static_cast<ptrdiff_t>(i),
                                    [&](const File& other) { return other.name == files_[i].name; });
    if (same > 0) files_[i].name += fmt::format("-{}", same + 1);
  }
}

void VictimFiles::open(const std::string& given, const ReadModels& read) {
  fs::path path = given;
  if (fs::is_directory(path)) path /= fs::exists(path / "ensemble.nascent") ? "ensemble.nascent" : "model.nascent";
  const std::string bytes = first_bytes(path, 8), name = short_name(path);
  if (bytes.starts_with("NASCENT")) {
    ModelFile found = read(path);
    for (size_t i = 0; i < found.members.size(); ++i) {
      const std::string own = found.members.size() == 1 ? name : fmt::format("member-{}", i + 1);
      files_.push_back({path.string(), own, false, std::make_shared<Model>(std::move(found.members[i]))});
    }
    averaging_ = std::move(found.averaging);
    random_ = found.random;
  } else if (bytes.starts_with("PK")) {
    files_.push_back({path.string(), name, true});
  } else {
    fail("{} is neither a model of Nascent nor a TorchScript file (a zip archive by torch.jit.save).", path.string());
  }
}

// One list of images goes to all members, so what comes before their own normalisation must be the same.
void VictimFiles::check_transforms() const {
  const Model& first = *first_model();
  for (const File& file : files_) {
    if (!file.model || pixel_transforms(file.model->eval_transforms) == pixel_transforms(first.eval_transforms))
      continue;
    fail(
        "{} sees its images through '{}', the first model through '{}'. Name what all of them are to see with "
        "--eval-transforms.",
        file.path, join(file.model->eval_transforms, ", "), join(first.eval_transforms, ", "));
  }
}

const Model* VictimFiles::first_model() const {
  const auto ours = std::find_if(files_.begin(), files_.end(), [](const File& file) { return file.model != nullptr; });
  return ours == files_.end() ? nullptr : ours->model.get();
}

DataOptions VictimFiles::data(DataOptions asked) const {
  if (const Model* model = first_model()) {
    if (asked.eval_transforms.empty()) check_transforms();
    return data_of(*model, std::move(asked));
  }
  if (asked.name.empty()) fail("A TorchScript file does not say which images it knows. Name the data set with --data.");
  return asked;
}

PixelImages VictimFiles::images(const DataOptions& data, int64_t count, uint64_t seed) const {
  const Model* model = first_model();
  const auto test = load_dataset(data, Part::test, model != nullptr ? model->data_seed : seed);
  if (test->size() < count) {
    fail("--images asks for {} images; the test part of '{}' has {}. Ask for fewer.", count, test->name(),
         test->size());
  }
  const auto specs = data.eval_transforms.empty() ? test->default_transforms(Part::test) : data.eval_transforms;
  const TransformPipeline transforms(pixel_transforms(specs), {{0}, {1}}, test->shape());
  Loader loader(test, limited_indices(test->size(), count, seed), transforms,
                {.batch = data.batch, .seed = seed, .purpose = "attack", .workers = data.workers});
  PixelImages pixels{{}, transforms.output(), test->classes(), test->class_names()};
  std::vector<at::Tensor> images, labels;
  loader.start(0);
  while (auto batch = loader.next()) {
    pixels.all.indices.insert(pixels.all.indices.end(), batch->indices.begin(), batch->indices.end());
    const TensorBatch tensors = to_tensors(std::move(*batch));
    images.push_back(tensors.images);
    labels.push_back(tensors.labels);
  }
  pixels.all.images = at::cat(images).contiguous(at::MemoryFormat::ChannelsLast).clamp(0, 1);
  pixels.all.labels = at::cat(labels);
  return pixels;
}

// As 'nascent ensemble eval' seeds its passes.
DroppedPaths RandomPasses::dropped(size_t member, int pass) const {
  return {drop_path, RandomStream(seed, "pass", {member, static_cast<uint64_t>(pass)})()};
}

void VictimFiles::check_fit(const File& file, const PixelImages& images) const {
  if (!(file.model->input == images.shape)) {
    fail(
        "{} takes images of {}; these are {}. Name the data set it was trained on with --data; members of one "
        "ensemble take images of one shape.",
        file.path, file.model->input.text(), images.shape.text());
  }
  check_classes(*file.model, images.class_names);
}

Victims VictimFiles::load(const PixelImages& images) {
  Victims victims;
  check_statistics(script_, images.shape);
  bool same = true;
  for (size_t i = 0; i < files_.size(); ++i) {
    const File& file = files_[i];
    ChannelStatistics statistics = script_;
    if (file.model) {
      check_fit(file, images);
      statistics = normalisation(file.model->eval_transforms, file.model->statistics);
      // Every pass is a member: the ensemble's gradient is then the mean over them.
      for (int pass = 0; pass < random_.passes; ++pass) {
        const std::string name = random_.passes > 1 ? fmt::format("{}-pass-{}", file.name, pass + 1) : file.name;
        victims.members.push_back(network_victim(file.model->network, statistics, name, random_.dropped(i, pass)));
      }
    } else {
      victims.members.push_back(script_victim(file.path, script_, images.shape, file.name));
    }
    const int64_t classes = victims.members.back()->classes();
    if (classes != images.classes) fail("{} has {} classes; the data has {}.", file.path, classes, images.classes);
    same = same && (i == 0 || victims.deviation == statistics.deviation);
    victims.deviation = statistics.deviation;
  }
  if (!same) victims.deviation.clear();
  const bool alone = victims.members.size() == 1 && averaging_.plain();
  Averaging averaging = averaging_;
  averaging.weights.clear();
  for (const double weight : averaging_.weights) {
    averaging.weights.insert(averaging.weights.end(), static_cast<size_t>(random_.passes), weight);
  }
  victims.whole = alone ? victims.members[0] : ensemble_victim(victims.members, "ensemble", averaging);
  return victims;
}

std::string VictimFiles::digest(const PixelImages& images) const {
  const at::Tensor pixels = images.all.images.contiguous(), labels = images.all.labels.contiguous();
  const auto sum_of = [](const at::Tensor& tensor) {
    return crc32({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
  };
  std::string all = fmt::format("{:08x} {:08x}", sum_of(pixels), sum_of(labels));
  for (const File& file : files_) all += " " + digest_of_framed_file(read_file(file.path));
  return all;
}

}  // namespace nascent
