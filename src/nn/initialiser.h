// How weights start, by name. An initialiser is one law for the weights of convolutions and linear layers; batch norms
// start at scale 1 and shift 0 under all of them.
#pragma once

#include <cstdint>
#include <string>

#include "nascent/core/registry.h"

namespace torch::nn {
class Module;
}

namespace nascent {

// The law of one layer's numbers. `weight` is the half-width where uniform, the standard deviation where normal; a bias
// is uniform in ±`bias`.
struct InitialLaw {
  bool normal = false;
  double weight = 0, bias = 0;
};

struct Initialiser {
  static std::string kind() { return "initialiser"; }
  // Fans as in LibTorch: weights per output, and outputs times window size.
  using Registry = nascent::Registry<Initialiser, InitialLaw(double fan_in, double fan_out)>;
};

// Fills every Layer below `module`, each parameter from a random stream of its own, named by the parameter; running
// statistics return to mean 0 and variance 1.
void initialise(torch::nn::Module& module, uint64_t seed, const std::string& initialiser);

}  // namespace nascent
