#include "nascent/cli/moved.h"

#include <fmt/format.h>

#include <algorithm>

namespace nascent {
namespace {

// The value of a flag, written "--flag value" or "--flag=value".
std::string value_of(const std::vector<std::string>& words, const std::string& flag, const std::string& otherwise) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(flag + "=")) return words[i].substr(flag.size() + 1);
    if (words[i] == flag && i + 1 < words.size()) return words[i + 1];
  }
  return otherwise;
}

bool has_flag(const std::vector<std::string>& words, const std::string& flag) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word == flag || word.starts_with(flag + "="); });
}

}  // namespace

std::string moved(const std::vector<std::string>& words) {
  if (words[0] == "score" && has_flag(words, "--search")) {
    return fmt::format("'nascent score --search' is now: nascent search --method {}",
                       value_of(words, "--search", "nasi"));
  }
  if (words[0] != "table" || words.size() < 2) return "";
  const std::string table = words.size() > 2 && !words[2].starts_with("-") ? words[2] : "TABLE";
  const std::string strategy = value_of(words, "--strategy", "rea");
  if (words[1] == "search")
    return fmt::format("'nascent table search' is now: nascent search --recipe {} --table {}", strategy, table);
  if (words[1] == "compare") {
    const std::string several = strategy + (strategy == "random" ? ",rea" : ",random");
    return fmt::format("'nascent table compare' is now: nascent search --recipes {} --seeds {} --table {}",
                       value_of(words, "--strategies", several), value_of(words, "--runs", "10"), table);
  }
  return "";
}

}  // namespace nascent
