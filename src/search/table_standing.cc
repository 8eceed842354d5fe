#include "nascent/search/table_standing.h"

#include "nascent/core/log.h"
#include "nascent/table/table_rank.h"

namespace nascent {

void add_table_ranks(Json& result, const BenchmarkTable& table, const Genotype& genotype) {
  if (const auto row = table.find(genotype)) {
    result["table"] = final_table_ranks(table, *row);
  } else {
    log::warning("{} has no row for the cell that was found.", table.path().string());
  }
}

}  // namespace nascent
