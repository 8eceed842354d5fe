#include "nascent/run/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "nascent/core/progress.h"
#include "nascent/run/html.h"

namespace nascent {
namespace {

// The first number under `key`, at any depth.
std::optional<double> find_number(const Json& json, const std::string& key) {
  if (!json.is_object()) return std::nullopt;
  if (json.contains(key) && json[key].is_number()) return json[key].get<double>();
  for (const auto& [name, value] : json.items()) {
    if (const auto found = find_number(value, key)) return found;
  }
  return std::nullopt;
}

std::vector<double> epoch_numbers(const std::vector<Event>& epochs, const std::string& key) {
  std::vector<double> numbers;
  for (const auto& event : epochs) {
    const bool there = event.values.is_object() && event.values.contains(key);
    if (there && event.values[key].is_number()) numbers.push_back(event.values[key].get<double>());
  }
  return numbers;
}

std::string tile(const std::string& label, const std::string& figure, const std::string& note = "") {
  const std::string small = note.empty() ? "" : fmt::format("<small>{}</small>", html::escape(note));
  return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", html::escape(label), html::escape(figure), small);
}

std::string accuracy_tile(const Json& result, const std::vector<Event>& epochs) {
  static const std::vector<std::pair<std::string, std::string>> kKnown = {
      {"test_top1", "Test accuracy"}, {"valid_top1", "Validation accuracy"}, {"top1", "Accuracy"}};
  for (const auto& [key, label] : kKnown) {
    if (const auto found = find_number(result, key)) return tile(label, fmt::format("{:.2f} %", *found));
  }
  const std::vector<double> seen = epoch_numbers(epochs, "valid_top1"), tested = epoch_numbers(epochs, "test_top1");
  if (!tested.empty()) return tile("Test accuracy", fmt::format("{:.2f} %", tested.back()), "so far");
  if (seen.empty()) return "";
  const auto best = std::max_element(seen.begin(), seen.end());
  return tile("Validation accuracy", fmt::format("{:.2f} %", seen.back()), fmt::format("best so far {:.2f} %", *best));
}

// Where a benchmark's table has what was found: on the run's own data set, or the first.
std::string table_tiles(const RunDirectory& run, const Json& result) {
  if (!result.is_object() || !result.contains("table") || result["table"].empty()) return "";
  const Json& table = result["table"];
  const std::string own = run.options().value("data", Json::object()).value("name", "");
  const std::string data = table.contains(own) ? own : table.begin().key();
  const auto rank = find_number(table[data], "rank"), of = find_number(table[data], "of");
  const auto regret = find_number(table[data], "regret"), test = find_number(table[data], "test");
  if (!rank || !of || !regret) return "";
  return tile("Rank", fmt::format("{:.0f}", *rank), fmt::format("of {:.0f} on {}", *of, data)) +
         tile("Regret", fmt::format("{:.2f} %", *regret), test ? fmt::format("test {:.2f} %", *test) : "");
}

// Of an attack: what is left of which accuracy.
std::string attack_tiles(const Json& result) {
  if (!result.is_object() || !result.contains("clean_top1") || !result.contains("robust_top1")) return "";
  const std::string clean = fmt::format("{:.2f} %", result["clean_top1"].get<double>());
  const double held = result["robust_top1"].get<double>();
  if (result.contains("target"))
    return tile("Accuracy", clean) + tile("Target reached", fmt::format("{:.2f} %", 100 - held));
  return tile("Accuracy", clean) + tile("Under attack", fmt::format("{:.2f} %", held));
}

std::string time_tile(const Json& result, const std::vector<Event>& epochs) {
  double seconds = 0;
  for (const double epoch : epoch_numbers(epochs, "seconds")) seconds += epoch;
  if (const auto found = find_number(result, "seconds")) seconds = *found;
  return seconds > 0 ? tile("Time", clock_text(seconds)) : "";
}

std::string epochs_tile(const std::vector<Event>& epochs, int64_t steps) {
  return epochs.empty() ? "" : tile("Epochs", fmt::format("{}", epochs.size()), fmt::format("{} steps", steps));
}

std::string tiles(const RunDirectory& run, const std::vector<Event>& epochs, int64_t steps) {
  const Json result = run.result();
  std::string markup = accuracy_tile(result, epochs) + table_tiles(run, result) + attack_tiles(result);
  if (const auto count = find_number(result, "parameters")) {
    markup += tile("Parameters", html::count_text(*count), fmt::format("{:.0f}", *count));
  }
  if (const auto count = find_number(result, "multiply_adds")) {
    markup += tile("Multiply-adds", html::count_text(*count), "for one image");
  }
  markup += epochs_tile(epochs, steps) + time_tile(result, epochs);
  return markup.empty() ? "" : "<dl class=\"tiles\">\n" + markup + "</dl>\n";
}

std::string fact(const std::string& label, const std::string& text) {
  return fmt::format("<span>{} <b>{}</b></span>\n", html::escape(label), html::escape(text));
}

std::string facts(const RunDirectory& run) {
  const Json& info = run.info();
  std::string markup;
  for (const auto& pair : info.value("facts", Json::array())) {
    if (pair.is_array() && pair.size() == 2) markup += fact(html::value_text(pair[0]), html::value_text(pair[1]));
  }
  const Json options = run.options();
  if (options.contains("run") && options["run"].contains("seed")) {
    markup += fact("Seed", html::value_text(options["run"]["seed"]));
  }
  if (const double seconds = info.value("seconds", 0.0); seconds > 0) markup += fact("Took", duration_text(seconds));
  return markup.empty() ? "" : "<p class=\"facts\">" + markup + "</p>\n";
}

std::string notice(const RunDirectory& run, RunStatus status, int64_t steps) {
  const std::string resume = fmt::format("<code>nascent {} --resume {}</code>",
                                         html::escape(run.info().value("verb", "")), html::escape(run.path().string()));
  std::string text;
  if (status == RunStatus::running) {
    text = fmt::format("The run is still going; this page shows it after {} steps.", steps);
  } else if (status == RunStatus::interrupted) {
    text = fmt::format("The run was interrupted after {} steps. {} resumes it.", steps, resume);
  } else if (status == RunStatus::failed) {
    text = fmt::format("The run failed: {}", html::escape(run.info().value("message", "")));
  }
  return text.empty() ? "" : fmt::format("<p class=\"notice {}\">{}</p>\n", status_text(status), text);
}

}  // namespace

std::string run_title(const RunDirectory& run) {
  // "runs/x/" ends in an empty component.
  const auto path = run.path().has_filename() ? run.path() : run.path().parent_path();
  return path.filename().string();
}

std::string headline(const RunDirectory& run, const std::vector<Event>& epochs, int64_t steps) {
  const RunStatus status = run.status();
  return fmt::format(
      "<header>\n<p class=\"eyebrow\">nascent {} · <span class=\"status {}\">{}</span> · {}</p>\n<h1>{}</h1>\n{}{}{}"
      "</header>\n",
      html::escape(run.info().value("verb", "")), status_text(status), status_text(status),
      html::escape(run.info().value("started", "").substr(0, 10)), html::escape(run_title(run)), facts(run),
      notice(run, status, steps), tiles(run, epochs, steps));
}

}  // namespace nascent
