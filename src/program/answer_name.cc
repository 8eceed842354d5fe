#include "nascent/core/text.h"
#include "nascent/program/answers.h"

namespace nascent {

std::string answer_name(std::vector<std::string> words) {
  const bool asks_for_help = words.empty() || (words.size() == 1 && (words[0] == "-h" || words[0] == "help"));
  if (asks_for_help) words = {"--help"};
  if (words.size() == 2 && words[1] == "-h") words[1] = "--help";
  const std::string name = join(words, " ");
  return name.find('/') == std::string::npos && name.size() < 200 ? name : "";
}

}  // namespace nascent
