// nascent table show: what a benchmark table holds.
#include "nascent/cli/table_output.h"

namespace nascent {
namespace {

class TableShowVerb : public Verb {
 public:
  std::string arguments() const override { return "TABLE"; }
  void declare(OptionTable&) override {}
  Json run(const Invocation& invocation) override {
    return show_table(invocation, BenchmarkTable(invocation.argument("table")));
  }
};

NASCENT_REGISTER(Verb, "table show", "shows where a benchmark table comes from and what it holds",
                 [] { return std::make_unique<TableShowVerb>(); });

}  // namespace
}  // namespace nascent
