// The report's page of an attack: what is left of the accuracy, who defended whom, and what the images look like.
#pragma once

#include <filesystem>
#include <string>

#include "nascent/core/options.h"
#include "nascent/run/run_directory.h"

namespace nascent {

// From result.json and adversarial/grid.png; "" where the run was no attack.
std::string attack_section(const RunDirectory& run);

// figures/robust-accuracy and figures/attack-defence, each as .csv and, where it can be drawn, as .svg and .png.
void write_attack_figures(const Json& result, const std::filesystem::path& folder);

}  // namespace nascent
