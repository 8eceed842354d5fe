// Random points near an image, keyed by (seed, attack, image, restart): neither the batch nor a kill changes them.
#pragma once

#include <string>

#include "nascent/attack/attacked.h"
#include "nascent/attack/threat.h"
#include "nascent/core/random.h"

namespace nascent {

RandomStream image_stream(uint64_t seed, const std::string& attack, int64_t image, int restart);

// How points of the ball are drawn.
enum class Spread {
  inside,   // evenly
  surface,  // from the border of the ball
};

// `radius` [N] or undefined for the threat's eps.
at::Tensor random_start(const Attacked& attacked, const Threat& threat, Spread spread, uint64_t seed,
                        const std::string& attack, int restart, const at::Tensor& radius = {});

}  // namespace nascent
