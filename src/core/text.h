// Small text functions that several rooms need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nascent {

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

// Number of single-character edits (insert, delete, replace, swap of neighbours) between two words.
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, if any is near enough to be what was meant.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

// " Did you mean 'x'?" or "", for the end of an error text.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

// A count as people read it: 3.35 M, 42.1 k, 512.
std::string engineering(int64_t count);

}  // namespace nascent
