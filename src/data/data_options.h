// Which data, how much of it, how split, and how made into batches.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

struct DataOptions {
  std::string name = "fashion-mnist";  // of a registered data set
  std::string path;                    // its folder; empty: the usual places
  double valid_fraction = 0.5;         // of the training part, set aside for validation
  double test_fraction = 0.2;          // of data that has no test part of its own, set aside for it
  std::string split_file;              // training indices, one per line; overrides the fraction
  int limit = 0, limit_test = 0;       // 0: all
  int batch = 64;
  int workers = 1;
  bool random_labels = false;
  std::vector<std::string> train_transforms, eval_transforms;  // empty: the data set's usual ones
  // Of the data set "random" only.
  std::vector<double> shape = {3, 32, 32};  // channels, height, width
  int classes = 10;
  int size = 1024;

  void declare(OptionTable& table);
};

}  // namespace nascent
