// nascent score: training-free scores of one architecture, of some, or of a whole space.
#include <sys/resource.h>

#include <algorithm>

#include "nascent/cli/score_output.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/score/scoring.h"

namespace nascent {
namespace {

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

class ScoreVerb : public Verb {
 public:
  std::string arguments() const override { return "[GENOTYPE...]"; }
  bool spreads() const override { return true; }

  void declare(OptionTable& table) override {
    auto section = table.section("score", "Training-free scores of architectures.");
    section.add("csv", csv_, "write the scores to this file, one architecture per line");
    section.add("against", agreement_.table,
                "benchmark table ('nascent table import'): print how the scores agree with its test errors; its "
                "architectures are scored where no others are named");
    section.add("measure", agreement_.measure, "accuracy of that table, such as cifar10_test200");
    section.add("bound-tries", agreement_.tries, "pairs (mu, nu) tried for the non-realisable bound").range(1, 100000);
    options_.declare(table);
  }

  Json run(const Invocation& invocation) override {
    options_.genotypes = invocation.arguments;
    if (options_.genotypes.empty() && !options_.all && options_.sample == 0 && !agreement_.table.empty()) {
      options_.table = agreement_.table;
    }
    const ScoringResult result = scored();
    if (!csv_.empty()) write_scores(csv_, result.genotypes, result.scores);
    if (result.genotypes.size() == 1) return print_one(invocation, result);
    invocation.print(fmt::format("{} architectures, {} of them known before; {:.1f} s, {:.1f} a second, {:.0f} MB",
                                 result.genotypes.size(),
                                 static_cast<int64_t>(result.genotypes.size()) - result.computed, result.seconds,
                                 static_cast<double>(result.computed) / result.seconds, peak_megabytes()));
    for (const auto& path : result.caches) invocation.print(fmt::format("Cache:  {}", path.string()));
    if (!csv_.empty()) invocation.print(fmt::format("Scores: {}", csv_));
    if (csv_.empty() && agreement_.table.empty()) {
      print_all(invocation, result);
      print_best(invocation, result);
    }
    if (!agreement_.table.empty()) print_agreement(invocation, result, agreement_, options_.run.seed);
    Json json = result.to_json();
    json["peak_megabytes"] = peak_megabytes();
    if (!csv_.empty()) json["csv"] = csv_;
    return json;
  }

 private:
  ScoringResult scored() const {
    try {
      return score(options_);
    } catch (const Interrupted&) {
      log::info("Interrupted; the scores so far are kept. Run the same command again to resume.");
      throw;
    }
  }

  ScoringOptions options_;
  AgreementOptions agreement_;
  std::string csv_;
};

NASCENT_REGISTER(Verb, "score", "computes training-free metrics of architectures",
                 [] { return std::make_unique<ScoreVerb>(); });

}  // namespace
}  // namespace nascent
