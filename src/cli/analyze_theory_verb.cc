// nascent analyze theory: what the papers prove, checked by numbers.
#include <algorithm>
#include <cmath>

#include "nascent/analysis/theory.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/nn/threads.h"
#include "nascent/run/picture_files.h"
#include "nascent/run/plot_picture.h"

namespace nascent {
namespace {

class AnalyzeTheoryVerb : public Verb {
 public:
  std::string arguments() const override { return "[NAME...]"; }

  void declare(OptionTable& table) override {
    auto section = table.section("theory", "Which theories are checked, and how thoroughly. Known: " +
                                               join(Theory::Registry::instance().names(), ", ") + ".");
    section.add("draws", draws_, "number of random problems; expensive theories use fewer").range(1, 1000000);
    section.add("seed", seed_, "of the draws").at_least(0);
    section.add("out", out_, "folder for a table (.csv) and pictures (.svg, .png) of each theory");
    table.section("run", "Where and how a run happens.")
        .add("threads", threads_, "number of compute threads; 0: one per core")
        .range(0, 1024);
  }

  Json run(const Invocation& invocation) override {
    use_threads(threads_);
    std::vector<std::string> names = invocation.arguments;
    if (names.empty()) names = Theory::Registry::instance().names();
    for (const std::string& name : names) Theory::Registry::instance().at(name);
    Json results = Json::object();
    for (const std::string& name : names) {
      const TheoryResult result =
          Theory::Registry::instance().make(name, TheoryOptions{draws_, static_cast<uint64_t>(seed_)});
      results[name] = report(invocation, name, result);
      if (!out_.empty()) write(name, result);
    }
    return results;
  }

 private:
  static Json report(const Invocation& invocation, const std::string& name, const TheoryResult& result) {
    Json claims = Json::array();
    invocation.print(fmt::format("{}: {}.", name, result.statement));
    for (const TheoryClaim& claim : result.claims) {
      const int64_t held = claim.held(), draws = static_cast<int64_t>(claim.samples.size());
      // Against 0 there is no ratio.
      const double ratio = claim.median_ratio();
      invocation.print(fmt::format(
          "  {:<52} held in {:>6} of {:<6} {:<16} {}", claim.name, held, draws,
          held == draws  ? ""
          : claim.proven ? "BROKEN"
                         : "(not always)",
          std::isfinite(ratio) ? fmt::format("{} / {}: {:.3g} in the middle", claim.left, claim.right, ratio) : ""));
      claims.push_back({{"claim", claim.name},
                        {"held", held},
                        {"draws", draws},
                        {"proven", claim.proven},
                        {"median_ratio", std::isfinite(claim.median_ratio()) ? Json(claim.median_ratio()) : Json()}});
    }
    for (const std::string& note : result.notes) invocation.print("  " + note);
    return {{"statement", result.statement}, {"claims", claims}, {"notes", result.notes}, {"numbers", result.numbers}};
  }

  void write(const std::string& name, const TheoryResult& result) const {
    const std::filesystem::path folder(out_);
    std::filesystem::create_directories(folder);
    write_file(folder / (name + ".csv"), theory_csv(result));
    const FigurePanel ratios = ratio_panel(result);
    const auto drawable = [](const Curve& curve) { return curve.points.size() > 1; };
    if (std::any_of(ratios.plot.curves.begin(), ratios.plot.curves.end(), drawable))
      write_picture(folder / name, std::vector{ratios});
    std::vector<FigurePanel> panels = result.panels;
    for (size_t i = 0; i < panels.size(); ++i) {
      panels[i].plot.whole = false;
      const std::string file = i == 0 ? name + "-curves.csv" : fmt::format("{}-curves-{}.csv", name, i + 1);
      write_file(folder / file, curves_csv(panels[i].plot, panels[i].x, panels[i].y));
    }
    if (!panels.empty()) write_picture(folder / (name + "-curves"), panels);
  }

  int draws_ = 300, threads_ = 0;
  int64_t seed_ = 1;
  std::string out_;
};

NASCENT_REGISTER(Verb, "analyze theory", "checks the papers' theorems numerically",
                 [] { return std::make_unique<AnalyzeTheoryVerb>(); });

}  // namespace
}  // namespace nascent
