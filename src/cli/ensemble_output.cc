#include "nascent/cli/ensemble_output.h"

#include <array>
#include <utility>

#include "nascent/core/text.h"

namespace nascent {
namespace {

struct Line {
  const char* key;
  const char* name;
  const char* unit;
  int digits;
};

constexpr std::array<Line, 12> kLines = {{{"error", "ensemble error", " %", 2},
                                          {"average_error", "average error of a member (ATE)", " %", 2},
                                          {"disagreement", "pairwise disagreement (PPD)", " %", 2},
                                          {"diversity", "PPD over ATE", "", 3},
                                          {"oracle_error", "no member right", " %", 2},
                                          {"top5_error", "top-5 error", " %", 2},
                                          {"loss", "negative log-likelihood", "", 4},
                                          {"average_loss", "mean of the members' own", "", 4},
                                          {"brier", "Brier score", "", 4},
                                          {"calibration_error", "calibration error (ECE)", "", 4},
                                          {"entropy", "predictive entropy", "", 4},
                                          {"mutual_information", "mutual information", "", 4}}};

}  // namespace

void print_members(const Invocation& invocation, const std::vector<Genotype>& members) {
  for (size_t i = 0; i < members.size(); ++i) {
    if (i > 0 && members[i] == members[i - 1]) {
      invocation.print(fmt::format("Member {}: the same cell", i + 1));
      continue;
    }
    invocation.print(fmt::format("Member {}:\n{}", i + 1, describe(members[i])));
  }
}

void print_trained_members(const Invocation& invocation, const Json& result) {
  std::vector<Genotype> members;
  for (const Json& cell : result.at("cells")) members.push_back(parse_genotype(cell.dump(), "json"));
  print_members(invocation, members);
  const auto size = [](const std::string& name, const Json& of) {
    return fmt::format("  {:<10} {:>8} parameters  {:>8} multiply-adds", name,
                       engineering(of.at("parameters").get<int64_t>()),
                       engineering(of.at("multiply_adds").get<int64_t>()));
  };
  const Json& sizes = result.at("sizes");
  for (size_t i = 0; i < sizes.size(); ++i) invocation.print(size(fmt::format("Member {}", i + 1), sizes[i]));
  invocation.print(size("Ensemble", result));
}

void print_figures(const Invocation& invocation, const Json& figures) {
  for (const Line& line : kLines) {
    invocation.print(
        fmt::format("  {:<34} {:>9.{}f}{}", line.name, figures.at(line.key).get<double>(), line.digits, line.unit));
  }
}

void print_trials(const Invocation& invocation, const Json& mean) {
  for (const Line& line : kLines) {
    const Json& figure = mean.at(line.key);
    invocation.print(fmt::format("  {:<34} {:>9.{}f} +- {:.{}f}{}", line.name, figure.at("mean").get<double>(),
                                 line.digits, figure.at("standard_error").get<double>(), line.digits, line.unit));
  }
}

void print_evaluation(const Invocation& invocation, const Json& result) {
  if (result.contains("calibrated")) {
    const Json& after = result.at("calibrated");
    std::string temperatures;
    for (const Json& temperature : after.at("temperatures"))
      temperatures += fmt::format("{}{:.3f}", temperatures.empty() ? "" : ", ", temperature.get<double>());
    invocation.print(fmt::format("Calibrated (temperatures {}): negative log-likelihood {:.4f}, ECE {:.4f}",
                                 temperatures, after.at("loss").get<double>(),
                                 after.at("calibration_error").get<double>()));
  }
  if (result.contains("curve")) {
    invocation.print("  members  subsets      error       loss");
    for (const Json& point : result.at("curve")) {
      invocation.print(fmt::format("  {:>7}  {:>7}  {:>7.2f} %  {:>9.4f}", point.at("members").get<int>(),
                                   point.at("subsets").get<int64_t>(), point.at("error").get<double>(),
                                   point.at("loss").get<double>()));
    }
  }
  if (result.contains("corrupted")) {
    invocation.print("  error by severity           1        2        3        4        5");
    for (const auto& [name, severities] : result.at("corrupted").items()) {
      std::string line = fmt::format("  {:<20}", name);
      for (const Json& point : severities) line += fmt::format("  {:>5.2f} %", point.at("error").get<double>());
      invocation.print(line);
    }
  }
}

}  // namespace nascent
