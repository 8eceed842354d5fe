// Random tensors of a place in a search: the same place gives the same numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "nascent/search/one_shot/relaxation.h"

namespace nascent {

// The random stream of one purpose at a place.
RandomStream stream_at(const SearchPlace& place, const std::string& purpose);
// Standard Gumbel noise: -log(-log u).
at::Tensor gumbel_noise(at::IntArrayRef shape, const SearchPlace& place, const std::string& purpose);
// Standard logistic noise: log u - log(1 - u).
at::Tensor logistic_noise(at::IntArrayRef shape, const SearchPlace& place, const std::string& purpose);

// The argmax of every row, as lists of one.
std::vector<std::vector<int>> strongest_per_row(const at::Tensor& table);

}  // namespace nascent
