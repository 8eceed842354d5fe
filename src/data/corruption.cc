#include "nascent/data/corruption.h"

#include <cmath>

namespace nascent {
namespace {

class Corruption : public ByteTransform {
 public:
  Corruption(Corrupt corrupt, int severity) : corrupt_(corrupt), severity_(severity) {}

  void apply(Image& image, Image&, RandomStream& random) const override {
    FloatImage floats = to_floats(image);
    corrupt_(floats, severity_, random);
    to_bytes(floats, image);
  }

 private:
  Corrupt corrupt_;
  int severity_;
};

}  // namespace

float FloatImage::between(double y, double x, int c) const {
  const int top = static_cast<int>(std::floor(y)), left = static_cast<int>(std::floor(x));
  const auto down = static_cast<float>(y - top), right = static_cast<float>(x - left);
  const float above = near(top, left, c) * (1 - right) + near(top, left + 1, c) * right;
  const float below = near(top + 1, left, c) * (1 - right) + near(top + 1, left + 1, c) * right;
  return above * (1 - down) + below * down;
}

FloatImage to_floats(const Image& image) {
  FloatImage floats{image.channels, image.height, image.width, std::vector<float>(image.shape().count())};
  for (size_t i = 0; i < floats.values.size(); ++i) floats.values[i] = static_cast<float>(image.pixels[i]) / 255.0f;
  return floats;
}

void to_bytes(const FloatImage& floats, Image& image) {
  image.reshape({floats.channels, floats.height, floats.width});
  for (size_t i = 0; i < floats.values.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(std::clamp(floats.values[i], 0.0f, 1.0f) * 255.0f + 0.5f);
}

std::unique_ptr<Transform> make_corruption(const TransformSpec& spec, Corrupt corrupt) {
  spec.require(spec.numbers.size() == 1 && spec.whole(0, 1, 5),
               "'" + spec.name + " SEVERITY' with a severity from 1 to 5, such as '" + spec.name + " 3'");
  return std::make_unique<Corruption>(corrupt, static_cast<int>(spec.numbers[0]) - 1);
}

}  // namespace nascent
