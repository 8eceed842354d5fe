// Numbers and results as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace nascent {

// 3.35 M, 42.1 k, 512.
std::string engineering(int64_t count);

}  // namespace nascent
