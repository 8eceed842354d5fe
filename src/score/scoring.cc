#include "nascent/score/scoring.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "nascent/cluster/ranks.h"
#include "nascent/core/csv_field.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/nn/threads.h"
#include "nascent/space/genotype_space.h"

namespace nascent {

void ScoringOptions::declare(OptionTable& table) {
  auto section = table.section("score", "Training-free scores of architectures.");
  section.add("space", space, "space for --all and --sample, a name or a .toml file");
  section.add("all", all, "score every architecture of the space");
  section.add("sample", sample, "score this many architectures, sampled at random").range(0, 1e9);
  score.declare(table);
  network.declare(table);
  data.declare(table);
  run.declare_computing(table);
}

namespace {

// Numbers that JSON has no word for become text.
Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

struct Task {
  std::shared_ptr<const Space> space;
  Architectures genotypes;
};

Task task_of(const ScoringOptions& options) {
  const int ways = (options.all ? 1 : 0) + (options.sample > 0 ? 1 : 0) + (options.genotypes.empty() ? 0 : 1) +
                   (options.table.empty() ? 0 : 1);
  if (ways != 1) {
    fail(
        "nascent score: name architectures, as in 'nascent score darts-v2', or give --all or --sample N with "
        "--space; found {} of these.",
        ways == 0 ? "none" : "several");
  }
  if (!options.table.empty()) {
    const auto table = std::make_shared<const BenchmarkTable>(options.table);
    return {table->space(), Architectures::of_table(table)};
  }
  if (options.genotypes.empty()) {
    const auto space = find_space(options.space);
    return {space, options.all ? Architectures::all(space)
                               : Architectures::sample(space, options.sample, static_cast<uint64_t>(options.run.seed))};
  }
  std::vector<Genotype> list;
  for (const auto& name : options.genotypes) {
    list.push_back(find_genotype(name));
    if (list.back().space == list[0].space) continue;
    fail("nascent score: '{}' is of space '{}' and '{}' of '{}'; score them one space at a time.", options.genotypes[0],
         list[0].space, name, list.back().space);
  }
  return {space_of_genotype(options.genotypes[0]), std::move(list)};
}

// Scores pieces of the same work on another rank. Only rank 0 keeps what it finds.
class ScoringHelper : public cluster::Helper {
 public:
  explicit ScoringHelper(const Json& opening)
      : options_(options_from(opening)),
        task_(task_of(options_)),
        data_(options_.data, static_cast<uint64_t>(options_.run.seed)),
        scorer_(scorer_setup(task_.space, options_.network, options_.score, data_, options_.data.batch,
                             static_cast<uint64_t>(options_.run.seed)),
                options_.score),
        pieces_(scoring_helper(scorer_, task_.genotypes)) {
    use_threads(1);
  }

  std::string digest() const override { return pieces_->digest(); }
  std::string piece(const cluster::Work& work) override { return pieces_->piece(work); }
  void start_thread() override { pieces_->start_thread(); }

 private:
  static ScoringOptions options_from(const Json& opening) {
    ScoringOptions options;
    OptionTable table;
    options.declare(table);
    table.read_toml(opening.at("options").get<std::string>(), "rank 0");
    options.genotypes = opening.at("genotypes").get<std::vector<std::string>>();
    options.table = opening.at("table").get<std::string>();
    options.score.cache = "none";
    options.run.apply();
    return options;
  }

  ScoringOptions options_;
  Task task_;
  ImageData data_;
  Scorer scorer_;
  std::unique_ptr<cluster::Helper> pieces_;
};

NASCENT_REGISTER(cluster::Helper, "score", "training-free scores of architectures",
                 [](const Json& opening) { return std::make_unique<ScoringHelper>(opening); });

ScoringHelp help_for(ScoringOptions options, const Scorer& scorer) {
  OptionTable table;
  options.declare(table);
  const auto caches = scorer.cache_paths();
  return {.opening = {{"options", table.to_toml()},
                      {"genotypes", options.genotypes},
                      {"table", options.table},
                      {"threads", options.run.threads}},
          .log = caches.empty() ? "" : caches[0].string() + "."};
}

}  // namespace

Json ScoringResult::to_json() const {
  Json json = {{"architectures", genotypes.size()}, {"computed", computed}, {"seconds", seconds}};
  constexpr size_t kMost = 100'000;
  for (size_t i = 0; genotypes.size() <= kMost && i < genotypes.size(); ++i) {
    Json entry = {{"architecture", ScoreCache::key(genotypes[i])}};
    for (const auto& metric : metrics) entry[metric] = json_number(scores.column(metric)[i]);
    json["scores"].push_back(std::move(entry));
  }
  return json;
}

ScoringResult score(const ScoringOptions& options) {
  options.run.apply();
  Task task = task_of(options);
  const auto seed = static_cast<uint64_t>(options.run.seed);
  const ImageData data(options.data, seed);
  Scorer scorer(scorer_setup(task.space, options.network, options.score, data, options.data.batch, seed),
                options.score);
  cluster::require_work(static_cast<int64_t>(task.genotypes.size()), "architectures");
  const auto start = std::chrono::steady_clock::now();
  ScoringResult result;
  result.metrics = scorer.metrics();
  if (task.genotypes.size() == 1) {
    result.computed = scorer.knows(task.genotypes[0]) ? 0 : 1;
    result.scores = ScoreColumns(scorer.metrics(), 1);
    result.scores.set(0, scorer.scores(task.genotypes[0]));
  } else {
    const ScoringHelp help = help_for(options, scorer);
    result.scores = score_all(scorer, task.genotypes, options.run.threads, &help, &result.computed);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.caches = scorer.cache_paths();
  result.genotypes = std::move(task.genotypes);
  return result;
}

ScorerSetup scorer_setup(const std::shared_ptr<const Space>& space, const NetworkOptions& network,
                         const ScoreOptions& options, const ImageData& data, int batch, uint64_t seed) {
  return {.space = space,
          .network = network,
          .images = scoring_batch(data, std::max(batch, options.kappa_batch), seed),
          .batch = batch,
          .classes = data.classes(),
          .seed = seed};
}

size_t best_by(const std::string& metric, const ScoreColumns& scores) {
  const bool low = Metric::Registry::instance().at(metric).facts.lower_is_better;
  const auto worse = [&](double a, double b) { return std::isnan(a) ? !std::isnan(b) : low ? a > b : a < b; };
  const std::vector<double>& values = scores.column(metric);
  return static_cast<size_t>(std::max_element(values.begin(), values.end(), worse) - values.begin());
}

void write_scores(const std::filesystem::path& path, const Architectures& architectures, const ScoreColumns& scores) {
  FileWriter file(path);
  file.add("arch," + join(scores.metrics(), ",") + "\n");
  for (size_t i = 0; i < architectures.size(); ++i) {
    std::string line = csv_field(ScoreCache::key(architectures[i]));
    for (const auto& metric : scores.metrics()) line += fmt::format(",{}", scores.column(metric)[i]);
    file.add(line + "\n");
  }
  file.finish();
}

}  // namespace nascent
