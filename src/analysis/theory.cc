#include "nascent/analysis/theory.h"

#include <algorithm>
#include <cmath>

namespace nascent {
namespace {

std::vector<double> sorted_ratios(const TheoryClaim& claim) {
  std::vector<double> ratios;
  for (const TheoryClaim::Sample& sample : claim.samples) {
    const double ratio = sample.left / sample.right;
    if (std::isfinite(ratio)) ratios.push_back(ratio);
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios;
}

}  // namespace

bool TheoryClaim::holds(const Sample& sample) const {
  const double slack = 1e-9 * std::max(std::abs(sample.left), std::abs(sample.right));
  if (relation == Relation::at_most) return sample.left <= sample.right + slack;
  return sample.left >= sample.right - slack;
}

int64_t TheoryClaim::held() const {
  return std::count_if(samples.begin(), samples.end(), [&](const Sample& sample) { return holds(sample); });
}

double TheoryClaim::median_ratio() const {
  const std::vector<double> ratios = sorted_ratios(*this);
  return ratios.empty() ? NAN : ratios[ratios.size() / 2];
}

const TheoryClaim& TheoryResult::claim(const std::string& name) const {
  std::vector<std::string> names;
  for (const TheoryClaim& claim : claims) {
    if (claim.name == name) return claim;
    names.push_back(claim.name);
  }
  fail("There is no claim '{}'. There are: {}.", name, join(names, ", "));
}

FigurePanel ratio_panel(const TheoryResult& result) {
  FigurePanel panel{"Left over right", "share of draws (%)", "log10 of the ratio", {}};
  panel.plot.width = 460;
  panel.plot.height = 260;
  for (const TheoryClaim& claim : result.claims) {
    Curve curve{claim.name, {}};
    const std::vector<double> ratios = sorted_ratios(claim);
    for (size_t i = 0; i < ratios.size(); ++i) {
      if (ratios[i] <= 0) continue;
      curve.points.emplace_back(100.0 * static_cast<double>(i + 1) / static_cast<double>(ratios.size()),
                                std::log10(ratios[i]));
    }
    curve.points = thinned(curve.points, 200);
    panel.plot.curves.push_back(std::move(curve));
  }
  return panel;
}

std::string theory_csv(const TheoryResult& result) {
  std::string text = "claim,draw,left,relation,right,holds\n";
  for (const TheoryClaim& claim : result.claims) {
    const char* relation = claim.relation == TheoryClaim::Relation::at_most ? "<=" : ">=";
    for (size_t i = 0; i < claim.samples.size(); ++i) {
      const TheoryClaim::Sample& sample = claim.samples[i];
      text += fmt::format("\"{}\",{},{:.9g},{},{:.9g},{}\n", claim.name, i, sample.left, relation, sample.right,
                          claim.holds(sample) ? 1 : 0);
    }
  }
  return text;
}

}  // namespace nascent
