// Model files, and pictures as their networks take them.
#include <ATen/ATen.h>

#include "nascent/core/error.h"
#include "nascent/data/normalisation.h"
#include "nascent/data/pictures.h"
#include "nascent/data/transform.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/python/python.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/model.h"
#include "nascent/train/predict.h"

namespace nascent::python {
namespace {

// What people may want to know of a model.
Json model_facts(const Model& model) {
  const ChannelStatistics norm = normalisation_of(model.eval_transforms, model.statistics, model.input.channels);
  return {{"input", {model.input.channels, model.input.height, model.input.width}},
          {"classes", model.class_names},
          {"transforms", model.eval_transforms},
          {"mean", norm.mean},
          {"deviation", norm.deviation},
          {"data", model.data.name},
          {"results", model.results}};
}

struct ReadPictures {
  std::vector<at::Tensor> batches;
  std::vector<std::string> names;
};

// Pictures of any size through the model's own transforms but the normalisation, which the module does itself.
ReadPictures read_pictures(const Model& model, const std::vector<std::string>& sources) {
  const auto pictures = std::make_shared<Pictures>(
      sources, Pictures::Wanted{model.input.channels, static_cast<int64_t>(model.class_names.size())});
  std::vector<std::string> transforms = picture_transforms(model);
  std::erase_if(transforms, [](const std::string& text) { return TransformSpec::parse(text).name == "normalise"; });
  transforms.emplace_back("normalise 0 1");
  std::vector<int64_t> all(pictures->size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  Loader loader(pictures, std::move(all), TransformPipeline(transforms, model.statistics, pictures->shape()),
                LoaderOptions{.batch = 128, .purpose = "prediction"});
  ReadPictures read;
  loader.start(0);
  while (auto batch = loader.next()) {
    for (const int64_t index : batch->indices) {
      if (const auto reason = pictures->failure(index)) fail("{}: {}", pictures->picture_name(index), *reason);
      read.names.push_back(pictures->picture_name(index));
    }
    read.batches.push_back(to_tensors(std::move(*batch)).images);
  }
  return read;
}

// How the members of an ensemble are taken together, as Python keeps it.
Json combination_facts(const EnsembleModel& model) {
  return {{"weights", model.weights},
          {"combine", combination_names()[static_cast<size_t>(model.combine)]},
          {"temperature", model.temperature}};
}

py::tuple read_ensemble(const std::filesystem::path& path) {
  EnsembleModel model;
  {
    const py::gil_scoped_release release;
    model = load_ensemble(path);
  }
  if (model.passes > 1 || model.drop_path > 0) {
    fail(
        "{} is an ensemble by MC DropPath: one network that answers {} times with paths dropped at random, which a "
        "module of PyTorch cannot do. Label pictures with it by 'nascent predict {}', or load the model of its "
        "training.",
        path.string(), model.passes, path.string());
  }
  return py::make_tuple(model.members, to_python(combination_facts(model)));
}

void write_ensemble(const std::vector<Model>& members, const std::vector<double>& weights, const std::string& combine,
                    double temperature, const std::filesystem::path& path) {
  const py::gil_scoped_release release;
  save_ensemble({.members = members, .weights = weights, .combine = combination(combine), .temperature = temperature},
                path);
}

}  // namespace

void bind_models(py::module_& module) {
  module.def("is_ensemble", &is_ensemble, py::call_guard<py::gil_scoped_release>());
  module.def("read_ensemble", &read_ensemble);
  module.def("write_ensemble", &write_ensemble);
  py::class_<Model>(module, "Model")
      .def(py::init([](const std::filesystem::path& path) {
        const py::gil_scoped_release release;
        return load_model(path);
      }))
      .def_readonly("genotype", &Model::genotype)
      .def_readonly("network", &Model::network)
      .def("facts", [](const Model& model) { return to_python(model_facts(model)); })
      .def("save", [](const Model& model, const std::filesystem::path& path) { save_model(model, path); })
      .def("serialise", [](const Model& model) { return py::bytes(model_state(model).serialise()); })
      .def_static("parse", [](const std::string& bytes) { return model_in(State::parse(bytes, "the pickled model")); })
      .def("read", [](const Model& model, const std::vector<std::string>& sources) {
        ReadPictures read;
        {
          const py::gil_scoped_release release;
          read = read_pictures(model, sources);
          read.batches = {at::cat(read.batches).contiguous()};
        }
        return py::make_tuple(read.batches.front(), read.names);
      });
}

}  // namespace nascent::python
