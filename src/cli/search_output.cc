#include "nascent/cli/search_output.h"

#include <algorithm>
#include <limits>

#include "nascent/core/text.h"
#include "nascent/table/measure.h"

namespace nascent {
namespace {

std::string list_text(const Json& values) {
  std::vector<std::string> words;
  for (const auto& value : values) words.push_back(value.dump());
  return join(words, ", ");
}

void print_cell(const Invocation& invocation, const Genotype& genotype) {
  invocation.print(describe(genotype));
  for (const auto& form : text_forms(genotype)) {
    if (form != "json") invocation.print(to_text(genotype, form) + "\n");
  }
}

// Where a table has what each search found, and the means.
void print_stage_ranks(const Invocation& invocation, const Json& stages) {
  if (!stages.contains("table")) return;
  const auto line = [&](const std::string& search, const std::string& data, const auto& number) {
    invocation.print(fmt::format("{:>9}  {:<12} {:>8} {:>10} {:>8}", search, data, number("test", 2), number("rank", 0),
                                 number("regret", 2)));
  };
  invocation.print(fmt::format("{:>9}  {:<12} {:>8} {:>10} {:>8}", "seed", "data set", "test", "rank", "regret"));
  for (const auto& entry : stages.at("searches")) {
    const Json ranks = entry.value("table", Json::object());
    for (const auto& [data, place] : ranks.items()) {
      line(entry["seed"].dump(), data, [&place = place](const char* key, int digits) {
        return place.contains(key) ? fmt::format("{:.{}f}", place[key].template get<double>(), digits) : "";
      });
    }
  }
  for (const auto& [data, means] : stages.at("table").items()) {
    line("mean", data, [&means = means](const char* key, int digits) {
      return means.contains(key) ? fmt::format("{:.{}f}", means[key]["mean"].template get<double>(), digits) : "";
    });
  }
}

// As wide as its longest recipe; figures of a table where there is one.
void print_comparison(const Invocation& invocation, const Json& comparison) {
  std::vector<std::string> measures;
  const Json best = comparison.value("best of all", Json::object());
  for (const auto& [key, value] : best.items()) measures.push_back(key);
  std::string header = fmt::format("{:<20} {:>11} {:>17}", "recipe", "validations", "validation");
  for (const auto& measure : measures) header += fmt::format(" {:>20} {:>7} {:>7}", measure, "regret", "rank");
  invocation.print(header);
  const auto spread = [](const Json& entry) {
    return fmt::format("{:.2f} ± {:.2f}", entry["mean"].get<double>(), entry["deviation"].get<double>());
  };
  for (const auto& [recipe, figures] : comparison.items()) {
    std::string text = fmt::format(
        "{:<20} {:>11}", recipe,
        figures.contains("validations") ? fmt::format("{:.1f}", figures["validations"].get<double>()) : "-");
    text += fmt::format(" {:>17}", figures.contains("valid_top1") ? spread(figures["valid_top1"]) : "-");
    for (const auto& measure : measures) {
      if (!figures.contains(measure)) {
        text += fmt::format(" {:>20} {:>7} {:>7}", "-", "-", "-");
        continue;
      }
      const Json& entry = figures[measure];
      text += fmt::format(" {:>20} {:>7.2f} {:>7}", spread(entry), entry["regret"].get<double>(),
                          entry.contains("rank") ? fmt::format("{:.0f}", entry["rank"].get<double>()) : "1");
    }
    invocation.print(text);
  }
}

// Each new best of a search that asked a judge.
void print_trials(const Invocation& invocation, const Json& trials) {
  constexpr size_t kMost = 20;
  std::vector<std::string> lines;
  double best = -std::numeric_limits<double>::infinity();
  std::string budget;
  for (size_t i = 0; i < trials.size(); ++i) {
    const Json& trial = trials[i];
    if (!trial["valid"].is_number()) continue;
    const std::string epochs = trial["epochs"];
    const bool longer = parse_budget(epochs) > parse_budget(budget.empty() ? epochs : budget);
    const bool shorter = !budget.empty() && parse_budget(epochs) < parse_budget(budget);
    if (shorter || (!longer && trial["valid"].get<double>() <= best)) continue;
    best = trial["valid"].get<double>();
    budget = epochs;
    lines.push_back(fmt::format("{:>6} {:>10.0f} {:>8} {:>8.2f}  {}", i + 1, trial["seconds"].get<double>(), epochs,
                                best, trial["architecture"].get<std::string>()));
  }
  invocation.print(fmt::format("{:>6} {:>10} {:>8} {:>8}  {}", "trial", "seconds", "epochs", "valid", "new best"));
  for (size_t i = lines.size() > kMost ? lines.size() - kMost : 0; i < lines.size(); ++i) invocation.print(lines[i]);
}

std::string short_training_text(const Json& entry) {
  if (!entry.contains("valid_top1")) return "";
  return fmt::format("{:.2f} %{}", entry["valid_top1"].get<double>(), entry["kept"].get<bool>() ? "" : " (out)");
}

std::string test_text(const Json& entry) {
  if (!entry.contains("mean")) return "";
  return fmt::format("{:.2f} +- {:.2f} %", entry["mean"].get<double>(), entry["deviation"].get<double>());
}

void print_stages(const Invocation& invocation, const Json& stages) {
  const Json& candidates = stages.at("candidates");
  invocation.print(fmt::format("\n{} searches found {} different cell{}.", stages.at("searches").size(),
                               candidates.size(), candidates.size() == 1 ? "" : "s"));
  // A stage that was not asked for has no column.
  const auto any_has = [&](const char* key) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const Json& entry) { return entry.contains(key); });
  };
  const bool judged = any_has("valid_top1"), tested = any_has("mean");
  invocation.print(fmt::format("{:>9}  {:>12}{}{}  cell", "candidate", "seeds",
                               judged ? fmt::format("  {:>17}", "short training") : "",
                               tested ? fmt::format("  {:>18}", "test accuracy") : ""));
  for (const auto& entry : candidates) {
    std::string line = fmt::format("{:>9}  {:>12}", entry["candidate"].get<int>(), list_text(entry["found_by_seeds"]));
    if (judged) line += fmt::format("  {:>17}", short_training_text(entry));
    if (tested) line += fmt::format("  {:>18}", test_text(entry));
    invocation.print(fmt::format("{}  {}", line, entry["cell"].get<std::string>()));
  }
}

}  // namespace

void print_table_ranks(const Invocation& invocation, const Json& table_ranks) {
  for (const auto& [data, place] : table_ranks.items()) {
    if (!place.contains("test")) continue;
    invocation.print(fmt::format("{:<12} test {:.2f} % after {} epochs, rank {} of {}, regret {:.2f}", data,
                                 place["test"].get<double>(), place["epochs"].get<int>(), place["rank"].get<size_t>(),
                                 place["of"].get<size_t>(), place["regret"].get<double>()));
  }
}

void print_search(const Invocation& invocation, const SearchResult& result) {
  const Json& facts = result.facts;
  if (facts.contains("comparison")) {
    print_comparison(invocation, facts["comparison"]);
    const Json& chosen = facts["chosen"];
    invocation.print(fmt::format("Chosen: {} with seed {}, by {}.", chosen["recipe"].get<std::string>(),
                                 chosen["seed"].dump(), chosen["by"].get<std::string>()));
  } else if (facts.contains("stages")) {
    print_stages(invocation, facts["stages"]);
    print_stage_ranks(invocation, facts["stages"]);
    invocation.print(fmt::format("Chosen: candidate {}, by {}.", facts["candidate"].get<int>(),
                                 facts["chosen_by"].get<std::string>()));
  } else {
    if (facts.contains("trials")) print_trials(invocation, facts["trials"]);
    print_cell(invocation, result.genotype);
  }
  if (facts.contains("table")) print_table_ranks(invocation, facts["table"]);
  if (facts.contains("collapse")) {
    invocation.print(fmt::format("Collapsed: {}.", facts["collapse"].get<std::string>()));
  }
  invocation.print(fmt::format("Genotype: {}", (result.directory / "genotype.json").string()));
  invocation.print(fmt::format("Report:   {}", result.report.string()));
}

}  // namespace nascent
