// nascent analyze compare: what the rows of an experiment show.
#include "nascent/analysis/row_comparison.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class AnalyzeCompareVerb : public Verb {
 public:
  std::string arguments() const override { return "FILE.csv"; }
  void declare(OptionTable& table) override { options_.declare(table); }

  Json run(const Invocation& invocation) override {
    options_.file = invocation.argument("CSV file");
    const RowComparison comparison = compare_rows(options_);
    if (options_.check.empty()) {
      for (const ComparedRow& row : comparison.rows) invocation.print(sentence(row));
    }
    for (const CheckedRun& run : comparison.checked) invocation.print(sentence(run));
    return comparison.to_json();
  }

 private:
  std::string sentence(const ComparedRow& found) const {
    std::string text =
        fmt::format("{:<28} {:>4} runs: {:.4g}", found.row.name, found.row.runs.size(), found.mean.middle);
    if (found.row.runs.size() > 1) {
      text += fmt::format(" ({:.4g} to {:.4g}), deviation {:.3g}", found.mean.low, found.mean.high, found.deviation);
    }
    if (!found.against) return text;
    const RowDifference& against = *found.against;
    return text + fmt::format("; {:+.3g} ({:+.3g} to {:+.3g}) against {}, p {:.3g}, Holm {:.3g} ({}); {}",
                              against.difference.middle, against.difference.low, against.difference.high,
                              options_.reference, against.p, against.p_holm, against.paired ? "paired" : "unpaired",
                              std::isfinite(against.detectable)
                                  ? fmt::format("could have seen {:.3g}", against.detectable)
                                  : "too few runs to see any difference");
  }

  static std::string sentence(const CheckedRun& run) {
    const std::string where = run.same()      ? "the same as before"
                              : !run.judged() ? "one run gives nothing to expect"
                              : run.inside()  ? "inside"
                              : run.before    ? "OUTSIDE, and not what this seed gave"
                                              : "OUTSIDE";
    return fmt::format("{:<28} seed {}: {:.4g}{}{}: {}", run.row, run.seed, run.value,
                       run.before ? fmt::format(" (before: {:.4g})", *run.before) : "", expectation(run), where);
  }

  static std::string expectation(const CheckedRun& run) {
    if (!std::isfinite(run.expected.low)) return "";
    return fmt::format(", expected {:.4g} to {:.4g}", run.expected.low, run.expected.high);
  }

  RowComparisonOptions options_;
};

NASCENT_REGISTER(Verb, "analyze compare", "compares rows of runs: intervals, tests, differences that could be seen",
                 [] { return std::make_unique<AnalyzeCompareVerb>(); });

}  // namespace
}  // namespace nascent
