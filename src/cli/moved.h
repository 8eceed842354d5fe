// What was here once and is somewhere else now.
#pragma once

#include <string>
#include <vector>

namespace nascent {

// What to type instead, where the words ask for something that has moved; "" for all else.
std::string moved(const std::vector<std::string>& words);

}  // namespace nascent
