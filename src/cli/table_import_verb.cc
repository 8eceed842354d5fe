// nascent table import: makes a benchmark table.
#include "nascent/cli/table_output.h"
#include "nascent/core/error.h"
#include "nascent/table/import.h"

namespace nascent {
namespace {

class TableImportVerb : public Verb {
 public:
  std::string arguments() const override { return "SOURCE"; }
  void declare(OptionTable& table) override {
    auto section = table.section("table",
                                 "A SOURCE is a .csv or .json file, a .scores file of validations by training, or a "
                                 "folder of NATS-Bench records.");
    section.add("out", out_, "the table's file");
    section.add("space", space_, "search space of the architectures; empty: that of the first one");
  }

  Json run(const Invocation& invocation) override {
    const std::string source = invocation.argument("CSV or JSON file, or folder");
    if (out_.empty()) fail("nascent table import: --out TABLE, the file to write, is missing.");
    import_table(source, space_).write(out_);
    return show_table(invocation, BenchmarkTable(out_));
  }

 private:
  std::string out_, space_;
};

NASCENT_REGISTER(Verb, "table import",
                 "makes a benchmark table from a CSV or JSON file or a folder of NATS-Bench records",
                 [] { return std::make_unique<TableImportVerb>(); });

}  // namespace
}  // namespace nascent
