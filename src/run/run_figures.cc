#include "nascent/run/run_figures.h"

#include <algorithm>

namespace nascent {
namespace {

void add_numbers(const Json& json, const std::string& prefix, std::vector<std::pair<std::string, double>>& numbers) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) add_numbers(value, prefix + key + ".", numbers);
    if (value.is_number()) numbers.emplace_back(prefix + key, value.get<double>());
  }
}

}  // namespace

std::vector<std::pair<std::string, double>> result_numbers(const Json& result) {
  std::vector<std::pair<std::string, double>> numbers;
  if (result.is_object()) add_numbers(result, "", numbers);
  return numbers;
}

std::optional<RunFigure> run_figure(const Json& result) {
  static const std::vector<std::pair<std::string, std::string>> kKnown = {
      {"test_top1", "Test accuracy"}, {"valid_top1", "Validation accuracy"}, {"top1", "Accuracy"}};
  const auto numbers = result_numbers(result);
  for (const auto& [name, label] : kKnown) {
    const auto found = std::find_if(numbers.begin(), numbers.end(), [&name = name](const auto& number) {
      return number.first == name || number.first.ends_with("." + name);
    });
    if (found != numbers.end()) return RunFigure{found->first, label, found->second};
  }
  return std::nullopt;
}

}  // namespace nascent
