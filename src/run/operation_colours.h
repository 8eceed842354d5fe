// One colour of the page for each operation, the same in the cells, in the weights and in every legend.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace nascent {

class OperationColours {
 public:
  // `ops` in the order of the space, so that pages of one space agree.
  explicit OperationColours(const std::vector<std::string>& ops);

  // The place among the page's colours, c0 to c9; operations that were not named follow those that were.
  size_t of(const std::string& op);

 private:
  std::map<std::string, size_t> places_;
  size_t next_ = 0;
};

// Those of a space; of one that this program does not know, none are named yet.
OperationColours colours_of_space(const std::string& space);

}  // namespace nascent
