// nascent ensemble particles: SVGD-RD on the two Gaussians of the thesis's Fig. 5.2.
#include "nascent/cli/verb.h"
#include "nascent/ensemble/two_gaussians.h"

namespace nascent {
namespace {

class EnsembleParticlesVerb : public Verb {
 public:
  void declare(OptionTable& table) override {
    auto section = table.section("particles", "Particles on a density that can be looked at.");
    section.add("deltas", deltas_, "diversity coefficients, one panel for each");
    section.add("particles", particles_, "how many").range(1, 1000);
    section.add("seeds", seeds_, "number of random starts to average over").range(1, 1000);
    section.add("iterations", iterations_, "number of steps").range(0, 1e7);
    section.add("step", step_, "step size").range(1e-9, 1e6);
    section.add("particle-momentum", momentum_, "momentum of the particles").range(0, 1);
    section.add(
        "svg", svg_,
        "plot the particles of the first seed to this .svg file, with PNGs and a .csv file beside it; empty: no "
        "plot");
  }

  Json run(const Invocation& invocation) override {
    Json rows = Json::array();
    std::vector<ParticleSpread> spreads;
    invocation.print(fmt::format("{:>6}  {:>14}  {:>13}  {:>24}", "delta", "mean", "pair distance", "covariance"));
    for (const double delta : deltas_) {
      spreads.push_back(spread_on_two_gaussians(
          {.delta = delta, .iterations = iterations_, .step = step_, .momentum = momentum_}, particles_, seeds_));
      const ParticleSpread& s = spreads.back();
      invocation.print(fmt::format("{:>6g}  {:>6.2f}, {:>6.2f}  {:>13.3f}  {:>7.2f} {:>7.2f} {:>7.2f}", delta, s.mean_x,
                                   s.mean_y, s.distance, s.xx, s.xy, s.yy));
      rows.push_back({{"delta", delta},
                      {"mean", {s.mean_x, s.mean_y}},
                      {"distance", s.distance},
                      {"covariance", {s.xx, s.xy, s.yy}},
                      {"particles", s.particles}});
    }
    if (!svg_.empty()) write_spreads(svg_.ends_with(".svg") ? svg_.substr(0, svg_.size() - 4) : svg_, spreads);
    return {{"spreads", rows}};
  }

 private:
  std::vector<double> deltas_ = {-1, -0.5, 0, 0.5, 1};
  int particles_ = 15, seeds_ = 5, iterations_ = 1000;
  double step_ = 0.1, momentum_ = 0;
  std::string svg_;
};

NASCENT_REGISTER(Verb, "ensemble particles", "runs SVGD-RD on two Gaussians to show how diversity grows with delta",
                 [] { return std::make_unique<EnsembleParticlesVerb>(); });

}  // namespace
}  // namespace nascent
