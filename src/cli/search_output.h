// What a search found, for people.
#pragma once

#include "nascent/cli/verb.h"
#include "nascent/search/search.h"

namespace nascent {

void print_search(const Invocation& invocation, const SearchResult& result);
// Lines of what final_table_ranks() found.
void print_table_ranks(const Invocation& invocation, const Json& table_ranks);

}  // namespace nascent
