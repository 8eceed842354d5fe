// What the ranks of a test do: this program, started by mpirun with the name of a scenario.
#pragma once

#include <string>

namespace nascent::cluster {

// The exit code of this rank.
int run_scenario(const std::string& name);

}  // namespace nascent::cluster
