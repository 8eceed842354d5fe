// nascent compare: runs side by side.
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/run/comparison.h"

namespace nascent {
namespace {

class CompareVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN..."; }

  void declare(OptionTable& table) override {
    auto section = table.section("compare", "How runs are laid side by side.");
    section.add("form", form_, "how the comparison is printed").one_of({"text", "csv"});
    section.add("figure", figure_, "result to test where runs pair up by seed; empty: the accuracy");
    section.add("page", page_, "write a page with curves and cells to this .html file");
  }

  Json run(const Invocation& invocation) override {
    const std::vector<std::filesystem::path> paths(invocation.arguments.begin(), invocation.arguments.end());
    const Comparison comparison = compare_runs(paths, figure_);
    std::string text = form_ == "csv" ? to_csv(comparison) : to_text(comparison);
    text.pop_back();  // print() ends the line
    invocation.print(text);
    if (!page_.empty()) {
      write_file(page_, comparison_page(comparison));
      if (form_ == "text") invocation.print("\nPage: " + page_);
    }
    return comparison.to_json();
  }

 private:
  std::string form_ = "text", figure_, page_;
};

NASCENT_REGISTER(Verb, "compare", "compares runs: options, results, means over seeds, curves, cells",
                 [] { return std::make_unique<CompareVerb>(); });

}  // namespace
}  // namespace nascent
