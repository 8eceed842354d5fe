// Estimates and truth from where they are (columns of a CSV file, measures of a benchmark table, the shared weights of
// a supernet) to how well each estimate ranks architectures: what `nascent analyze rank` does.
#pragma once

#include <string>
#include <vector>

#include "nascent/analysis/rank.h"
#include "nascent/run/grid_plot.h"

namespace nascent {

struct RankAnalysisOptions {
  std::string file{};   // a CSV file, a line per architecture; "": none
  std::string table{};  // a benchmark table; "": none
  std::string truth{};
  std::vector<std::string> estimates{};  // none: all columns of numbers but the truth
  std::vector<std::string> lower{};      // columns of which lower is better
  std::string architecture = "arch";
  std::string supernet{};  // folder of a finished one-shot search; "": none
  int64_t sample = 0;      // architectures of a table without a file; 0: all
  RankOptions rank{};
  int64_t seed = 1;
  std::string plot{}, csv{}, values{};  // files to write; "": none

  void declare(OptionTable& table);
};

// A column of numbers, one per architecture, higher is better; what is missing is NaN.
struct RankColumn {
  std::string name{};
  std::vector<double> numbers{};
};

struct RankAnalysis {
  std::vector<RankColumn> columns{};         // all that were read, the truth too
  std::vector<std::string> architectures{};  // of a table, by row; none where there is no table
  std::vector<RankAgreement> agreement{};    // by estimate
  std::string truth{};

  const RankColumn& column(const std::string& name) const;  // an Error that names those there are
  Json to_json() const;
};

// Writes the files that are asked for, too. Throws Interrupted after Ctrl-C.
RankAnalysis analyse_rank(const RankAnalysisOptions& options);

// "estimate,architectures,spearman,..." by line.
std::string agreement_csv(const RankAnalysis& analysis);
// The columns themselves, a line per architecture, which a first column names where it was looked up in a table.
std::string columns_csv(const RankAnalysis& analysis);
// Every estimate against the truth.
std::vector<PicturePanel> agreement_panels(const RankAnalysis& analysis);

}  // namespace nascent
