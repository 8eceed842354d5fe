#include "nascent/program/answers.h"

#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include "nascent/cli/completion.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/recipes.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

std::vector<std::vector<std::string>> questions() {
  std::vector<std::vector<std::string>> all = {
      {"--help"}, {"options"}, {"options", "--markdown"}, {"options", "--man"}, {"recipes"}};
  for (const std::string& shell : completion_shells()) all.push_back({"completion", shell});
  for (const Recipe& recipe : recipes()) all.push_back({"recipes", recipe.name});
  std::set<std::string> groups;  // first words of verbs of two: "table" lists its actions
  for (const std::string& verb : Verb::Registry::instance().names()) {
    const std::vector<std::string> words = split(verb, ' ');
    all.push_back(words);
    all.back().emplace_back("--help");
    if (words.size() == 1) {
      all.push_back({"options", verb});
    } else {
      groups.insert(words[0]);
    }
  }
  for (const std::string& group : groups) {
    all.push_back({group});
    all.push_back({group, "--help"});
  }
  return all;
}

// What the program prints for these words; nothing where it ends with an error, which it should say itself.
std::optional<std::string> answer_to(const std::vector<std::string>& words) {
  std::ostringstream text;
  std::streambuf* before = std::cout.rdbuf(text.rdbuf());
  const int code = run_command_line(words);
  std::cout.rdbuf(before);
  return code == 0 ? std::optional(text.str()) : std::nullopt;
}

}  // namespace

void write_answers(const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& words : questions()) {
    if (const auto answer = answer_to(words)) write_file(folder / answer_name(words), *answer);
  }
}

}  // namespace nascent
