// Answers that never change, kept in files: the name of the file is what was asked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nascent {

// "" where nothing is kept under such words.
std::string answer_name(std::vector<std::string> words);

// Asks for all of them and fills the folder; called when the program is built.
void write_answers(const std::filesystem::path& folder);

}  // namespace nascent
