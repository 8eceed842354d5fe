// Which metrics, and how the networks that they are taken from are made.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/score/sample_gradients.h"

namespace nascent {

struct ScoreOptions {
  std::vector<std::string> metrics = {"grad", "snip", "grasp", "trace", "kappa"};
  std::string initialiser = "lecun";
  std::string ntk = "constant";  // or "summed" or "coupled": see KernelGradients
  // Settings of the condition number apart, 0 or "": as for the other metrics (thesis tables 7.10 and 7.11).
  int kappa_batch = 0, kappa_channels = 0;
  std::string kappa_initialiser;
  std::string cache;                 // folder of known scores; "": the user's cache folder; "none": nothing is kept
  void declare(OptionTable& table);  // section "score"
  KernelGradients kernel_gradients() const;
};

}  // namespace nascent
