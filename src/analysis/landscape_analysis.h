// The loss around trained models, over planes of weights, and its curvature, as one run: what `nascent analyze
// landscape` does, from the files of the models to tables, pictures and report.
//
//   Session session({.verb = "analyze landscape"}, table, options.run);
//   const Json result = analyse_landscape(options, session);
#pragma once

#include "nascent/analysis/landscape.h"
#include "nascent/analysis/spectrum.h"
#include "nascent/data/data_options.h"
#include "nascent/train/model.h"
#include "nascent/train/session.h"

namespace nascent {

struct LandscapeAnalysisOptions {
  std::vector<std::string> models{};  // files or run folders
  LandscapeOptions grid{};
  std::string refine{};  // run folder of a coarser grid of the same models
  bool vtk = false;
  bool curvature = false;    // eigenvalues and trace at each model
  int curvature_points = 0;  // of the coarse grid of |smallest / largest| eigenvalue; 0: none
  SpectrumOptions spectrum{};
  DataOptions data = unknown_data();  // without a name: what the first model was trained on
  RunOptions run{};

  void declare(OptionTable& table);
  // An Error where the options ask for what there is not; then the data is that of the first model, unless named.
  void resolve();
};

// Leaves tables, pictures, result.json and the report in the session's folder; returns the result.
Json analyse_landscape(const LandscapeAnalysisOptions& options, Session& session);
// The same for people, a line per grid and quantity.
std::vector<std::string> describe_landscape(const Json& result);

}  // namespace nascent
