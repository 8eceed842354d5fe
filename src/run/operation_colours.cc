#include "nascent/run/operation_colours.h"

#include "nascent/core/error.h"
#include "nascent/run/plot.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

constexpr size_t kGrey = 7;  // for what does nothing

}  // namespace

OperationColours::OperationColours(const std::vector<std::string>& ops) {
  for (const auto& op : ops) of(op);
}

size_t OperationColours::of(const std::string& op) {
  if (op == "none") return kGrey;
  const auto [known, is_new] = places_.emplace(op, 0);
  if (is_new) {
    if (next_ % kPlotColours == kGrey) ++next_;
    known->second = next_++ % kPlotColours;
  }
  return known->second;
}

OperationColours colours_of_space(const std::string& space) {
  try {
    return OperationColours(find_space(space)->ops());
  } catch (const Error&) {
    return OperationColours({});
  }
}

}  // namespace nascent
