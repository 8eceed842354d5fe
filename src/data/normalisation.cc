#include "nascent/data/normalisation.h"

#include "nascent/core/error.h"
#include "nascent/data/transform.h"

namespace nascent {

ChannelStatistics normalisation_of(const std::vector<std::string>& transforms, const ChannelStatistics& statistics,
                                   int channels) {
  ChannelStatistics result = statistics;
  for (const auto& text : transforms) {
    const TransformSpec spec = TransformSpec::parse(text);
    if (spec.name != "normalise" || spec.numbers.empty()) continue;
    const auto middle = spec.numbers.begin() + static_cast<ptrdiff_t>(spec.numbers.size() / 2);
    result = {{spec.numbers.begin(), middle}, {middle, spec.numbers.end()}};
  }
  if (result.mean.size() == 1 && result.deviation.size() == 1) {
    result = {std::vector<double>(channels, result.mean[0]), std::vector<double>(channels, result.deviation[0])};
  }
  if (static_cast<int>(result.mean.size()) != channels || result.deviation.size() != result.mean.size()) {
    fail("Images of {} channels are normalised by {} means and {} deviations.", channels, result.mean.size(),
         result.deviation.size());
  }
  for (double& deviation : result.deviation) deviation = deviation > 1e-8 ? deviation : 1;  // as "normalise" does
  return result;
}

}  // namespace nascent
