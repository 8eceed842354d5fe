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
#include "nascent/run/picture_section.h"
#include "nascent/run/stage_section.h"
#include "nascent/run/table_sections.h"

namespace nascent {
namespace {

// The space's name, to name the edges by: the genotype's, or that of an option called "space".
std::string space_of(const RunDirectory& run, const std::optional<Genotype>& genotype) {
  if (genotype) return genotype->space;
  const Json all = run.options();
  for (const auto& [section, options] : all.items()) {
    if (options.is_object() && options.contains("space") && options["space"].is_string()) return options["space"];
  }
  return "";
}

std::string footer(const RunDirectory& run) {
  const Json& info = run.info();
  std::vector<std::string> command;
  for (const auto& word : info.value("command", Json::array())) command.push_back(html::value_text(word));
  std::string text = fmt::format("<code>{}</code><br>\nnascent {} · started {}", html::escape(join(command, " ")),
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
  markup += stage_section(run.result());
  markup += attack_section(run);
  markup += picture_section(run.path());
  const std::string ensemble = ensemble_section(run.result(), space_of(run, genotype));
  markup += ensemble;
  if (genotype && ensemble.empty()) markup += cell_section(*genotype);
  if (store) {
    markup += curve_section(*store);
    markup += architecture_section(store->events("architecture"), space_of(run, genotype));
  }
  markup += result_section(run) + option_section(run) + footer(run);
  return html::page(run_title(run) + " · nascent", markup);
}

void write_report(const RunDirectory& run) { write_file(run.report_path(), report_page(run)); }

}  // namespace nascent
