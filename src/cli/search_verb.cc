// nascent search: finds a cell by a weight-sharing search.
#include <optional>

#include "cli/run_session.h"
#include "cli/summary.h"
#include "cli/table_search.h"
#include "cli/verb.h"
#include "core/files.h"
#include "core/log.h"
#include "data/image_data.h"
#include "search/searcher.h"
#include "table/standing.h"

namespace nascent {
namespace {

class SearchVerb : public Verb {
 public:
  bool resumable() const override { return true; }

  void declare(OptionTable& table) override {
    auto section =
        table.section("search", "Weight-sharing search: which space, and which point of the product of choices.");
    section.add("space", space_, "search space, by name or from a .toml file ('nascent space' lists them)");
    section.add("table", table_, "benchmark table to report the found cell's rank and regret from");
    search_.declare(table);
    network_.declare(table);
    data_.declare(table);
    run_.declare(table);
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    const auto space = find_space(space_);
    std::optional<BenchmarkTable> table;
    if (!table_.empty()) table.emplace(table_).require_space(space->name());
    const ImageData data(data_, run_.seed);
    const NetworkPlan plan = plan_supernet(*space, network_, data.shape(), data.classes());
    const auto supernet = std::make_shared<Network>(plan, run_.seed);
    // Everything that can be refused is built before the run's directory is.
    Searcher searcher(
        space, supernet, [&](SearchData part) { return loader(data, part); }, search_, run_.seed);
    RunSession session(
        invocation, run_, space->name(),
        {{"Space", space->name()}, {"Data set", data_.name}, {"Relaxation", search_.relaxation.relaxation}});
    // A space of the user's own goes with the run, so that what was found can be trained wherever the run is.
    if (space_.ends_with(".toml")) write_file(session.directory().path() / "space.toml", read_file(space_));
    log::info("Supernet: {} parameters, {} multiply-adds per image; {}", engineering(count_parameters(plan)),
              engineering(count_multiply_adds(plan)), data.describe());
    session.run(searcher);
    return conclude(invocation, session, searcher, *space, data, table);
  }

 private:
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

  Json conclude(const Invocation& invocation, RunSession& session, Searcher& searcher, const Space& space,
                const ImageData& data, const std::optional<BenchmarkTable>& table) {
    const Genotype genotype = searcher.genotype();
    // The found cell in a network of the same depth and width as the supernet: a size to compare with.
    const NetworkPlan derived = plan_network(space, genotype, supernet_size(space), data.shape(), data.classes());
    Json result = {{"entropy", mean_entropy(searcher.probabilities())},
                   {"parameters", count_parameters(derived)},
                   {"multiply_adds", count_multiply_adds(derived)}};
    if (table) add_standings(result, *table, genotype);
    session.directory().write_genotype(genotype);
    session.conclude(result);
    invocation.print(describe(genotype));
    for (const auto& form : text_forms(genotype)) {
      if (form != "json") invocation.print(to_text(genotype, form) + "\n");
    }
    if (result.contains("table")) print_standings(invocation, result["table"]);
    invocation.print(fmt::format("Genotype: {}", session.directory().genotype_path().string()));
    invocation.print(fmt::format("Report:   {}", session.directory().report_path().string()));
    result["genotype"] = Json::parse(to_text(genotype, "json"));
    result["directory"] = session.directory().path().string();
    result["report"] = session.directory().report_path().string();
    return result;
  }

  // A search must not fail in the end because a table has gaps.
  static void add_standings(Json& result, const BenchmarkTable& table, const Genotype& genotype) {
    if (const auto row = table.find(genotype)) {
      result["table"] = final_standings(table, *row);
    } else {
      log::warning("{} has no row for the cell that was found.", table.path().string());
    }
  }

  NetworkOptions supernet_size(const Space& space) const {
    NetworkOptions options = network_;
    if (options.channels == 0) options.channels = space.default_channels();
    if (options.cells == 0) options.cells = space.default_cells();
    return options;
  }

  std::string space_ = "darts", table_;
  SearchOptions search_;
  NetworkOptions network_;
  DataOptions data_;
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "search", "finds a cell by a weight-sharing search",
                 [] { return std::make_unique<SearchVerb>(); });

}  // namespace
}  // namespace nascent
