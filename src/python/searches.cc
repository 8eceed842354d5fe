// Searches and trainings as the verbs run them: options by name, a run folder, resume.
#include "nascent/core/error.h"
#include "nascent/core/recipes.h"
#include "nascent/python/python.h"
#include "nascent/search/method.h"
#include "nascent/search/search.h"
#include "nascent/train/training.h"

namespace nascent::python {
namespace {

// What a call says besides options.
struct Call {
  std::string verb, recipe, scale, resume;
};

void read_call(OptionTable& table, const Call& call, const py::dict& keywords) {
  if (!call.resume.empty()) {
    for (const auto& [key, value] : keywords) {
      if (!value.is_none()) {
        fail("{}: a resumed run keeps its options, so that it ends as if it had never stopped.",
             key.cast<std::string>());
      }
    }
    const RunDirectory run = RunDirectory::view(call.resume);
    run.require_verb(call.verb);
    table.read_toml_file(run.options_path());
  }
  if (!call.recipe.empty()) {
    const Recipe recipe = find_recipe(call.recipe);
    recipe.require_verb(call.verb);
    table.read_toml(recipe.text, "recipe " + call.recipe);
  }
}

void check_given(const SearchOptions& options, const OptionTable& table) { check_options(options.method, table); }
void check_given(const TrainingOptions&, const OptionTable&) {}

template <class Options, class Body>
py::object run(const Call& call, const py::dict& keywords, Body body) {
  Options options;
  OptionTable table;
  options.declare(table);
  read_call(table, call, keywords);
  const ReadOptions read = read_keywords(table, keywords);
  if (call.resume.empty()) check_given(options, table);
  options.resolve(call.resume);
  if (!call.scale.empty()) apply_scale(Scale::parse(call.scale), options.scale_limits(), read.keys, table);
  Json result;
  {
    const LongWork work;
    Session session({.verb = call.verb, .command = read.words, .recipe = call.recipe, .resume = call.resume}, table,
                    options.run);
    result = body(std::as_const(options), session);
  }
  return to_python(result);
}

Json searched(const SearchOptions& options, Session& session) { return search(options, session).to_json(); }

Json trained(const TrainingOptions& options, Session& session) {
  const TrainingResult result = train(options, session);
  Json json = result.to_json();
  json.update(
      {{"model", result.model.string()}, {"directory", result.directory.string()}, {"report", result.report.string()}});
  return json;
}

}  // namespace

void bind_searches(py::module_& module) {
  module.def("search", [](const std::string& recipe, const std::string& scale, const std::string& resume,
                          const py::dict& keywords) {
    return run<SearchOptions>({"search", recipe, scale, resume}, keywords, searched);
  });
  module.def("train", [](const std::string& recipe, const std::string& scale, const std::string& resume,
                         const py::dict& keywords) {
    return run<TrainingOptions>({"train", recipe, scale, resume}, keywords, trained);
  });
}

}  // namespace nascent::python
