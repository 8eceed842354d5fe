// What came of a run, in sentences.
#pragma once

#include <string>

#include "nascent/run/run_directory.h"

namespace nascent {

// Paragraphs; "" where the result is of a kind that no sentence is known for.
std::string result_sentences(const RunDirectory& run);

}  // namespace nascent
