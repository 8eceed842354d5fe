// nascent score: training-free scores of one architecture, of some, or of a whole space.
#include <sys/resource.h>

#include <chrono>

#include "cli/verb.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "nn/threads.h"
#include "score/scorer.h"

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

  void declare(OptionTable& table) override {
    auto section = table.section("score", "Training-free scores of architectures.");
    section.add("space", space_, "space of --all and --sample, by name or from a .toml file");
    section.add("all", all_, "score every architecture of the space");
    section.add("sample", sample_, "score so many architectures, drawn at random").range(0, 1e9);
    section.add("csv", csv_, "write the scores to this file, one architecture per line");
    score_.declare(table);
    network_.declare(table);
    data_.declare(table);
    auto run = table.section("run", "Where and how a run happens.");
    run.add("seed", seed_, "of the weights, the batch and the sampling").at_least(0);
    run.add("threads", threads_, "threads that compute; 0: one per core").range(0, 1024);
  }

  Json run(const Invocation& invocation) override {
    const std::vector<Genotype> genotypes = find_genotypes(invocation);
    const auto space = find_space(genotypes.empty() || from_space() ? space_ : genotypes[0].space);
    use_threads(threads_);
    const ImageData data(data_, seed());
    const int64_t images = std::max(data_.batch, score_.kappa_batch);
    Scorer scorer({.space = space,
                   .network = network_,
                   .images = scoring_batch(data, images, seed()),
                   .batch = data_.batch,
                   .classes = data.classes(),
                   .seed = seed()},
                  score_);
    return genotypes.size() == 1 ? score_one(invocation, scorer, genotypes[0])
                                 : score_many(invocation, scorer, genotypes);
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(seed_); }
  bool from_space() const { return all_ || sample_ > 0; }

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

  Json score_one(const Invocation& invocation, Scorer& scorer, const Genotype& genotype) const {
    const Scores scores = scorer.scores(genotype);
    Json result = Json::object();
    for (const auto& metric : scorer.metrics()) {
      const std::string& meaning = Metric::Registry::instance().at(metric).description;
      invocation.print(fmt::format("{:<13} {:>14.6g}  {}", metric, scores.at(metric), meaning));
      result[metric] = json_number(scores.at(metric));
    }
    if (!csv_.empty()) write_csv(scorer, {genotype}, {scores});
    return result;
  }

  Json score_many(const Invocation& invocation, Scorer& scorer, const std::vector<Genotype>& genotypes) const {
    const auto start = std::chrono::steady_clock::now();
    const int64_t known = std::count_if(genotypes.begin(), genotypes.end(),
                                        [&](const Genotype& genotype) { return scorer.knows(genotype); });
    std::vector<Scores> scores;
    try {
      scores = score_all(scorer, genotypes, threads_);
    } catch (const Interrupted&) {
      log::info("Interrupted; what was scored is kept. The same command goes on from there.");
      throw;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto computed = static_cast<int64_t>(genotypes.size()) - known;
    if (!csv_.empty()) write_csv(scorer, genotypes, scores);
    invocation.print(fmt::format("{} architectures, {} of them known before; {:.1f} s, {:.1f} a second, {:.0f} MB",
                                 genotypes.size(), known, seconds, static_cast<double>(computed) / seconds,
                                 peak_megabytes()));
    for (const auto& path : scorer.cache_paths()) invocation.print(fmt::format("Cache:  {}", path.string()));
    if (!csv_.empty()) invocation.print(fmt::format("Scores: {}", csv_));
    if (csv_.empty()) print_best(invocation, scorer, genotypes, scores);
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
      const bool low = metric == "kappa";
      const auto best = std::max_element(scores.begin(), scores.end(), [&](const Scores& a, const Scores& b) {
        return low ? a.at(metric) > b.at(metric) : a.at(metric) < b.at(metric);
      });
      invocation.print(fmt::format("{} {:<13} {:>14.6g}  {}", low ? "lowest " : "highest", metric, best->at(metric),
                                   ScoreCache::key(genotypes[best - scores.begin()])));
    }
  }

  // Quoted, as text forms contain commas.
  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
  }

  void write_csv(const Scorer& scorer, const std::vector<Genotype>& genotypes,
                 const std::vector<Scores>& scores) const {
    std::string text = "arch," + join(scorer.metrics(), ",") + "\n";
    for (size_t i = 0; i < genotypes.size(); ++i) {
      const std::string key = ScoreCache::key(genotypes[i]);
      text += key.find_first_of(",\"") == std::string::npos ? key : quoted(key);
      for (const auto& metric : scorer.metrics()) text += fmt::format(",{}", scores[i].at(metric));
      text += '\n';
    }
    write_file(csv_, text);
  }

  std::string space_ = "nasbench201", csv_;
  bool all_ = false;
  int64_t sample_ = 0;
  ScoreOptions score_;
  NetworkOptions network_;
  DataOptions data_;
  int64_t seed_ = 1;
  int threads_ = 0;
};

NASCENT_REGISTER(Verb, "score", "scores architectures without training: gradients, tangent kernels and their kin",
                 [] { return std::make_unique<ScoreVerb>(); });

}  // namespace
}  // namespace nascent
