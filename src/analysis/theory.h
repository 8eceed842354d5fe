// What the papers prove, checked by numbers: each theory draws its problems at random, measures both sides of what is
// claimed, and counts how often it holds. One file per theory, registered at its foot.
//
//   const TheoryResult result = Theory::Registry::instance().make("lipschitz", TheoryOptions{.draws = 300});
//   for (const TheoryClaim& claim : result.claims) claim.held(), claim.samples.size();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/core/random.h"
#include "nascent/core/registry.h"
#include "nascent/run/figure.h"

namespace nascent {

struct TheoryOptions {
  int draws = 300;
  uint64_t seed = 1;
};

// One claim: `left` against `right` in every draw.
struct TheoryClaim {
  enum class Relation { at_most, at_least };
  struct Sample {
    double left = 0, right = 0;
  };

  std::string name{};           // "the mended bound"
  std::string left{}, right{};  // what the two numbers are: "measured", "bound"
  Relation relation = Relation::at_most;
  // What is to be expected: a claim that is proven must hold in every draw; of one that is not, the count is the news.
  bool proven = true;
  std::vector<Sample> samples{};

  void add(double left_value, double right_value) { samples.push_back({left_value, right_value}); }
  bool holds(const Sample& sample) const;
  int64_t held() const;
  // Left over right: the middle one of all draws.
  double median_ratio() const;
};

struct TheoryResult {
  std::string statement{};  // what is claimed, in a sentence, with its place in the paper
  std::vector<TheoryClaim> claims{};
  std::vector<FigurePanel> panels{};  // besides the picture of the claims
  std::vector<std::string> notes{};   // what else came out
  Json numbers = Json::object();      // the same for programs

  const TheoryClaim& claim(const std::string& name) const;
};

struct Theory {
  static std::string kind() { return "theory"; }
  using Registry = nascent::Registry<Theory, TheoryResult(const TheoryOptions&)>;
};

// How left over right is spread over the draws, one curve a claim: log10 of the ratio by the share of draws below.
FigurePanel ratio_panel(const TheoryResult& result);
// One line per claim and draw.
std::string theory_csv(const TheoryResult& result);

}  // namespace nascent
