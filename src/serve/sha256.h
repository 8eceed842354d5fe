// The hash that a content security policy knows scripts by.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nascent::serve {

std::array<uint8_t, 32> sha256(std::string_view bytes);  // FIPS 180-4

}  // namespace nascent::serve
