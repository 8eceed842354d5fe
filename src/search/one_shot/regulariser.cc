#include "nascent/search/one_shot/regulariser.h"

#include <ATen/ATen.h>

#include <charconv>

namespace nascent {
namespace {

double parse_number(const std::string& spec, const std::string& word) {
  double number = 0;
  const char* end = word.data() + word.size();
  const auto [rest, code] = std::from_chars(word.data(), end, number);
  if (code != std::errc() || rest != end) fail("Regulariser '{}': '{}' is not a number.", spec, word);
  return number;
}

}  // namespace

std::vector<std::unique_ptr<Regulariser>> make_regularisers(const std::vector<std::string>& specs, const Space& space,
                                                            const NetworkPlan& supernet) {
  std::vector<std::unique_ptr<Regulariser>> all;
  for (const auto& spec : specs) {
    std::vector<std::string> words = split(trim(spec), ' ');
    std::erase(words, "");
    if (words.size() < 2) fail("Regulariser '{}': expected a name and a strength, for example 'entropy 0.1'.", spec);
    RegulariserSetup setup{space, supernet, parse_number(spec, words[1]), {}};
    for (size_t i = 2; i < words.size(); ++i) setup.numbers.push_back(parse_number(spec, words[i]));
    all.push_back(Regulariser::Registry::instance().make(words[0], setup));
  }
  return all;
}

namespace {

// Pulls every site towards one candidate (or away, with a negative strength).
class EntropyRegulariser : public Regulariser {
 public:
  explicit EntropyRegulariser(double strength) : strength_(strength) {}

  at::Tensor penalty(const Mixture& probabilities) const override {
    at::Tensor sum = at::zeros({});
    for (const auto& [type, cell] : probabilities) sum = sum - (cell.ops * cell.ops.clamp_min(1e-12).log()).sum();
    return strength_ * sum;
  }

 private:
  double strength_;
};

NASCENT_REGISTER(Regulariser, "entropy", "sum over sites of the entropy of their probabilities",
                 [](const RegulariserSetup& setup) { return std::make_unique<EntropyRegulariser>(setup.strength); });

}  // namespace
}  // namespace nascent
