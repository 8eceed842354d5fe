// A campaign's result in words.
#include "nascent/attack/campaign.h"

namespace nascent {
namespace {

constexpr size_t kMostLines = 20;

std::string eps_text(const Json& entry) {
  return entry.contains("eps") ? fmt::format("{:.5g}", entry["eps"].get<double>()) : "any";
}

double number(const Json& entry, const char* key) { return entry.at(key).get<double>(); }

std::string parts_text(const Json& parts) {
  std::vector<std::string> words;
  for (const auto& [name, fooled] : parts.items()) words.push_back(fmt::format("{} {}", name, fooled.get<int64_t>()));
  return join(words, ", ");
}

void add_curve(const Json& result, std::vector<std::string>& lines) {
  const bool aimed = result.contains("target");
  lines.push_back(fmt::format("{:>10}  {:>12}  {}", "eps", aimed ? "resisted" : "accuracy", "images that hold"));
  for (const auto& point : result["curve"]) {
    std::string line = fmt::format("{:>10}  {:>10.2f} %  {} of {}", eps_text(point), number(point, "robust_top1"),
                                   point["robust"].get<int64_t>(), point["images"].get<int64_t>());
    if (point.contains("parts")) line += "; fooled by " + parts_text(point["parts"]);
    if (point.contains("answers_right_top1"))
      line += fmt::format("; {:.2f} % answered rightly", number(point, "answers_right_top1"));
    lines.push_back(line);
  }
}

std::string summary(const Json& result) {
  const std::string what =
      fmt::format("{} ({}, {}): accuracy {:.2f} % of {} clean images", result["attack"].get<std::string>(),
                  result["norm"].get<std::string>(), result["units"].get<std::string>(), number(result, "clean_top1"),
                  result["images"].get<int64_t>());
  const double held = number(result, "robust_top1");
  if (!result.contains("target")) return fmt::format("{}, {:.2f} % under attack", what, held);
  return fmt::format("{}; {:.2f} % reach the target '{}'", what, 100 - held, result["target"].get<std::string>());
}

void add_defence(const Json& result, std::vector<std::string>& lines) {
  lines.emplace_back("One member attacked, all answer (mean and deviation over members):");
  for (const auto& entry : result["defence"]) {
    lines.push_back(fmt::format("{:>10}  attacked {:.2f} ± {:.2f} %, ensemble {:.2f} ± {:.2f} %; all known {:.2f} %",
                                eps_text(entry), number(entry["attack"], "mean"), number(entry["attack"], "deviation"),
                                number(entry["defence"], "mean"), number(entry["defence"], "deviation"),
                                number(entry, "all_known_top1")));
  }
}

void add_transfer(const Json& matrix, std::vector<std::string>& lines) {
  lines.push_back(fmt::format("Accuracy on what was made on (rows), judged by (columns), eps {}:", eps_text(matrix)));
  std::string header = fmt::format("{:>20}", "");
  for (const auto& name : matrix["judged_by"]) header += fmt::format("{:>20}", name.get<std::string>());
  lines.push_back(header);
  for (size_t row = 0; row < matrix["top1"].size(); ++row) {
    std::string line = fmt::format("{:>20}", matrix["made_on"][row].get<std::string>());
    for (const auto& value : matrix["top1"][row]) line += fmt::format("{:>20.2f}", value.get<double>());
    lines.push_back(line);
  }
}

}  // namespace

std::vector<std::string> describe_result(const Json& result) {
  std::vector<std::string> lines = {summary(result)};
  if (result.contains("minimal")) {
    const Json& found = result["minimal"];
    lines.push_back(fmt::format("Nearest adversarial images: {} of {} found, median distance {}",
                                found["found"].get<int64_t>(), found["attacked"].get<int64_t>(),
                                found["median_norm"].is_null() ? std::string("beyond what was found")
                                                               : fmt::format("{:.4g}", number(found, "median_norm"))));
  }
  // Of the nearest images the curve has many points; the report draws it.
  if (result["curve"].size() <= kMostLines) add_curve(result, lines);
  if (result.contains("defence")) add_defence(result, lines);
  if (result.contains("transfer")) add_transfer(result["transfer"].back(), lines);
  return lines;
}

std::vector<std::string> describe_warnings(const Json& result) {
  const Json& flags = result["warnings"];
  std::vector<std::string> lines;
  if (flags["zero_gradients"].get<int64_t>() > 0) {
    lines.push_back(
        fmt::format("{} images of the first batch have a gradient of zero: gradient attacks are blind there. "
                    "Try apgd-dlr or square.",
                    flags["zero_gradients"].get<int64_t>()));
  }
  const auto raised = [&](const char* flag) { return flags[flag].get<bool>(); };
  if (raised("probabilities")) lines.emplace_back("The answers are probabilities, not logits: their gradients vanish.");
  if (raised("random_answers")) {
    lines.emplace_back("The model answers the same images differently: use --attack rand, which averages gradients.");
  }
  if (raised("square_beats_gradients")) {
    lines.emplace_back("Square fools what gradient attacks do not: the model hides its gradients.");
  }
  if (raised("weaker_than_fgsm")) {
    lines.emplace_back("One step fools more than many: the steps are too long or too few, or gradients are hidden.");
  }
  return lines;
}

}  // namespace nascent
