// The command line: CLI11 reads the words, OptionTable gives them meaning.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <set>

#include "nascent/cli/help.h"
#include "nascent/cli/leads.h"
#include "nascent/cli/moved.h"
#include "nascent/cli/partly_done.h"
#include "nascent/cli/verb.h"
#include "nascent/cli/version.h"
#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/recipes.h"
#include "nascent/core/text.h"
#include "nascent/run/run_directory.h"

namespace nascent {

std::string Invocation::argument(const std::string& what, bool required) const {
  if (arguments.size() > 1)
    fail("nascent {}: one {} was expected, found {}: {}.", verb, what, arguments.size(), join(arguments, " "));
  if (arguments.empty() && required) fail("nascent {}: {} is missing. See 'nascent {} --help'.", verb, what, verb);
  return arguments.empty() ? "" : arguments[0];
}

void Invocation::print(const std::string& line) const {
  if (!json) std::cout << line << std::endl;
}

namespace {

// What one command line asks for, before options get their values.
struct Request {
  bool help = false, verbose = false, quiet = false;
  std::string recipe, scale;
  std::vector<std::string> configs, sets;
  struct Value {
    Option* option;
    std::string flag, text;
  };
  std::vector<Value> values;  // in the order typed
};

void add_flag(CLI::App& app, Option& option, const std::string& flag, Request& request) {
  const std::string bare = flag.substr(2), full = option.key();
  std::string names = flag + ",!--no-" + bare;
  if (bare != full) names += ",--" + full + ",!--no-" + full;
  const auto store = [&option, &request, flag](int64_t count) {
    request.values.push_back({&option, flag, count > 0 ? "true" : "false"});
  };
  app.add_flag_function(names, store)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// A flag under all its names. Black-box strategies are search methods, so --strategy NAME means --method NAME.
std::string flag_names(const Option& option, const std::string& flag) {
  const std::string full = "--" + option.key();
  std::string names = flag == full ? flag : flag + "," + full;
  if (option.key() == "search.method") names += ",--strategy";
  return names;
}

void add_value(CLI::App& app, Option& option, const std::string& flag, Request& request) {
  const auto store = [&option, &request, flag](const std::string& text) {
    request.values.push_back({&option, flag, text});
  };
  app.add_option_function<std::string>(flag_names(option, flag), store)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_common(CLI::App& app, Verb& verb, Request& request, Invocation& invocation) {
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("-h,--help", request.help);
  app.add_flag("--json", invocation.json);
  app.add_flag("-v,--verbose", request.verbose);
  app.add_flag("-q,--quiet", request.quiet);
  app.add_option("--recipe", request.recipe);
  app.add_option("--config", request.configs)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--set", request.sets)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (verb.resumable()) app.add_option("--resume", invocation.resume);
  if (verb.scalable()) app.add_option("--scale", request.scale);
}

std::vector<std::string> known_flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

void take_positionals(const CLI::App& app, Invocation& invocation) {
  for (const auto& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0) {
      const std::string flag = word.substr(0, word.find('='));
      fail("nascent {}: there is no flag '{}'.{} 'nascent {} --help' lists them.", invocation.verb, flag,
           suggestion(flag, known_flags(app)), invocation.verb);
    }
    invocation.arguments.push_back(word);
  }
}

// Words that the verb has no use for were meant to say something.
void refuse_arguments(const Verb& verb, const Invocation& invocation) {
  if (!verb.arguments().empty() || invocation.arguments.empty()) return;
  const std::string& word = invocation.arguments.front();
  const auto is_recipe = [&](const Recipe& recipe) { return recipe.name == word; };
  const bool recipe = std::any_of(recipes().begin(), recipes().end(), is_recipe);
  fail("nascent {}: unexpected argument '{}'.{} See 'nascent {} --help'.", invocation.verb,
       join(invocation.arguments, " "), recipe ? fmt::format(" Did you mean --recipe {}?", word) : "", invocation.verb);
}

// "--repeat no" is "--repeat=no": no verb takes such a word for an argument.
void attach_answers(OptionTable& table, std::vector<std::string>& words) {
  static const std::set<std::string> kAnswers = {"yes", "no", "true", "false", "on", "off"};
  std::set<std::string> flags;
  for (auto& option : table.options()) {
    if (option.is_flag()) flags.insert({table.flag(option), "--" + option.key()});
  }
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (!flags.contains(words[i]) || !kAnswers.contains(words[i + 1])) continue;
    words[i] += "=" + words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

// CLI11's texts speak of its own types.
void parse_words(CLI::App& app, const std::string& verb, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them last first
  try {
    app.parse(words);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what(), flag = text.substr(0, text.find(':'));
    fail("nascent {0}: {1} needs a value, as in {1} VALUE. See 'nascent {0} --help'.", verb, flag);
  } catch (const CLI::ParseError& error) {
    fail("nascent {0}: {1}. See 'nascent {0} --help'.", verb, error.what());
  }
}

// Later sources win: defaults, the resumed run's options, recipe, option files, then the command line.
void apply(const Request& request, const Invocation& invocation, const Verb& verb, OptionTable& table) {
  const auto fixed_by_resume = [&](const std::string& key, const std::string& what) {
    if (!invocation.resume.empty() && (!key.starts_with("run.") || key == "run.seed")) {
      fail("{}: a resumed run keeps its options and its seed, so that it ends as if it had never stopped.", what);
    }
  };
  if (!invocation.resume.empty()) {
    const RunDirectory run = RunDirectory::view(invocation.resume);
    run.require_verb(invocation.verb);
    table.read_toml_file(run.options_path());
  }
  if (!request.recipe.empty()) {
    fixed_by_resume("", "--recipe");
    const Recipe recipe = find_recipe(request.recipe);
    recipe.require_verb(verb.recipes_of(invocation.verb));
    table.read_toml(recipe.text, "recipe " + request.recipe);
  }
  if (!request.scale.empty()) fixed_by_resume("", "--scale");
  for (const auto& file : request.configs) {
    fixed_by_resume("", "--config");
    table.read_toml_file(file);
  }
  for (const auto& assignment : request.sets) {
    fixed_by_resume(assignment.substr(0, assignment.find('=')), "--set " + assignment);
    table.read_assignment(assignment);
  }
  for (const auto& value : request.values) {
    fixed_by_resume(value.option->key(), value.flag);
    value.option->set_text(value.text, value.flag);
  }
}

// Keys of the options whose values stand on the command line.
std::vector<std::string> typed_keys(const Request& request, OptionTable& table) {
  std::vector<std::string> keys;
  for (const auto& assignment : request.sets) {
    keys.push_back(table.at(assignment.substr(0, assignment.find('=')), "--set " + assignment).key());
  }
  for (const auto& value : request.values) keys.push_back(value.option->key());
  return keys;
}

void resolve(const Request& request, const Invocation& invocation, Verb& verb, OptionTable& table) {
  verb.resolve(invocation);
  if (request.scale.empty() || verb.scales_itself()) return;
  apply_scale(Scale::parse(request.scale), verb.scale_limits(), typed_keys(request, table), table);
}

int run_verb(const std::string& name, std::vector<std::string> words) {
  auto verb = Verb::Registry::instance().make(name);
  OptionTable table;
  verb->declare(table);

  Request request;
  Invocation invocation;
  invocation.verb = name;
  invocation.options = &table;
  invocation.command_line = words;
  CLI::App app;
  add_common(app, *verb, request, invocation);
  for (auto& option : table.options()) {
    option.is_flag() ? add_flag(app, option, table.flag(option), request)
                     : add_value(app, option, table.flag(option), request);
  }
  const bool asks_for_help = words == std::vector<std::string>{"help"};
  attach_answers(table, words);
  parse_words(app, name, std::move(words));
  take_positionals(app, invocation);
  if (request.help || asks_for_help) {
    std::cout << verb_help(name, *verb, table);
    return 0;
  }
  log::set_level(request.verbose ? log::Level::debug : request.quiet ? log::Level::warning : log::Level::info);
  refuse_arguments(*verb, invocation);
  apply(request, invocation, *verb, table);
  invocation.recipe = request.recipe;
  invocation.scale = request.scale;
  catch_interrupts();
  resolve(request, invocation, *verb, table);
  if (!leads(*verb, invocation)) return 0;
  const auto print = [&](const Json& result) {
    if (invocation.json) std::cout << result.dump(2) << std::endl;
  };
  try {
    print(verb->run(invocation));
  } catch (const PartlyDone& part) {
    print(part.result);
    throw;
  }
  return 0;
}

// How many words name the verb: the longest registered name wins, so "ensemble search" goes before "ensemble". 0 where
// the first word only opens the names of others.
size_t verb_length(const std::vector<std::string>& words) {
  const auto& verbs = Verb::Registry::instance();
  if (words.size() > 1 && verbs.contains(words[0] + " " + words[1])) return 2;
  return verbs.contains(words[0]) || actions_of(words[0]).empty() ? 1 : 0;
}

// A word that several verbs begin with, alone or with what is none of them.
int list_actions(const std::vector<std::string>& words) {
  if (words.size() > 1 && !words[1].starts_with("-")) {
    fail("nascent {}: there is no action '{}'.{} Known: {}.", words[0], words[1],
         suggestion(words[1], actions_of(words[0])), join(actions_of(words[0]), ", "));
  }
  std::cout << actions_help(words[0]);
  return 0;
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::cout << program_help();
    return 0;
  }
  if (words[0] == "--version") {
    std::cout << version_details();
    return 0;
  }
  if (words[0].starts_with("-"))
    fail("A verb comes first, as in 'nascent search {}'. 'nascent --help' lists the verbs.", words[0]);
  if (const std::string advice = moved(words); !advice.empty()) fail("{}", advice);
  const size_t length = verb_length(words);
  if (length == 0) return list_actions(words);
  return run_verb(join({words.begin(), words.begin() + static_cast<int64_t>(length)}, " "),
                  {words.begin() + static_cast<int64_t>(length), words.end()});
}

}  // namespace

namespace {

// Where memory ran out below us, the text is LibTorch's, with a backtrace.
bool is_out_of_memory(std::string_view text) {
  return text.find("DefaultCPUAllocator") != std::string_view::npos ||
         text.find("can't allocate memory") != std::string_view::npos ||
         text.find("bad_alloc") != std::string_view::npos;
}

int report_out_of_memory() {
  log::error(
      "There is not enough memory. Lower data.batch, network.channels, network.cells or the number of images, or free "
      "some.");
  return 2;
}

int report_failure(const std::exception& error) {
  const std::string_view text = error.what();
  if (is_out_of_memory(text)) return report_out_of_memory();
  // A backtrace is for those who look for the mistake.
  const size_t trace = std::min(text.find("\nException raised from"), text.find("\nframe #0"));
  log::error("{}", text.substr(0, trace));
  if (trace < text.size()) log::debug("{}", text.substr(trace));
  return 1;
}

// What people asked for is on standard output; a full disk must not look like success.
int checked_output(int code) {
  std::cout.flush();
  const bool written = std::cout.good() && std::fflush(stdout) == 0;
  if (written) return code;
  log::error("Standard output could not be written; what it holds is cut short. Is the disk full?");
  return code == 0 ? 1 : code;
}

}  // namespace

int run_command_line(const std::vector<std::string>& words) {
  try {
    return checked_output(dispatch(words));
  } catch (const Interrupted&) {
    return 130;
  } catch (const PartlyDone& part) {
    log::warning("{}", part.message);
    return 3;
  } catch (const Error& error) {
    log::error("{}", error.what());
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    log::error("Cannot use {}: {}.", error.path1().string(), error.code().message());
    return 2;
  } catch (const std::bad_alloc&) {
    return report_out_of_memory();
  } catch (const std::length_error&) {
    return report_out_of_memory();
  } catch (const std::exception& error) {
    return report_failure(error);
  }
}

}  // namespace nascent
