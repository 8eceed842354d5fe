// What a trained network knows and where it errs, on a page: accuracy by class, what it takes for what, how far its
// probabilities can be trusted, its worst mistakes with their pictures.
#pragma once

#include <string>

#include "nascent/core/options.h"

namespace nascent {

// Where a run keeps the judgement of its network.
inline constexpr const char* kJudgementFile = "judgement.json";

// Of what a Judgement's to_json() gives; "" where there is nothing.
std::string judgement_section(const Json& judgement);

// A whole page of it.
std::string judgement_page(const Json& judgement, const std::string& title, const std::string& what);

}  // namespace nascent
