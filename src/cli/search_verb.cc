// nascent search: finds a cell by a weight-sharing search.
#include <cmath>
#include <optional>

#include "nascent/cli/run_session.h"
#include "nascent/cli/staged_search.h"
#include "nascent/cli/table_search.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/data/dataset.h"
#include "nascent/data/image_data.h"
#include "nascent/search/one_shot/one_shot_search.h"

namespace nascent {
namespace {

class SearchVerb : public Verb {
 public:
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }

  void declare(OptionTable& table) override {
    auto section =
        table.section("search", "Weight-sharing search: which space, and which point of the product of choices.");
    section.add("space", space_, "search space, by name or from a .toml file ('nascent space' lists them)");
    section.add("table", table_, "benchmark table to report the found cell's rank and regret from");
    search_.declare(table);
    stages_.declare(table);
    network_.declare(table);
    data_.declare(table);
    run_.declare(table);
  }

  void resolve(const Invocation& invocation) override {
    // A resumed run has its own copy of a space that came from a file.
    const auto copy = std::filesystem::path(invocation.resume) / "space.toml";
    if (!invocation.resume.empty() && space_.ends_with(".toml") && std::filesystem::exists(copy))
      space_ = copy.string();
    const auto space = find_space(space_);
    if (network_.channels == 0) network_.channels = space->default_channels();
    if (network_.cells == 0) network_.cells = space->default_cells();
    if (network_.skeleton.empty()) network_.skeleton = space->skeleton();
    if (stages_.retrain_scale.empty()) stages_.retrain_scale = invocation.scale;
  }

  ScaleLimits scale_limits() const override {
    const double held_out = data_.valid_fraction;
    const double smaller_part = held_out > 0 ? std::min(held_out, 1 - held_out) : 1;
    return {.fewest_cells = Skeleton::Registry::instance().at(network_.skeleton).facts.fewest_cells,
            .fixed_cells = find_space(space_)->own_cells(),
            .fewest_images = static_cast<int64_t>(std::ceil(data_.batch / smaller_part)),
            .all_images = [this] { return load_dataset(data_, Part::train, run_.seed)->size(); }};
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    return stages_.wanted() ? run_stages(invocation) : run_search(invocation);
  }

 private:
  Json run_search(const Invocation& invocation) {
    const auto space = find_space(space_);
    std::optional<BenchmarkTable> table;
    if (!table_.empty()) table.emplace(table_).require_space(space->name());
    const ImageData data(data_, run_.seed);
    const NetworkPlan plan = plan_supernet(*space, network_, data.shape(), data.classes());
    const auto supernet = std::make_shared<Network>(plan, run_.seed);
    // Everything that can be refused is built before the run's directory is.
    OneShotSearch searcher(
        space, supernet, [&](SearchData part) { return loader(data, part); }, search_, run_.seed);
    const std::string memory = run_.check_memory(plan, data_.batch, searcher.candidates_at_once());
    RunSession session(
        invocation, run_, space->name(),
        {{"Space", space->name()}, {"Data set", data_.name}, {"Relaxation", search_.relaxation.relaxation}});
    // A space of the user's own goes with the run, so that what was found can be trained wherever the run is.
    if (space_.ends_with(".toml")) keep_space(session.directory());
    log::info("Supernet: {} parameters, {} multiply-adds per image, about {} of memory a step; {}",
              engineering(count_parameters(plan)), engineering(count_multiply_adds(plan)), memory, data.describe());
    session.run(searcher);
    return conclude(invocation, session, searcher, *space, data, table);
  }

  Json run_stages(const Invocation& invocation) {
    const auto space = find_space(space_);
    RunSession session(invocation, run_, space->name() + "-stages",
                       {{"Space", space->name()},
                        {"Data set", data_.name},
                        {"Relaxation", search_.relaxation.relaxation},
                        {"Searches", std::to_string(stages_.seeds)}});
    if (space_.ends_with(".toml")) keep_space(session.directory());
    StagedSearch stages(invocation, stages_, run_, network_.skeleton, session.directory());
    session.run([&] { stages.run(); });
    session.directory().write_genotype(stages.best());
    Json result = stages.result();
    session.conclude(result);
    stages.print();
    tell_where(invocation, session);
    result["genotype"] = Json::parse(to_text(stages.best(), "json"));
    result["directory"] = session.directory().path().string();
    result["report"] = session.directory().report_path().string();
    return result;
  }

  void keep_space(const RunDirectory& directory) const {
    const auto copy = directory.path() / "space.toml";
    if (space_ != copy.string()) write_file(copy, read_file(space_));
  }

  static void tell_where(const Invocation& invocation, RunSession& session) {
    invocation.print(fmt::format("Genotype: {}", session.directory().genotype_path().string()));
    invocation.print(fmt::format("Report:   {}", session.directory().report_path().string()));
  }

  static std::unique_ptr<Loader> loader(const ImageData& data, SearchData part) {
    switch (part) {
      case SearchData::train:
        return data.training(data.split().train, "search");
      case SearchData::held_out:
        return data.training(data.split().valid, "architecture");
      case SearchData::judge:
        return data.evaluation(data.split().valid.empty() ? data.all() : data.split().valid);
      case SearchData::all:
        break;
    }
    return data.training(data.all(), "search");
  }

  Json conclude(const Invocation& invocation, RunSession& session, OneShotSearch& searcher, const Space& space,
                const ImageData& data, const std::optional<BenchmarkTable>& table) {
    const Genotype genotype = searcher.genotype();
    // The found cell in a network of the same depth and width as the supernet: a size to compare with.
    const NetworkPlan derived = plan_network(space, genotype, supernet_size(space), data.shape(), data.classes());
    Json result = {{"entropy", mean_entropy(searcher.probabilities())},
                   {"parameters", count_parameters(derived)},
                   {"multiply_adds", count_multiply_adds(derived)}};
    const std::string collapse = searcher.collapse();
    if (!collapse.empty()) result["collapse"] = collapse;
    if (table) add_table_ranks(result, *table, genotype);
    session.directory().write_genotype(genotype);
    session.conclude(result);
    invocation.print(describe(genotype));
    for (const auto& form : text_forms(genotype)) {
      if (form != "json") invocation.print(to_text(genotype, form) + "\n");
    }
    if (result.contains("table")) print_table_ranks(invocation, result["table"]);
    if (!collapse.empty()) invocation.print(fmt::format("Collapsed: {}.", collapse));
    tell_where(invocation, session);
    result["genotype"] = Json::parse(to_text(genotype, "json"));
    result["directory"] = session.directory().path().string();
    result["report"] = session.directory().report_path().string();
    return result;
  }

  NetworkOptions supernet_size(const Space& space) const {
    NetworkOptions options = network_;
    if (options.channels == 0) options.channels = space.default_channels();
    if (options.cells == 0) options.cells = space.default_cells();
    return options;
  }

  std::string space_ = "darts", table_;
  OneShotOptions search_;
  StageOptions stages_;
  NetworkOptions network_;
  DataOptions data_;
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "search", "finds a cell by a weight-sharing search",
                 [] { return std::make_unique<SearchVerb>(); });

}  // namespace
}  // namespace nascent
