#include "nascent/cli/completion.h"

#include <set>

#include "nascent/cli/verb.h"
#include "nascent/core/error.h"
#include "nascent/core/recipes.h"
#include "nascent/core/text.h"
#include "nascent/core/version.h"
#include "nascent/data/dataset.h"
#include "nascent/space/genotype.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

// A flag, and the words that may follow it where those are known.
struct CompletedFlag {
  std::string flag, help;
  bool takes_value = true;
  std::vector<std::string> values{};
};

struct CompletedVerb {
  std::string name, description;
  std::vector<CompletedFlag> flags{};
  std::vector<std::string> arguments{};  // known words besides flags
};

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.push_back(recipe.name);
  return names;
}

// What an option accepts: its choices, or the names of what it is named after.
std::vector<std::string> values_of(const Option& option) {
  const std::string constraint = option.constraint(), choices = "one of ";
  if (constraint.starts_with(choices)) {
    std::vector<std::string> names = split(constraint.substr(choices.size()), ',');
    for (std::string& name : names) name = std::string(trim(name));
    std::erase(names, "or empty");
    return names;
  }
  if (option.name() == "space") return Space::Registry::instance().names();
  if (option.name() == "genotype") return known_genotypes();
  if (option.name() == "retrain") return recipe_names();
  return {};
}

// What the usage line calls an argument decides what may stand there.
std::vector<std::string> arguments_of(const std::string& verb, const std::string& usage) {
  if (verb == "data") return Dataset::Registry::instance().names();
  if (verb == "recipes") return recipe_names();
  if (verb == "completion") return completion_shells();
  if (usage.find("GENOTYPE") != std::string::npos) return known_genotypes();
  if (usage.find("SPACE") != std::string::npos) return Space::Registry::instance().names();
  if (usage.find("VERB") != std::string::npos) return Verb::Registry::instance().names();
  return {};
}

CompletedVerb complete_verb(const std::string& name, const std::string& description, Verb& verb) {
  CompletedVerb completed{.name = name, .description = description};
  completed.arguments = arguments_of(name, verb.arguments());
  completed.flags = {{"--help", "explains the verb", false},
                     {"--json", "prints the result as JSON", false},
                     {"--verbose", "says more", false},
                     {"--quiet", "says less", false},
                     {"--recipe", "starts from a recipe", true, recipe_names()},
                     {"--config", "reads options from a TOML file"},
                     {"--set", "sets one option by its full key"}};
  if (verb.resumable()) completed.flags.push_back({"--resume", "resumes an interrupted run"});
  if (verb.scalable()) completed.flags.push_back({"--scale", "shrinks what is not typed"});
  OptionTable table;
  verb.declare(table);
  for (const Option& option : table.options())
    completed.flags.push_back({table.flag(option), option.help(), !option.is_flag(), values_of(option)});
  return completed;
}

std::vector<CompletedVerb> complete_verbs() {
  std::vector<CompletedVerb> verbs;
  for (const auto& [name, entry] : Verb::Registry::instance().entries())
    verbs.push_back(complete_verb(name, entry.description, *entry.make()));
  return verbs;
}

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

// Where a word can stand, the words that can stand there: a `case` that bash and zsh both understand. Reads $first,
// $second, $place (1 for the verb), $before and $word; sets $names.
std::string shared_cases(const std::vector<CompletedVerb>& verbs) {
  std::set<std::string> first_words;
  std::map<std::string, std::vector<std::string>> actions;
  std::string flags, arguments, values;
  for (const CompletedVerb& verb : verbs) {
    first_words.insert(first_word(verb.name));
    if (const size_t space = verb.name.find(' '); space != std::string::npos)
      actions[first_word(verb.name)].push_back(verb.name.substr(space + 1));
    std::vector<std::string> names;
    for (const CompletedFlag& flag : verb.flags) {
      names.push_back(flag.flag);
      if (!flag.values.empty())
        values += fmt::format("    \"{}:{}\") names='{}' ;;\n", verb.name, flag.flag, join(flag.values, " "));
    }
    flags += fmt::format("    \"{}\") names='{}' ;;\n", verb.name, join(names, " "));
    if (!verb.arguments.empty())
      arguments += fmt::format("    \"{}\") names='{}' ;;\n", verb.name, join(verb.arguments, " "));
  }
  std::string two_words, second_words;
  for (const auto& [word, seconds] : actions) {
    for (const std::string& second : seconds)
      two_words += fmt::format("    \"{0} {1}\") verb=\"{0} {1}\" ;;\n", word, second);
    second_words += fmt::format("    \"2:{}\") names='{}' ;;\n", word, join(seconds, " "));
  }
  return fmt::format(
      "  local verb=$first names=\n"
      "  case \"$first $second\" in\n{}    *) ;;\n  esac\n"
      "  case \"$verb:$before\" in\n{}    *) ;;\n  esac\n"
      "  if [ -z \"$names\" ]; then case \"$place:$first\" in\n    1:*) names='{}' ;;\n{}    *) ;;\n  esac; fi\n"
      "  if [ -z \"$names\" ] && [ \"${{word#-}}\" != \"$word\" ]; then case \"$verb\" in\n{}    *) ;;\n  esac; fi\n"
      "  if [ -z \"$names\" ] && [ \"${{word#-}}\" = \"$word\" ]; then case \"$verb\" in\n{}    *) ;;\n  esac; fi\n",
      two_words, values, join({first_words.begin(), first_words.end()}, " "), second_words, flags, arguments);
}

std::string bash_script(const std::vector<CompletedVerb>& verbs) {
  return fmt::format(
      "# Completion of nascent {} for bash: source this file, or put it where bash-completion looks.\n"
      "_nascent() {{\n"
      "  local first=${{COMP_WORDS[1]:-}} second=${{COMP_WORDS[2]:-}} place=$COMP_CWORD\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "{}"
      "  mapfile -t COMPREPLY < <(compgen -W \"$names\" -- \"$word\")\n"
      "}}\n"
      "complete -o default -F _nascent nascent\n",
      version(), shared_cases(verbs));
}

std::string zsh_script(const std::vector<CompletedVerb>& verbs) {
  return fmt::format(
      "#compdef nascent\n"
      "# Completion of nascent {} for zsh: put this file as _nascent into a folder of $fpath.\n"
      "_nascent() {{\n"
      "  local first=$words[2] second=$words[3] place=$((CURRENT - 1))\n"
      "  local word=$words[CURRENT] before=$words[CURRENT-1]\n"
      "{}"
      "  if [ -n \"$names\" ]; then compadd -- ${{=names}}; else _files; fi\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _nascent ]; then _nascent \"$@\"; else compdef _nascent nascent; fi\n",
      version(), shared_cases(verbs));
}

std::string quoted_for_fish(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_script(const std::vector<CompletedVerb>& verbs) {
  std::string text = fmt::format(
      "# Completion of nascent {} for fish: put this file as nascent.fish into ~/.config/fish/completions.\n",
      version());
  std::set<std::string> seen;
  for (const CompletedVerb& verb : verbs) {
    const std::string word = first_word(verb.name);
    if (seen.insert(word).second)
      text += fmt::format("complete -c nascent -n __fish_use_subcommand -f -a {} -d {}\n", word,
                          quoted_for_fish(verb.description));
    // Of a verb of two words, both must have been typed.
    std::string condition;
    for (const std::string& part : split(verb.name, ' '))
      condition += (condition.empty() ? "" : "; and ") + fmt::format("__fish_seen_subcommand_from {}", part);
    if (word != verb.name) {
      text += fmt::format("complete -c nascent -n '__fish_seen_subcommand_from {}' -f -a {} -d {}\n", word,
                          verb.name.substr(word.size() + 1), quoted_for_fish(verb.description));
    }
    if (!verb.arguments.empty())
      text += fmt::format("complete -c nascent -n '{}' -a {}\n", condition, quoted_for_fish(join(verb.arguments, " ")));
    for (const CompletedFlag& flag : verb.flags) {
      text += fmt::format("complete -c nascent -n '{}' -l {}", condition, flag.flag.substr(2));
      if (flag.takes_value) text += " -r";
      if (!flag.values.empty()) text += " -f -a " + quoted_for_fish(join(flag.values, " "));
      text += " -d " + quoted_for_fish(flag.help) + "\n";
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> completion_shells() { return {"bash", "fish", "zsh"}; }

std::string completion_script(const std::string& shell) {
  const std::vector<CompletedVerb> verbs = complete_verbs();
  if (shell == "bash") return bash_script(verbs);
  if (shell == "zsh") return zsh_script(verbs);
  if (shell == "fish") return fish_script(verbs);
  fail("There is no completion for '{}'.{} Known: {}.", shell, suggestion(shell, completion_shells()),
       join(completion_shells(), ", "));
}

}  // namespace nascent
