#include "nascent/run/result_sentences.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "nascent/core/progress.h"
#include "nascent/core/text.h"
#include "nascent/run/html.h"

namespace nascent {
namespace {

std::optional<double> number(const Json& json, const std::string& key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return std::nullopt;
  return json[key].get<double>();
}

std::string text_of(const Json& json, const std::string& key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

std::string percent(double value) { return fmt::format("<b>{:.2f} %</b>", value); }

// "the recipe darts-1st with seed 1 took 25 min"
std::string how(const RunDirectory& run, const Json& result) {
  const std::string recipe = text_of(result, "recipe"), method = text_of(result, "method");
  std::string text = !recipe.empty()   ? "The recipe " + html::escape(recipe)
                     : !method.empty() ? "The method " + html::escape(method)
                                       : "The run";
  const Json options = run.options();
  const Json own = options.contains("run") && options["run"].is_object() ? options["run"] : Json::object();
  if (const auto seed = number(own, "seed")) text += fmt::format(", with seed {:.0f},", *seed);
  const double seconds = run.info().value("seconds", 0.0);
  return text + (seconds > 0 ? fmt::format(" took {}", duration_text(seconds)) : " ended");
}

std::string size_sentence(const Json& result) {
  const auto parameters = number(result, "parameters"), operations = number(result, "multiply_adds");
  if (!parameters) return "";
  std::string text = fmt::format("Its network has {} parameters", html::count_text(*parameters));
  if (operations) text += fmt::format(" and takes {} multiply-adds for an image", html::count_text(*operations));
  return text + ".";
}

std::string standing_sentence(const std::string& data, const Json& place) {
  const auto rank = number(place, "rank"), of = number(place, "of"), test = number(place, "test");
  const auto regret = number(place, "regret");
  if (!rank || !of || !test || !regret) return "";
  return fmt::format("On {} the table has it at {} test accuracy: rank {:.0f} of {:.0f}, {:.2f} points below the best.",
                     html::escape(data), percent(*test), *rank, *of, *regret);
}

std::string search_sentences(const RunDirectory& run, const Json& result) {
  std::vector<std::string> all = {how(run, result) + " and found the cell below."};
  if (const auto text = size_sentence(result); !text.empty()) all.push_back(text);
  if (const auto valid = number(result, "valid_top1")) {
    all.push_back(fmt::format("Trained, it classifies {} of the held-out images.", percent(*valid)));
  }
  if (const auto shared = number(result, "shared_top1")) {
    all.push_back(
        fmt::format("With the supernet's weights it classifies {} of the held-out images, which says little of "
                    "what it reaches when it is trained.",
                    percent(*shared)));
  }
  if (const std::string collapse = text_of(result, "collapse"); !collapse.empty()) {
    all.push_back(fmt::format("The search collapsed: {}.", html::escape(collapse)));
  }
  if (const std::string chosen = text_of(result, "chosen_by"); !chosen.empty()) {
    all.push_back(fmt::format("It was chosen by {}.", html::escape(chosen)));
  }
  if (result.contains("table") && result["table"].is_object()) {
    for (const auto& [data, place] : result["table"].items()) {
      if (const auto text = standing_sentence(data, place); !text.empty()) all.push_back(text);
    }
  }
  return "<p>" + join(all, " ") + "</p>\n";
}

std::string training_sentences(const RunDirectory& run, const Json& result) {
  std::vector<std::string> all = {how(run, result) + "."};
  const double top1 = *number(result, "test_top1");
  std::string text = fmt::format("The last weights classify {} of the test images", percent(top1));
  if (const auto top5 = number(result, "test_top5")) text += fmt::format(" (top 5: {:.2f} %)", *top5);
  all.push_back(text + ".");
  if (const Json best = result.value("best", Json::object()); number(best, "epoch") && number(best, "test_top1")) {
    all.push_back(fmt::format("Those that were best on the held-out images, of epoch {:.0f}, classify {}.",
                              *number(best, "epoch"), percent(*number(best, "test_top1"))));
  }
  if (const auto size = size_sentence(result); !size.empty()) all.push_back("The network" + size.substr(11));
  return "<p>" + join(all, " ") + "</p>\n";
}

std::string demo_sentences(const RunDirectory& run, const Json& result) {
  const auto top1 = number(result["train"], "test_top1");
  return fmt::format(
      "<p>{}: <a href=\"search/report.html\">the search</a> and <a href=\"train/report.html\">the training</a> of what "
      "it "
      "found{}.</p>\n",
      how(run, Json::object()), top1 ? fmt::format(", which classifies {} of the test images", percent(*top1)) : "");
}

}  // namespace

std::string result_sentences(const RunDirectory& run) {
  const Json result = run.result();
  if (!result.is_object() || result.contains("comparison") || result.contains("kind")) return "";
  if (result.contains("search") && result.contains("train")) return demo_sentences(run, result);
  if (result.contains("genotype") || result.contains("stages")) return search_sentences(run, result);
  return number(result, "test_top1") && number(result, "parameters") ? training_sentences(run, result) : "";
}

}  // namespace nascent
