// The cores that this process may run on: fewer than the machine's where a launcher, taskset or a container says so.
#pragma once

#include <bitset>

namespace nascent {

using Cores = std::bitset<1024>;  // by number

Cores usable_cores();
// As many as there are, at least one.
int count(const Cores& cores);

}  // namespace nascent
