#include "nascent/data/transform.h"

#include <charconv>
#include <cmath>

namespace nascent {

TransformSpec TransformSpec::parse(const std::string& text) {
  TransformSpec spec{text, "", {}};
  for (const auto& word : split(trim(text), ' ')) {
    if (word.empty()) continue;
    if (spec.name.empty()) {
      spec.name = word;
      continue;
    }
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool is_number = error == std::errc() && end == word.data() + word.size() && std::isfinite(number);
    // A name may have two words: "corrupt fog 3".
    if (const std::string longer = spec.name + " " + word;
        !is_number && spec.numbers.empty() && Transform::Registry::instance().contains(longer)) {
      spec.name = longer;
      continue;
    }
    if (!is_number) {
      fail("The transform '{}' has '{}' where a number was expected; such as 'pad-crop 4'.", text, word);
    }
    spec.numbers.push_back(number);
  }
  if (spec.name.empty()) fail("A transform is empty. Known: {}.", join(Transform::Registry::instance().names(), ", "));
  return spec;
}

void TransformSpec::require(bool good, const std::string& expected) const {
  if (!good) fail("The transform '{}' is not right; expected {}.", text, expected);
}

bool TransformSpec::whole(size_t index, double low, double high) const {
  if (index >= numbers.size()) return false;
  const double value = numbers[index];
  return value == std::floor(value) && value >= low && value <= high;
}

}  // namespace nascent
