// nascent analyze rank: how well estimates rank architectures.
#include <cmath>

#include "nascent/analysis/rank_analysis.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class AnalyzeRankVerb : public Verb {
 public:
  std::string arguments() const override { return "[FILE.csv]"; }
  void declare(OptionTable& table) override { options_.declare(table); }

  Json run(const Invocation& invocation) override {
    options_.file = invocation.argument("CSV file", false);
    const RankAnalysis analysis = analyse_rank(options_);
    for (const RankAgreement& found : analysis.agreement) print(invocation, found);
    return analysis.to_json();
  }

 private:
  void print(const Invocation& invocation, const RankAgreement& found) const {
    invocation.print(
        fmt::format("{:<24} {:>6} architectures: Spearman {}, Pearson {}, Kendall {}, best {:g} %: {:.0f} % agree, "
                    "{:.0f} % by chance (p {:.3g})",
                    found.estimate, found.architectures, correlation_text(found.spearman, found.spearman_p),
                    correlation_text(found.pearson, found.pearson_p), correlation_text(found.kendall, found.kendall_p),
                    100 * options_.rank.share, 100 * found.agreement, 100 * found.agreement_chance, found.agreement_p));
  }

  static std::string correlation_text(double correlation, double p) {
    return std::isfinite(correlation) ? fmt::format("{:>6.3f} (p {:.3g})", correlation, p) : "undefined";
  }

  RankAnalysisOptions options_;
};

NASCENT_REGISTER(Verb, "analyze rank", "measures how well estimates rank architectures",
                 [] { return std::make_unique<AnalyzeRankVerb>(); });

}  // namespace
}  // namespace nascent
