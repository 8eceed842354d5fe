#include "nascent/search/search.h"

#include <algorithm>

#include "nascent/cluster/ranks.h"
#include "nascent/core/files.h"
#include "nascent/search/comparison.h"
#include "nascent/search/method.h"
#include "nascent/search/staged_search.h"
#include "nascent/search/table_standing.h"
#include "nascent/train/parts_ahead.h"

namespace nascent {

std::string short_text(const Genotype& genotype) {
  std::string best = to_text(genotype, "json");
  for (const auto& form : text_forms(genotype)) {
    const std::string text = to_text(genotype, form);
    if (text.size() < best.size() && text.find('\n') == std::string::npos) best = text;
  }
  return best;
}

Json SearchResult::stored(bool with_time) const {
  Json json = {{"method", method}, {"recipe", recipe}, {"seed", seed}};
  if (with_time) json["seconds"] = seconds;
  if (valid_top1) json["valid_top1"] = *valid_top1;
  json.update(facts);
  json["genotype"] = Json::parse(to_text(genotype, "json"));
  json["genotype_text"] = short_text(genotype);
  return json;
}

Json SearchResult::to_json() const {
  Json json = stored();
  json["directory"] = directory.string();
  json["report"] = report.string();
  return json;
}

SearchResult search_result(const std::filesystem::path& folder) {
  const RunDirectory run = RunDirectory::view(folder);
  Json facts = run.result();
  SearchResult result{.genotype = run.genotype().value(),
                      .method = facts.value("method", ""),
                      .recipe = facts.value("recipe", ""),
                      .seed = facts.value("seed", int64_t{1}),
                      .seconds = run.info().value("seconds", 0.0)};
  if (facts.contains("valid_top1")) result.valid_top1 = facts["valid_top1"].get<double>();
  for (const char* own : {"method", "recipe", "seed", "seconds", "valid_top1", "genotype", "genotype_text"}) {
    facts.erase(own);
  }
  result.facts = std::move(facts);
  result.directory = run.path();
  result.report = run.report_path();
  return result;
}

namespace {

// A space of the user's own goes with the run, so that what was found can be used wherever the run is.
void keep_space(const std::string& space, const RunDirectory& directory) {
  const auto copy = directory.path() / "space.toml";
  if (space.ends_with(".toml") && space != copy.string()) write_file(copy, read_file(space));
}

SearchResult concluded(const SearchOptions& options, Session& session, const Found& found, bool with_time) {
  SearchResult result{.genotype = found.genotype,
                      .method = options.method,
                      .recipe = session.recipe(),
                      .seed = options.run.seed,
                      .seconds = session.seconds(),
                      .valid_top1 = found.valid_top1,
                      .facts = found.facts,
                      .directory = session.directory().path(),
                      .report = session.directory().report_path()};
  session.directory().write_genotype(found.genotype);
  session.conclude(result.stored(with_time));
  return result;
}

// What is known of any architecture: the size of its network, and where a table has it.
void add_sizes_and_ranks(const Problem& problem, Found& found) {
  if (problem.has_images()) {
    const ImageData& data = problem.images();
    const NetworkPlan plan =
        plan_network(*problem.space(), found.genotype, problem.options().network, data.shape(), data.classes());
    found.facts["parameters"] = count_parameters(plan);
    found.facts["multiply_adds"] = count_multiply_adds(plan);
  }
  if (problem.table() != nullptr) add_table_ranks(found.facts, *problem.table(), found.genotype);
}

RunFacts facts_of(const Problem& problem, const Method& method) {
  const SearchOptions& options = problem.options();
  RunFacts facts = {{"Space", problem.space()->name()},
                    {"Data set", problem.has_images() ? options.data.name : options.judging.data},
                    {"Method", options.method}};
  for (auto& fact : method.facts()) facts.push_back(std::move(fact));
  return facts;
}

SearchResult search_once(const SearchOptions& options, Session& session) {
  // Everything that can be refused is built before the run's folder is.
  const Problem problem(options);
  const auto method = make_method(problem);
  if (!session.start().part) method->check_ranks();
  session.begin(problem.space()->name(), facts_of(problem, *method),
                problem.has_images() ? std::optional(problem.images().digest()) : std::nullopt);
  SearchResult result;
  session.run([&] {
    keep_space(options.space, session.directory());
    Found found = method->run(session);
    add_sizes_and_ranks(problem, found);
    result = concluded(options, session, found, true);
  });
  return result;
}

SearchResult search_in_stages(const SearchOptions& options, Session& session) {
  const Problem problem(options);
  cluster::require_work(std::max(options.stages.seeds, options.stages.stage3_seeds), "searches (--seeds)");
  session.begin(problem.space()->name() + "-stages", {{"Space", problem.space()->name()},
                                                      {"Data set", options.data.name},
                                                      {"Method", options.method},
                                                      {"Searches", std::to_string(options.stages.seeds)}});
  SearchResult result;
  session.run([&] {
    keep_space(options.space, session.directory());
    StagedSearch stages(options, session);
    stages.run();
    result = concluded(options, session, {.genotype = stages.best(), .facts = stages.result()}, false);
  });
  return result;
}

SearchResult search_and_compare(const SearchOptions& options, Session& session) {
  Comparison comparison(options, session);  // refuses what it can
  const auto recipes = static_cast<int64_t>(options.comparison.recipes.size());
  cluster::require_work(recipes * options.stages.seeds, "searches (--recipes times --seeds)");
  session.begin("comparison",
                {{"Recipes", join(options.comparison.recipes, ", ")}, {"Seeds", std::to_string(options.stages.seeds)}});
  SearchResult result;
  session.run([&] {
    comparison.run();
    result = concluded(options, session, comparison.found(), false);
  });
  return result;
}

}  // namespace

SearchResult search(const SearchOptions& options, Session& session) {
  options.run.apply();
  if (!options.comparison.recipes.empty()) return search_and_compare(options, session);
  return options.stages.wanted() ? search_in_stages(options, session) : search_once(options, session);
}

namespace {

NASCENT_REGISTER(PartVerb, "search", "a search", [](const PartOrder& order) {
  do_part<SearchOptions>(order, [](const SearchOptions& options, Session& session) { search(options, session); });
});

}  // namespace

}  // namespace nascent
