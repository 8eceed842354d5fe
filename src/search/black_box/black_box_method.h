// Strategies as search methods: each proposes architectures, a judge says how good they are.
#pragma once

#include <memory>
#include <string>

#include "nascent/search/judge.h"
#include "nascent/search/method.h"
#include "nascent/search/strategy.h"
#include "nascent/search/trace.h"

namespace nascent {

MethodFacts black_box_facts(const std::string& strategy);
std::unique_ptr<Method> make_black_box_method(const Problem& problem, const std::string& strategy);

// Runs the strategy as the options' judge, validations and budget say. Every judgement is an event of the run, and one
// that is there already is not asked for again: since all else follows from the seed, a search that was stopped goes on
// where it was. `pool` is the file of metrics, for strategies that choose by them.
SearchTrace judged_search(const Problem& problem, const std::string& strategy, const std::string& pool, Judge& judge,
                          Session& session);
// What result.json tells of a search: {"seconds": clock, "trials": [...], ...}.
Json trace_facts(const SearchTrace& trace);

}  // namespace nascent
