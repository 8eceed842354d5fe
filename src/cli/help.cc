#include "nascent/cli/help.h"

#include <algorithm>

#include "nascent/core/text.h"

namespace nascent {
namespace {

constexpr const char* kCommonFlags =
    "Common:\n"
    "  --json             print the result as one JSON object on standard output, all else on standard error\n"
    "  --recipe NAME      start from a recipe ('nascent recipes' lists them) or a .toml file\n"
    "  --config FILE      read options from a TOML file; may be given several times, later ones win\n"
    "  --set KEY=VALUE    set one option by its full key, as in --set train.epochs=3\n"
    "  -v, --verbose      say more;  -q, --quiet  say less\n"
    "  -h, --help         this text\n";

std::string default_text(const Option& option) {
  const Json& value = option.default_value();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>().empty() ? "" : value.get<std::string>();
  if (value.is_array() && value.empty()) return "";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

std::string facts(const Option& option) {
  std::vector<std::string> parts;
  if (const auto text = default_text(option); !text.empty()) parts.push_back("default " + text);
  if (const auto text = option.constraint(); !text.empty()) parts.push_back(text);
  return parts.empty() ? "" : " (" + join(parts, "; ") + ")";
}

std::string placeholder(const Option& option) {
  if (option.is_flag()) return "";
  if (option.is_list()) return " A,B,..";
  return option.type() == "integer" ? " N" : option.type() == "number" ? " X" : " TEXT";
}

std::string usage(const std::string& name, const Verb& verb) {
  const std::string arguments = verb.arguments();
  return fmt::format("nascent {}{}{} [options]", name, arguments.empty() ? "" : " ", arguments);
}

// The verbs whose names begin with `prefix`, one a line.
std::string verb_list(const std::string& prefix) {
  size_t width = 10;
  for (const auto& name : Verb::Registry::instance().names()) {
    if (name.starts_with(prefix)) width = std::max(width, name.size());
  }
  std::string text;
  for (const auto& [name, entry] : Verb::Registry::instance().entries()) {
    if (name.starts_with(prefix)) text += fmt::format("  {:<{}} {}\n", name, width, entry.description);
  }
  return text;
}

std::string markdown_cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string markdown_table(const OptionTable& table, const std::string& section) {
  std::string text = "| key | flag | default | values | meaning |\n|---|---|---|---|---|\n";
  for (const auto& option : table.options()) {
    if (option.section() != section) continue;
    const std::string value = default_text(option);
    const std::string constraint = option.constraint();
    text += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", option.key(), table.flag(option),
                        value.empty() ? "–" : "`" + markdown_cell(value) + "`",
                        markdown_cell(constraint.empty() ? option.type() : constraint), markdown_cell(option.help()));
  }
  return text + "\n";
}

}  // namespace

std::string program_help() {
  std::string text =
      "nascent: neural architecture search on one machine.\n\n"
      "Usage: nascent VERB [options]\n\nVerbs:\n";
  text += verb_list("");
  return text +
         "\n'nascent VERB --help' explains a verb; 'nascent --version' shows what it runs on.\n"
         "Start with: nascent demo\n";
}

std::vector<std::string> actions_of(const std::string& word) {
  std::vector<std::string> actions;
  for (const auto& name : Verb::Registry::instance().names()) {
    if (name.starts_with(word + " ")) actions.push_back(name.substr(word.size() + 1));
  }
  return actions;
}

std::string actions_help(const std::string& word) {
  return fmt::format("Usage: nascent {} ACTION [options]\n\nActions:\n{}\n'nascent {} ACTION --help' explains one.\n",
                     word, verb_list(word + " "), word);
}

std::string verb_help(const std::string& name, const Verb& verb, const OptionTable& table) {
  std::string text =
      fmt::format("{}\n\n{}\n\n{}", usage(name, verb), Verb::Registry::instance().at(name).description, kCommonFlags);
  if (verb.resumable()) text += "  --resume DIR       resume an interrupted run, exactly as if it had never stopped\n";
  if (verb.scalable()) {
    text +=
        "  --scale X          shrink epochs, channels, cells and data of what is not typed here, by one factor or by\n"
        "                     their own, as in --scale epochs=0.1,channels=0.5,cells=0.5,data=0.2\n";
  }
  for (const auto& [section, help] : table.sections()) {
    text += fmt::format("\n{} ({}.*)\n", help, section);
    for (const auto& option : table.options()) {
      if (option.section() != section) continue;
      const std::string left = table.flag(option) + placeholder(option);
      text += fmt::format("  {:<28} {}{}\n", left, option.help(), facts(option));
    }
  }
  return text;
}

std::string options_reference() {
  std::string text =
      "# Options\n\n"
      "Generated by `nascent options --markdown`; do not edit.\n\n"
      "Every option has one key, `section.name`: in a TOML file it stands under `[section]`, on the command line it is "
      "the flag below "
      "(or `--section.name`), and `--set section.name=value` works everywhere. Yes/no options are flags: `--name`, "
      "`--no-name`, or `--name no`.\n\n";
  for (const auto& [name, entry] : Verb::Registry::instance().entries()) {
    const auto verb = entry.make();
    OptionTable table;
    verb->declare(table);
    text += fmt::format("## nascent {}\n\n`{}`: {}.\n\n", name, usage(name, *verb), entry.description);
    for (const auto& [section, help] : table.sections()) {
      text += fmt::format("### {}: {}\n\n{}", section, help, markdown_table(table, section));
    }
  }
  text.pop_back();  // one newline at the end
  return text;
}

}  // namespace nascent
