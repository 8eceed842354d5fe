#include "nascent/run/collapse_section.h"

#include <fmt/format.h>

#include "nascent/run/html.h"

namespace nascent {

std::string collapse_notice(const std::vector<Event>& collapses, int64_t epochs) {
  if (collapses.empty()) return "";
  const Event& last = collapses.back();
  const std::string what = html::escape(last.values.value("text", ""));
  if (last.epoch + 1 < epochs) {
    return fmt::format("<p class=\"notice\">The search had collapsed at epoch {} ({}), and recovered.</p>\n",
                       last.epoch + 1, what);
  }
  // The beginning of the last unbroken row of collapsed epochs.
  size_t first = collapses.size() - 1;
  while (first > 0 && collapses[first - 1].epoch == collapses[first].epoch - 1) --first;
  return fmt::format("<p class=\"notice failed\">The search has collapsed: since epoch {}, {}.</p>\n",
                     collapses[first].epoch + 1, what);
}

}  // namespace nascent
