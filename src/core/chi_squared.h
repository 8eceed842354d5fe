// The chi-squared distribution: how unlikely a sum of squared deviations is.
#pragma once

namespace nascent {

// The probability that a chi-squared variable with `freedom` degrees is at least `value`.
double chi_squared_tail(double value, double freedom);

}  // namespace nascent
