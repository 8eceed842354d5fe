// nascent score: training-free scores of one architecture, of some, or of a whole space; and searches by them.
#include <sys/resource.h>

#include <chrono>

#include "nascent/cli/run_session.h"
#include "nascent/cli/table_search.h"
#include "nascent/cli/trained_search.h"
#include "nascent/cli/verb.h"
#include "nascent/core/correlation.h"
#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/score/agreement.h"
#include "nascent/score/scorer.h"
#include "nascent/search/at_initialisation/nasi.h"
#include "nascent/search/at_initialisation/te_nas.h"
#include "nascent/search/table_validation.h"
#include "nascent/search/trained_validation.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {
namespace {

// Numbers that JSON has no word for become text.
Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

class ScoreVerb : public Verb {
 public:
  ScoreVerb() { data_.valid_fraction = 0; }

  std::string arguments() const override { return "[GENOTYPE...]"; }
  bool resumable() const override { return true; }

  void declare(OptionTable& table) override {
    auto section = table.section("score", "Training-free scores of architectures.");
    section.add("space", space_, "space of --all, --sample and --search, by name or from a .toml file");
    section
        .add("search", search_,
             "search the space: nasi; te-nas; maximise, which takes the best by the first metric of --all or --sample; "
             "or a strategy of 'nascent table search', here with every architecture that it asks for trained or, with "
             "--lookup, looked up")
        .one_of(searches());
    section.add("all", all_, "score every architecture of the space");
    section.add("sample", sample_, "score so many architectures, drawn at random").range(0, 1e9);
    section.add("csv", csv_, "write the scores to this file, one architecture per line");
    section.add("against", against_,
                "benchmark table ('nascent table import'): print how the scores agree with its test errors, or where "
                "what was found stands");
    section.add("measure", measure_, "accuracy of that table, such as cifar10_test200");
    section.add("bound-tries", tries_, "pairs (mu, nu) tried for the non-realisable bound").range(1, 100000);
    score_.declare(table);
    nasi_.declare(table);
    te_nas_.declare(table);
    trained_.declare(table);
    network_.declare(table);
    data_.declare(table);
    run_.declare(table);
  }

  Json run(const Invocation& invocation) override {
    const bool by_strategy = Strategy::Registry::instance().contains(search_);
    if (!invocation.resume.empty() && search_ != "nasi" && !by_strategy) {
      fail(
          "--resume takes up searches by nasi or a strategy; scores go on by themselves when the same command is given "
          "again.");
    }
    run_.apply();
    // A table that is not there or of another space is refused before the search, not after it.
    if (!search_.empty() && !against_.empty()) BenchmarkTable(against_).require_space(find_space(space_)->name());
    if (by_strategy) return search_by_strategy(invocation);
    if (search_ == "nasi" || search_ == "te-nas") return search(invocation);
    const std::vector<Genotype> genotypes = find_genotypes(invocation);
    const auto space = find_space(from_space() ? space_ : genotypes[0].space);
    const ImageData data(data_, seed());
    Scorer scorer(setup_of(space, data), score_);
    if (search_ == "maximise") return maximise(invocation, scorer, genotypes, data);
    return genotypes.size() == 1 ? score_one(invocation, scorer, genotypes[0])
                                 : score_many(invocation, scorer, genotypes);
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(run_.seed); }
  bool from_space() const { return all_ || sample_ > 0; }

  static std::vector<std::string> searches() {
    std::vector<std::string> names = {"", "nasi", "te-nas", "maximise"};
    for (const auto& strategy : Strategy::Registry::instance().names()) names.push_back(strategy);
    return names;
  }

  ScorerSetup setup_of(const std::shared_ptr<const Space>& space, const ImageData& data) const {
    return {.space = space,
            .network = network_,
            .images = scoring_batch(data, std::max(data_.batch, score_.kappa_batch), seed()),
            .batch = data_.batch,
            .classes = data.classes(),
            .seed = seed()};
  }

  std::vector<Genotype> find_genotypes(const Invocation& invocation) const {
    const int ways = (all_ ? 1 : 0) + (sample_ > 0 ? 1 : 0) + (invocation.arguments.empty() ? 0 : 1);
    if (ways != 1) {
      fail(
          "nascent score: name architectures, as in 'nascent score darts-v2', or give --all or --sample N with "
          "--space; found {} of these.",
          ways == 0 ? "none" : "several");
    }
    std::vector<Genotype> genotypes;
    for (const auto& name : invocation.arguments) {
      genotypes.push_back(find_genotype(name));
      if (genotypes.back().space == genotypes[0].space) continue;
      fail("nascent score: '{}' is of space '{}' and '{}' of '{}'; score them one space at a time.",
           invocation.arguments[0], genotypes[0].space, name, genotypes.back().space);
    }
    if (all_) return whole_space(*find_space(space_));
    for (int64_t i = 0; i < sample_; ++i) {
      RandomStream random(seed(), "sample", {static_cast<uint64_t>(i)});
      genotypes.push_back(find_space(space_)->sample(random));
    }
    return genotypes;
  }

  static std::vector<Genotype> whole_space(const Space& space) {
    constexpr double kMost = 1e7;
    if (space.count() > kMost) {
      fail("The space '{}' has {:.2g} architectures, too many to score all. Use --sample.", space.name(),
           space.count());
    }
    std::vector<Genotype> genotypes;
    space.enumerate([&](const Genotype& genotype) {
      genotypes.push_back(genotype);
      return true;
    });
    return genotypes;
  }

  RunSession session_of(const Invocation& invocation, const Space& space) const {
    return RunSession(invocation, run_, space.name(),
                      {{"Space", space.name()}, {"Data set", data_.name}, {"Search", search_}});
  }

  Json search(const Invocation& invocation) {
    const auto space = find_space(space_);
    const ImageData data(data_, seed());
    if (search_ == "te-nas") {
      const auto most = static_cast<int64_t>(data.all().size());
      const TensorBatch batch =
          scoring_batch(data, std::min<int64_t>(most, std::max(te_nas_.batch, te_nas_.regions)), seed());
      const Genotype found = te_nas({.space = space,
                                     .images = batch.images,
                                     .classes = data.classes(),
                                     .ntk = score_.kernel_gradients(),
                                     .seed = seed()},
                                    te_nas_);
      RunSession session = session_of(invocation, *space);
      return conclude(invocation, session, *space, found, data);
    }
    const auto supernet = std::make_shared<Network>(plan_supernet(*space, network_, data.shape(), data.classes()),
                                                    seed(), score_.initialiser);
    Nasi nasi(space, supernet, data.training(data.all(), "nasi"), nasi_, seed());
    RunSession session = session_of(invocation, *space);
    session.run(nasi);
    return conclude(invocation, session, *space, nasi.genotype(), data);
  }

  // A strategy that validates by training, or by what a table knows of it. One that goes by metrics chooses from --all
  // or --sample.
  Json search_by_strategy(const Invocation& invocation) {
    const auto space = find_space(space_);
    const ImageData data(data_, seed());
    std::optional<BenchmarkTable> table;
    if (!trained_.lookup.empty()) table.emplace(trained_.lookup).require_space(space->name());
    const auto validation = table ? validation_by(*table) : validation_by_training(space, data);
    const Budget budget(trained_.train.epochs);
    const std::vector<Budget> budgets =
        table ? fidelities(*table, parse_measure(measure_).data, budget) : schedules_up_to(budget.epochs);
    const auto strategy = [&] { return make_strategy(search_, space, trained_, budgets, seed()); };
    const std::vector<Genotype> pool = from_space() ? find_genotypes(invocation) : std::vector<Genotype>();
    // What is wrong is refused before there is a run directory.
    if (pool.empty()) strategy();
    Metric::Registry::instance().at(trained_.strategy.metric);
    RunSession session = session_of(invocation, *space);
    SearchTrace trace;
    session.run([&] {
      if (!pool.empty()) trained_.strategy.metrics = write_pool(session.directory().path(), space, data, pool);
      trace = search_by_training(*strategy(), *validation, trained_);
    });
    Json result = {{"valid_top1", trace.incumbent()->accuracy}, {"trials", report_trials(invocation, trace)}};
    return conclude(invocation, session, *space, trace.incumbent()->proposal.genotype, data, std::move(result));
  }

  std::unique_ptr<Validation> validation_by(const BenchmarkTable& table) const {
    const Measure outcome{
        .data = parse_measure(measure_).data, .quantity = "valid", .budget = Budget(trained_.train.epochs)};
    table.series(outcome);  // refuses what the table does not have before anything is scored
    return std::make_unique<TableValidation>(table, outcome.data);
  }

  std::unique_ptr<Validation> validation_by_training(const std::shared_ptr<const Space>& space,
                                                     const ImageData& data) const {
    const auto folder = score_.cache == "none" ? std::filesystem::path()
                        : score_.cache.empty() ? cache_directory() / "validations"
                                               : std::filesystem::path(score_.cache);
    return std::make_unique<TrainedValidation>(TrainedValidationSetup{.space = space,
                                                                      .data = data_,
                                                                      .images = data,
                                                                      .network = network_,
                                                                      .train = trained_.train,
                                                                      .seed = seed()},
                                               folder);
  }

  // The file that strategies by metrics read.
  std::string write_pool(const std::filesystem::path& folder, const std::shared_ptr<const Space>& space,
                         const ImageData& data, const std::vector<Genotype>& pool) const {
    ScoreOptions options = score_;
    options.metrics = {trained_.strategy.metric, "kappa"};
    Scorer scorer(setup_of(space, data), options);
    const std::string path = (folder / "metrics.csv").string();
    write_csv(path, scorer, pool, scored(scorer, pool));
    return path;
  }

  // By the first metric; the condition number is better where it is lower.
  Json maximise(const Invocation& invocation, Scorer& scorer, const std::vector<Genotype>& genotypes,
                const ImageData& data) const {
    const std::vector<Scores> scores = scored(scorer, genotypes);
    const size_t best = best_of(scorer.metrics()[0], scores);
    RunSession session = session_of(invocation, scorer.space());
    return conclude(invocation, session, scorer.space(), genotypes[best], data);
  }

  Json conclude(const Invocation& invocation, RunSession& session, const Space& space, const Genotype& genotype,
                const ImageData& data, Json result = Json::object()) const {
    const NetworkPlan plan = plan_network(space, genotype, network_, data.shape(), data.classes());
    result["parameters"] = count_parameters(plan);
    result["multiply_adds"] = count_multiply_adds(plan);
    if (!against_.empty()) add_table_ranks(result, BenchmarkTable(against_), genotype);
    session.directory().write_genotype(genotype);
    session.conclude(result);
    invocation.print(describe(genotype));
    for (const auto& form : text_forms(genotype)) {
      if (form != "json") invocation.print(to_text(genotype, form) + "\n");
    }
    if (result.contains("table")) print_table_ranks(invocation, result["table"]);
    invocation.print(fmt::format("Genotype: {}", session.directory().genotype_path().string()));
    result["genotype"] = Json::parse(to_text(genotype, "json"));
    result["directory"] = session.directory().path().string();
    return result;
  }

  static size_t best_of(const std::string& metric, const std::vector<Scores>& scores) {
    const bool low = Metric::Registry::instance().at(metric).facts.lower_is_better;
    const auto best = std::max_element(scores.begin(), scores.end(), [&](const Scores& a, const Scores& b) {
      return low ? a.at(metric) > b.at(metric) : a.at(metric) < b.at(metric);
    });
    return static_cast<size_t>(best - scores.begin());
  }

  std::vector<Scores> scored(Scorer& scorer, const std::vector<Genotype>& genotypes) const {
    try {
      return score_all(scorer, genotypes, run_.threads);
    } catch (const Interrupted&) {
      log::info("Interrupted; what was scored is kept. The same command goes on from there.");
      throw;
    }
  }

  Json score_one(const Invocation& invocation, Scorer& scorer, const Genotype& genotype) const {
    const Scores scores = scorer.scores(genotype);
    Json result = Json::object();
    for (const auto& metric : scorer.metrics()) {
      const std::string& meaning = Metric::Registry::instance().at(metric).description;
      invocation.print(fmt::format("{:<13} {:>14.6g}  {}", metric, scores.at(metric), meaning));
      result[metric] = json_number(scores.at(metric));
    }
    if (!csv_.empty()) write_csv(csv_, scorer, {genotype}, {scores});
    return result;
  }

  Json score_many(const Invocation& invocation, Scorer& scorer, const std::vector<Genotype>& genotypes) const {
    const auto start = std::chrono::steady_clock::now();
    const int64_t known = std::count_if(genotypes.begin(), genotypes.end(),
                                        [&](const Genotype& genotype) { return scorer.knows(genotype); });
    const std::vector<Scores> scores = scored(scorer, genotypes);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto computed = static_cast<int64_t>(genotypes.size()) - known;
    if (!csv_.empty()) write_csv(csv_, scorer, genotypes, scores);
    invocation.print(fmt::format("{} architectures, {} of them known before; {:.1f} s, {:.1f} a second, {:.0f} MB",
                                 genotypes.size(), known, seconds, static_cast<double>(computed) / seconds,
                                 peak_megabytes()));
    for (const auto& path : scorer.cache_paths()) invocation.print(fmt::format("Cache:  {}", path.string()));
    if (!csv_.empty()) invocation.print(fmt::format("Scores: {}", csv_));
    if (csv_.empty() && against_.empty()) print_best(invocation, scorer, genotypes, scores);
    if (!against_.empty()) print_agreement(invocation, scorer, genotypes, scores);
    Json result = {{"architectures", genotypes.size()},
                   {"computed", computed},
                   {"seconds", seconds},
                   {"peak_megabytes", peak_megabytes()}};
    if (!csv_.empty()) result["csv"] = csv_;
    return result;
  }

  static void print_best(const Invocation& invocation, const Scorer& scorer, const std::vector<Genotype>& genotypes,
                         const std::vector<Scores>& scores) {
    for (const auto& metric : scorer.metrics()) {
      const size_t best = best_of(metric, scores);
      invocation.print(
          fmt::format("{} {:<13} {:>14.6g}  {}",
                      Metric::Registry::instance().at(metric).facts.lower_is_better ? "lowest " : "highest", metric,
                      scores[best].at(metric), ScoreCache::key(genotypes[best])));
    }
  }

  // As Markdown: thesis tables 7.1, 7.4 and 7.5.
  void print_agreement(const Invocation& invocation, const Scorer& scorer, const std::vector<Genotype>& genotypes,
                       const std::vector<Scores>& scores) const {
    const BenchmarkTable table(against_);
    const TableSeries accuracy = table.series(parse_measure(measure_));
    std::vector<double> errors;
    for (const auto& genotype : genotypes) errors.push_back(100 - accuracy.at(table.row(genotype)));
    std::map<std::string, std::vector<double>> columns;
    for (const auto& metric : scorer.metrics()) {
      for (const auto& row : scores) columns[metric].push_back(as_bound(metric, row.at(metric)));
    }
    const bool with_kappa = columns.contains("kappa");
    invocation.print(
        fmt::format("\nAgreement with the error of {}, Spearman / Kendall:\n\n{}", measure_,
                    "| metric | realisable | + trade-off | + kappa | non-realisable |\n|---|---|---|---|---|"));
    for (const auto& metric : scorer.metrics()) {
      if (metric == "kappa") continue;
      const std::vector<double> ones(errors.size(), 1.0);
      const BoundAgreement found =
          bound_agreement(columns[metric], with_kappa ? columns["kappa"] : ones, errors, tries_, seed());
      const auto text = [](const Agreement& a) { return fmt::format("{:.3f} / {:.3f}", a.spearman, a.kendall); };
      invocation.print(fmt::format("| {} | {} | {} | {} | {} |", metric, text(found.realisable), text(found.trade_off),
                                   with_kappa ? text(found.with_kappa) : "", with_kappa ? text(found.whole) : ""));
    }
    print_connections(invocation, scorer.metrics(), columns);
  }

  static void print_connections(const Invocation& invocation, const std::vector<std::string>& metrics,
                                const std::map<std::string, std::vector<double>>& columns) {
    invocation.print(
        "\nConnection of metrics, where both are finite:\n\n| | | Pearson | Spearman | Kendall "
        "|\n|---|---|---|---|---|");
    for (size_t i = 0; i < metrics.size(); ++i) {
      for (size_t j = i + 1; j < metrics.size(); ++j) {
        std::vector<double> a, b;
        for (size_t k = 0; k < columns.at(metrics[i]).size(); ++k) {
          const double x = columns.at(metrics[i])[k], y = columns.at(metrics[j])[k];
          if (!std::isfinite(x) || !std::isfinite(y)) continue;
          a.push_back(x);
          b.push_back(y);
        }
        invocation.print(fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} |", metrics[i], metrics[j], pearson(a, b),
                                     spearman(a, b), kendall(a, b)));
      }
    }
  }

  // Quoted, as text forms contain commas.
  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
  }

  static void write_csv(const std::string& path, const Scorer& scorer, const std::vector<Genotype>& genotypes,
                        const std::vector<Scores>& scores) {
    std::string text = "arch," + join(scorer.metrics(), ",") + "\n";
    for (size_t i = 0; i < genotypes.size(); ++i) {
      const std::string key = ScoreCache::key(genotypes[i]);
      text += key.find_first_of(",\"") == std::string::npos ? key : quoted(key);
      for (const auto& metric : scorer.metrics()) text += fmt::format(",{}", scores[i].at(metric));
      text += '\n';
    }
    write_file(path, text);
  }

  std::string space_ = "nasbench201", search_, csv_;
  std::string against_, measure_ = "cifar10_test200";
  int tries_ = 300;
  bool all_ = false;
  int64_t sample_ = 0;
  ScoreOptions score_;
  NasiOptions nasi_;
  TeNasOptions te_nas_;
  TrainedSearchOptions trained_;
  NetworkOptions network_;
  DataOptions data_;
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "score", "scores architectures without training: gradients, tangent kernels and their kin",
                 [] { return std::make_unique<ScoreVerb>(); });

}  // namespace
}  // namespace nascent
