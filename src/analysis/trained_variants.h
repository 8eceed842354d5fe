// Variants of cells trained side by side, each a run within one run ("Understanding architectures learnt by cell-based
// NAS", 4.1 and 5): how fast they converge, and what they reach.
#pragma once

#include <string>
#include <vector>

#include "nascent/analysis/variants.h"
#include "nascent/run/figure.h"
#include "nascent/run/grid_plot.h"
#include "nascent/train/training.h"

namespace nascent {

struct TrainedVariantsOptions {
  std::vector<std::string> genotypes{};  // base cells; of each, the variants that `variants` asks for
  VariantOptions variants{};
  int64_t variant_seed = 1;
  std::vector<double> rates{0.025};
  int seeds = 1;
  double accuracy = 80;  // percent: epochs to reach it are counted
  TrainingOptions training{};

  // As in the paper: 20 cells of 36 channels, SGD 0.025 to 0, batch 80, 600 epochs, and no regularisation but decay.
  TrainedVariantsOptions();
  void declare(OptionTable& table, const std::string& section);
  void check() const;
};

struct TrainedVariant {
  std::string base{};
  Variant variant{};
  double rate = 0;
  int64_t seed = 0;
  bool diverged = false;
  Points loss{}, top1{};  // on the test part, by epoch
  double final_top1 = 0;
  std::string folder{};

  double epochs_to(double accuracy) const;  // NaN: never
  double loss_area() const;                 // the mean test loss over the epochs
};

// An Error where there is no such data, or where a variant's network does not fit it: before anything is trained.
void check_trainings(const TrainedVariantsOptions& options);
// Every variant at every rate with every seed, as parts of the session; what is done already is only read.
std::vector<TrainedVariant> train_variants(const TrainedVariantsOptions& options, Session& session);

// Test loss and accuracy by epoch at one rate, a curve per width (per share, where operations were replaced): the mean
// over variants and seeds, the band from the lowest to the highest.
std::vector<FigurePanel> convergence_panels(const std::vector<TrainedVariant>& trained, const std::string& base,
                                            double rate);
// Final accuracy by variant, with the standard deviation over seeds; one colour per width.
BarPlot generalisation_bars(const std::vector<TrainedVariant>& trained, const std::string& base);

std::string trained_csv(const std::vector<TrainedVariant>& trained, double accuracy);
// "variant,rate,seed,epoch,loss,top1" by line: what the curves are drawn from.
std::string trained_curves_csv(const std::vector<TrainedVariant>& trained);
Json trained_json(const std::vector<TrainedVariant>& trained, double accuracy);

}  // namespace nascent
