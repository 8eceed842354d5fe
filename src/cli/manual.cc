#include "nascent/cli/manual.h"

#include "nascent/cli/verb.h"
#include "nascent/core/text.h"
#include "nascent/core/version.h"

namespace nascent {
namespace {

// Text that man takes as it is: no escapes, no requests, hyphens that can be copied.
std::string plain(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string entry(const std::string& flag, const std::string& value, const std::string& meaning) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", plain(flag), value.empty() ? "" : " \\fI" + plain(value) + "\\fR",
                     plain(meaning));
}

// Lists with spaces, so that lines can be broken.
std::string manual_default(const Json& value) {
  if (!value.is_array()) return value.is_string() ? value.get<std::string>() : value.dump();
  std::vector<std::string> parts;
  for (const Json& part : value) parts.push_back(manual_default(part));
  return join(parts, ", ");
}

std::string meaning_of(const Option& option) {
  std::string text = option.help();
  const std::string constraint = option.constraint();
  if (!constraint.empty()) text += fmt::format(" ({})", constraint);
  const Json& value = option.default_value();
  const bool empty = (value.is_string() || value.is_array()) && value.size() == 0;
  if (!empty && !(value.is_string() && value.get<std::string>().empty()))
    text += fmt::format("; default {}", manual_default(value));
  return text;
}

std::string verb_section(const std::string& name, const std::string& description, Verb& verb) {
  const std::string arguments = verb.arguments();
  std::string text = fmt::format(".SS nascent {}{}{} [options]\n{}.\n", plain(name), arguments.empty() ? "" : " ",
                                 plain(arguments), plain(description));
  if (verb.resumable()) text += entry("--resume", "DIR", "resume an interrupted run");
  if (verb.scalable()) text += entry("--scale", "X", "shrink epochs, channels, cells and data of what is not typed");
  OptionTable table;
  verb.declare(table);
  for (const Option& option : table.options())
    text += entry(table.flag(option), option.is_flag() ? "" : option.type(), meaning_of(option));
  return text;
}

}  // namespace

std::string manual_page() {
  std::string text = fmt::format(
      ".TH NASCENT 1 \"\" \"nascent {}\" \"User Commands\"\n"
      ".SH NAME\nnascent \\- neural architecture search on one machine\n"
      ".SH SYNOPSIS\n.B nascent\n.I VERB\n[options]\n"
      ".SH DESCRIPTION\n"
      "Finds neural architectures, trains them, scores them without training, and looks them up in benchmark tables.\n"
      "Every long run leaves a folder with its options, events, checkpoints and a report, and can be resumed exactly.\n"
      ".SH COMMON OPTIONS\n",
      plain(version()));
  text += entry("--json", "", "print the result as one JSON object on standard output, all else on standard error");
  text += entry("--recipe", "NAME", "start from a recipe ('nascent recipes' lists them) or a .toml file");
  text += entry("--config", "FILE", "read options from a TOML file; later ones win");
  text += entry("--set", "KEY=VALUE", "set one option by its full key");
  text += entry("-v, --verbose", "", "say more");
  text += entry("-q, --quiet", "", "say less");
  text += entry("-h, --help", "", "explain the verb");
  text += ".SH VERBS\n";
  for (const auto& [name, registered] : Verb::Registry::instance().entries())
    text += verb_section(name, registered.description, *registered.make());
  return text +
         ".SH EXIT STATUS\n0 done; 2 a mistake of the user, with a text that says what to do; 3 done in part, with a\n"
         "warning that says what was left out; 130 interrupted with a checkpoint written; 1 anything else.\n"
         ".SH ENVIRONMENT\n" +
         entry("NASCENT_DATA", "", "folder of data sets, where they are not in the usual places") +
         entry("OMP_WAIT_POLICY", "", "how threads wait for one another; passive where it is not set");
}

}  // namespace nascent
