#include "nascent/table/measure.h"

#include <charconv>
#include <optional>

#include "nascent/core/error.h"

namespace nascent {

namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0 || number > 1'000'000'000)
    return std::nullopt;
  return number;
}

std::optional<Budget> budget_of(std::string_view text) {
  const size_t of = text.find("of");
  const auto epochs = whole_number(text.substr(0, of));
  const auto all = of == std::string_view::npos ? epochs : whole_number(text.substr(of + 2));
  if (!epochs || !all || *epochs < 1 || *epochs > *all) return std::nullopt;
  return Budget(static_cast<int>(*epochs), static_cast<int>(*all));
}

// Where "12" or "4of12" begins at the end of a quantity; its length where there is none.
size_t budget_start(std::string_view quantity) {
  const auto skip_digits = [&](size_t end) {
    while (end > 0 && quantity[end - 1] >= '0' && quantity[end - 1] <= '9') --end;
    return end;
  };
  const size_t start = skip_digits(quantity.size());
  if (start < quantity.size() && quantity.substr(0, start).ends_with("of")) {
    const size_t before = skip_digits(start - 2);
    if (before < start - 2) return before;
  }
  return start;
}

}  // namespace

std::string Budget::text() const { return whole() ? fmt::format("{}", of) : fmt::format("{}of{}", epochs, of); }

Budget parse_budget(const std::string& text) {
  const auto budget = budget_of(text);
  if (!budget) fail("'{}' is not a number of epochs such as 12, or 4of12 for 4 epochs of a schedule of 12.", text);
  return *budget;
}

std::string Measure::name() const {
  std::string name = data + "_" + quantity;
  if (budget.of > 0) name += budget.text();
  if (seed != kMeanOfSeeds) name += fmt::format("_seed{}", seed);
  return name;
}

bool Measure::is_robust_accuracy() const {
  for (const std::string_view norm : {"_linf_", "_l2_"}) {
    const size_t at = quantity.find(norm);
    if (at == std::string::npos || at == 0) continue;
    const std::string_view eps = std::string_view(quantity).substr(at + norm.size());
    double value = 0;
    const auto [end, problem] = std::from_chars(eps.data(), eps.data() + eps.size(), value);
    if (problem == std::errc() && end == eps.data() + eps.size() && value >= 0) return true;
  }
  return false;
}

Measure parse_measure(const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    fail(
        "'{}' does not name a quantity: {}. Names are DATASET_QUANTITY, then the epochs where they matter, then the "
        "seed where there is one: cifar10_valid12, cifar10_test200_seed777, cifar10_latency_ms_raspi4, "
        "cifar10_pgd_linf_0.1.",
        name, why);
  };
  const size_t bar = name.find('_');
  if (bar == std::string::npos || bar == 0 || bar + 1 == name.size()) refuse("a data set and a quantity were expected");
  Measure measure{.data = name.substr(0, bar), .quantity = name.substr(bar + 1)};
  if (const size_t at = measure.quantity.rfind("_seed"); at != std::string::npos) {
    const auto seed = whole_number(std::string_view(measure.quantity).substr(at + 5));
    if (!seed) refuse("its seed is not a number");
    measure.seed = *seed;
    measure.quantity.resize(at);
  }
  if (measure.quantity.starts_with("latency")) return measure;  // devices have names that end in digits
  if (measure.is_robust_accuracy()) return measure;
  const size_t start = budget_start(measure.quantity);
  if (start < measure.quantity.size()) {
    const auto budget = budget_of(std::string_view(measure.quantity).substr(start));
    if (!budget) refuse("its epochs are not possible");
    measure.budget = *budget;
    measure.quantity.resize(start);
  }
  if (measure.quantity.empty() || measure.quantity.ends_with("_")) refuse("there is no quantity before the epochs");
  if (measure.is_accuracy() && measure.budget.of == 0) refuse("an accuracy needs the number of epochs");
  return measure;
}

}  // namespace nascent
