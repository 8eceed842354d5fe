// Fast adaptive boundary attack (Croce and Hein 2020): steps to the linearised border that are pulled towards the clean
// image, and a step back whenever the border is crossed.
#pragma once

#include <string>

#include "nascent/attack/attack.h"

namespace nascent {

constexpr int kFabSteps = 100;

struct Boundary {
  int steps = kFabSteps;
  int restarts = 1;
  bool leave = true;  // images leave once they are fooled within eps
  uint64_t seed = 1;
  std::string name{};  // keys the random starts
};

// Towards the aims where there are any, else to the nearest of all borders.
Outcome follow_boundary(const Victim& victim, const Attacked& attacked, const Threat& threat, const Boundary& boundary);

// The shortest steps that take images to the planes <normal, x> = <normal, image> - gap within the box; where a plane
// is out of reach, to the corner nearest to it.
at::Tensor step_to_plane(const at::Tensor& images, const at::Tensor& normals, const at::Tensor& gaps,
                         const Threat& threat);

}  // namespace nascent
