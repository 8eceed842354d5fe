// Fields of the CSV files that are written.
#pragma once

#include <string>
#include <string_view>

namespace nascent {

// In quotes where the text holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

}  // namespace nascent
