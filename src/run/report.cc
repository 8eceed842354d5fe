#include "nascent/run/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/architecture_section.h"
#include "nascent/run/attack_section.h"
#include "nascent/run/cell_section.h"
#include "nascent/run/collapse_section.h"
#include "nascent/run/curve_section.h"
#include "nascent/run/ensemble_section.h"
#include "nascent/run/event_store.h"
#include "nascent/run/headline.h"
#include "nascent/run/html.h"
#include "nascent/run/judgement_section.h"
#include "nascent/run/picture_section.h"
#include "nascent/run/result_sentences.h"
#include "nascent/run/run_space.h"
#include "nascent/run/stage_section.h"
#include "nascent/run/svg.h"
#include "nascent/run/table_sections.h"

namespace nascent {
namespace {

// As a shell takes them.
std::vector<std::string> quoted(std::vector<std::string> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    std::string& word = words[i];
    // A verb may be two words; whatever else stands there is quoted like the rest.
    if (i == 1 && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz- ") == std::string::npos) continue;
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`!*?[](){}|&;<>~#") == std::string::npos;
    if (!plain) word = "'" + replace_all(word, "'", "'\\''") + "'";
  }
  return words;
}

std::string footer(const RunDirectory& run) {
  const Json& info = run.info();
  std::vector<std::string> command;
  for (const auto& word : info.value("command", Json::array())) command.push_back(html::value_text(word));
  std::string text = fmt::format("{}nascent {} · started {}", html::copyable(join(quoted(command), " ")),
                                 html::escape(info.value("version", "")), html::escape(info.value("started", "")));
  for (const auto& when : info.value("resumed", Json::array())) {
    text += " · resumed " + html::escape(html::value_text(when));
  }
  if (info.contains("ended") && info["ended"].is_string())
    text += " · ended " + html::escape(info["ended"].get<std::string>());
  return "<footer>" + text + "</footer>\n";
}

}  // namespace

std::string report_page(const RunDirectory& run) {
  std::optional<EventStore> store;
  if (std::filesystem::exists(run.events_path())) store.emplace(run.events_path(), EventStore::Access::read);
  const std::optional<Genotype> genotype = run.genotype();
  const std::vector<Event> epochs = store ? store->events("epoch") : std::vector<Event>();
  std::string markup = headline(run, epochs, store ? store->last_step() : 0);
  if (store) markup += collapse_notice(store->events("collapse"), static_cast<int64_t>(epochs.size()));
  // What is told in sentences is what a reader asks first; a table of numbers can wait.
  const bool told = !result_sentences(run).empty();
  if (told) markup += result_section(run);
  markup += stage_section(run.result());
  markup += attack_section(run);
  markup += picture_section(run.path());
  const std::string ensemble = ensemble_section(run.result(), run_space(run, genotype));
  markup += ensemble;
  if (genotype && ensemble.empty()) markup += cell_section(*genotype);
  if (const auto judgement = run.path() / kJudgementFile; std::filesystem::exists(judgement))
    markup += judgement_section(Json::parse(read_file(judgement)));
  if (store) {
    markup += curve_section(*store);
    markup += architecture_section(store->events("architecture"), run_space(run, genotype));
  }
  if (!told) markup += result_section(run);
  markup += option_section(run) + footer(run);
  return html::page(run_title(run) + " · nascent", markup);
}

void write_report(const RunDirectory& run) { write_file(run.report_path(), report_page(run)); }

}  // namespace nascent
