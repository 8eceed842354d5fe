// Digital: "corrupt pixelate", "jpeg", "elastic".
#include <cmath>
#include <cstdio>
#include <cstdlib>
// libjpeg's headers need <cstdio> before them.
#include <jpeglib.h>

#include "nascent/data/corruption.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

// Resizing by boxes: every new pixel is the mean of the area that it covers.
FloatImage box_resized(const FloatImage& image, int height, int width) {
  FloatImage result{image.channels, height, width,
                    std::vector<float>(static_cast<size_t>(height) * width * image.channels)};
  const double tall = static_cast<double>(image.height) / height, wide = static_cast<double>(image.width) / width;
  const auto overlap = [](double a, double b, int i) {
    return std::max(0.0, std::min(b, i + 1.0) - std::max(a, 1.0 * i));
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double top = y * tall, bottom = top + tall, left = x * wide, right = left + wide;
      for (int c = 0; c < image.channels; ++c) {
        double sum = 0, area = 0;
        for (int fy = static_cast<int>(top); fy < std::min<double>(image.height, bottom); ++fy) {
          for (int fx = static_cast<int>(left); fx < std::min<double>(image.width, right); ++fx) {
            const double share = overlap(top, bottom, fy) * overlap(left, right, fx);
            sum += share * image.at(fy, fx, c);
            area += share;
          }
        }
        result.at(y, x, c) = static_cast<float>(sum / area);
      }
    }
  }
  return result;
}

void pixelate(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<double, 5> size = {0.95, 0.9, 0.85, 0.75, 0.65};
  const int height = std::max(1, static_cast<int>(image.height * size[severity]));
  const int width = std::max(1, static_cast<int>(image.width * size[severity]));
  image = box_resized(box_resized(image, height, width), image.height, image.width);
}

// The bytes of a JPEG file; owned by the caller, to be freed.
std::pair<unsigned char*, unsigned long> encode(const Image& image, int quality) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = image.channels;
  info.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return {bytes, size};
}

void jpeg(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<int, 5> quality = {80, 65, 58, 50, 40};
  Image bytes;
  to_bytes(image, bytes);
  const auto [file, size] = encode(bytes, quality[severity]);
  Image decoded;
  decode_jpeg({reinterpret_cast<const char*>(file), size}, "an image compressed by 'corrupt jpeg'", decoded);
  std::free(file);
  FloatImage result = to_floats(decoded);
  if (image.channels == 3) {
    image = std::move(result);
  } else {  // grey comes back as three equal channels
    for (size_t i = 0; i < image.values.size(); ++i) image.values[i] = result.values[3 * i];
  }
}

// A small affine map and a smooth random displacement. Constants are parts of the width.
void elastic(FloatImage& image, int severity, RandomStream& random) {
  constexpr std::array<std::array<double, 3>, 5> warps = {
      {{0, 0, 0.08}, {0.05, 0.2, 0.07}, {0.08, 0.06, 0.06}, {0.1, 0.04, 0.05}, {0.1, 0.03, 0.03}}};
  const double width = image.width;
  const double strength = warps[severity][0] * width, smooth = warps[severity][1] * width,
               corner = warps[severity][2] * width;
  // Three points of a triangle about the middle, each moved at random, fix an affine map.
  const double side = std::min(image.height, image.width) / 3.0, cy = image.height / 2.0, cx = width / 2.0;
  const std::array<std::array<double, 2>, 3> from = {
      {{cy + side, cx + side}, {cy - side, cx + side}, {cy - side, cx - side}}};
  std::array<std::array<double, 2>, 3> to = from;
  for (auto& point : to) {
    for (double& coordinate : point) coordinate += random.uniform(-corner, corner);
  }
  // From where each pixel comes: basis of the moved triangle to that of the first.
  const double by = to[0][0] - to[1][0], bx = to[0][1] - to[1][1], dy = to[2][0] - to[1][0], dx = to[2][1] - to[1][1];
  const double determinant = by * dx - bx * dy;
  // Uniform displacements, made smooth by a Gaussian of deviation `smooth` in each direction.
  const auto field = [&] {
    std::vector<double> raw(static_cast<size_t>(image.height) * image.width);
    for (double& value : raw) value = random.uniform(-1, 1);
    if (strength == 0) return std::vector<double>(raw.size(), 0.0);
    const int reach = static_cast<int>(std::ceil(3 * smooth));
    const auto pass = [&](const std::vector<double>& values, bool vertical) {
      std::vector<double> result(values.size());
      for (int y = 0; y < image.height; ++y) {
        for (int x = 0; x < image.width; ++x) {
          double sum = 0, weight = 0;
          for (int i = -reach; i <= reach; ++i) {
            const double w = std::exp(-i * i / (2 * smooth * smooth));
            const int yy = std::clamp(vertical ? y + i : y, 0, image.height - 1);
            const int xx = std::clamp(vertical ? x : x + i, 0, image.width - 1);
            sum += w * values[static_cast<size_t>(yy) * image.width + xx];
            weight += w;
          }
          result[static_cast<size_t>(y) * image.width + x] = sum / weight;
        }
      }
      return result;
    };
    auto smoothed = pass(pass(raw, true), false);
    for (double& value : smoothed) value *= strength;
    return smoothed;
  };
  const auto shift_y = field(), shift_x = field();
  const FloatImage before = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const size_t i = static_cast<size_t>(y) * image.width + x;
      const double ry = y + shift_y[i] - to[1][0], rx = x + shift_x[i] - to[1][1];
      const double a = (ry * dx - rx * dy) / determinant, b = (by * rx - bx * ry) / determinant;
      const double fy = from[1][0] + a * 2 * side, fx = from[1][1] - b * 2 * side;
      for (int c = 0; c < image.channels; ++c) image.at(y, x, c) = before.between(fy, fx, c);
    }
  }
}

NASCENT_CORRUPTION("pixelate", "too few pixels", pixelate);
NASCENT_CORRUPTION("jpeg", "compressed too much", jpeg);
NASCENT_CORRUPTION("elastic", "bent", elastic);

}  // namespace
}  // namespace nascent
