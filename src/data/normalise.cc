// The transform "normalise": bytes to floats of mean 0 and deviation 1.
#include "nascent/data/transform.h"

namespace nascent {
namespace {

class Normalise : public Conversion {
 public:
  Normalise(const TransformSpec& spec, const ChannelStatistics& statistics) {
    const size_t channels = spec.numbers.size() / 2;
    ChannelStatistics given{{spec.numbers.begin(), spec.numbers.begin() + channels},
                            {spec.numbers.begin() + channels, spec.numbers.end()}};
    bool good = given.mean.size() == given.deviation.size();
    for (const double deviation : given.deviation) good = good && deviation > 0;
    spec.require(good,
                 "'normalise' or 'normalise MEAN... DEVIATION...' with as many means as deviations above 0, of pixels "
                 "scaled to 0..1");
    prepare(channels > 0 ? given : statistics);
  }

  // One mean and deviation serve any number of channels.
  Shape output(const Shape& input) const override {
    if (channels_ != 1 && channels_ != static_cast<size_t>(input.channels)) {
      fail("'normalise' has the mean and deviation of {} channels; the images have {}.", channels_, input.channels);
    }
    return input;
  }

  void apply(const Image& image, float* out) const override {
    const size_t size = image.pixels.size(), block = scale_.size(), whole = size - size % block;
    const uint8_t* in = image.pixels.data();
    for (size_t start = 0; start < whole; start += block) convert(in + start, block, out + start);
    convert(in + whole, size - whole, out + whole);
  }

 private:
  // Scale and shift are repeated for several pixels, which lets the compiler work on whole vectors.
  static constexpr size_t repeats = 64;

  void prepare(const ChannelStatistics& statistics) {
    channels_ = statistics.mean.size();
    for (size_t i = 0; i < repeats * channels_; ++i) {
      const double mean = statistics.mean[i % channels_], deviation = statistics.deviation[i % channels_];
      const double divisor = deviation > 1e-8 ? deviation : 1;  // a channel of one constant value
      scale_.push_back(static_cast<float>(1 / (255 * divisor)));
      shift_.push_back(static_cast<float>(-mean / divisor));
    }
  }

  void convert(const uint8_t* in, size_t count, float* out) const {
    const float *scale = scale_.data(), *shift = shift_.data();
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) * scale[i] + shift[i];
  }

  size_t channels_ = 0;
  std::vector<float> scale_, shift_;
};

}  // namespace

NASCENT_REGISTER(Transform, "normalise",
                 "[MEAN... DEVIATION...]: to mean 0 and deviation 1 of the training images, or as given",
                 [](const TransformSpec& spec, const ChannelStatistics& statistics) {
                   return std::make_unique<Normalise>(spec, statistics);
                 });

}  // namespace nascent
