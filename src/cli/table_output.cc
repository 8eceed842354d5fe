#include "nascent/cli/table_output.h"

#include <map>

#include "nascent/core/text.h"

namespace nascent {

Json show_table(const Invocation& invocation, const BenchmarkTable& table) {
  invocation.print(fmt::format("table          {}", table.path().string()));
  invocation.print(fmt::format("imported from  {}", table.source()));
  invocation.print(fmt::format("architectures  {} of the {:.16g} of {}", table.rows(), table.space()->count(),
                               table.space()->name()));
  invocation.print(fmt::format("size           {:.2f} MB, {} columns", table.bytes() / 1e6, table.columns().size()));
  Json columns = Json::array();
  for (const std::string& data : table.data_sets()) {
    std::map<std::string, std::vector<std::string>> quantities;
    for (const Measure& column : table.columns()) {
      if (column.data != data) continue;
      columns.push_back(column.name());
      auto& budgets = quantities[column.quantity];
      const std::string budget = column.budget.of > 0 ? column.budget.text() : "";
      if (!budget.empty() && (budgets.empty() || budgets.back() != budget)) budgets.push_back(budget);
    }
    invocation.print(data);
    for (const auto& [quantity, budgets] : quantities) {
      invocation.print(fmt::format("  {:<22} {}", quantity, budgets.empty() ? "" : "epochs " + join(budgets, ", ")));
    }
  }
  return {{"path", table.path().string()}, {"source", table.source()}, {"space", table.space()->name()},
          {"architectures", table.rows()}, {"bytes", table.bytes()},   {"columns", columns}};
}

}  // namespace nascent
