// Weight-sharing searches as a search method, and what others need of one that is done.
#pragma once

#include <filesystem>
#include <memory>

#include "nascent/search/one_shot/one_shot_search.h"
#include "nascent/search/problem.h"

namespace nascent {

constexpr const char* kOneShot = "one-shot";

// The search that the options describe, with its supernet freshly initialised. The problem must outlive it.
std::unique_ptr<OneShotSearch> make_one_shot_search(const Problem& problem);
// Puts it where the run in `folder` ended: weights, architecture and all.
void restore(OneShotSearch& searcher, const std::filesystem::path& folder);

}  // namespace nascent
