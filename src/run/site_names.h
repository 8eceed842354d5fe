// Names of the places in a cell where an operation is chosen.
#pragma once

#include <string>
#include <vector>

namespace nascent {

// "0→2" for edges, "node 1" where operations stand on nodes, in the order of the architecture parameters; empty where
// the space is not known to this program or has no such cell.
std::vector<std::string> site_names(const std::string& space, const std::string& cell_type);

// The same, or "1", "2", ... where there are not `count` of them.
std::vector<std::string> site_names(const std::string& space, const std::string& cell_type, size_t count);

}  // namespace nascent
