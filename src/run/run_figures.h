// The numbers of a run that people ask for first.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nascent/run/run_directory.h"

namespace nascent {

// One figure that stands for a run: its accuracy where it has one.
struct RunFigure {
  std::string key;    // "test_top1"
  std::string label;  // "Test accuracy"
  double value = 0;   // in per cent
};

// The test accuracy of the result, else the validation accuracy, else any accuracy; nothing where there is none.
std::optional<RunFigure> run_figure(const Json& result);

// Every number of the result under its path, "best.test_top1", in the result's order. Lists are left out.
std::vector<std::pair<std::string, double>> result_numbers(const Json& result);

}  // namespace nascent
