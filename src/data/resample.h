// Bilinear resizing, with the filter widened when shrinking so that no pixel is skipped.
#pragma once

#include "nascent/data/image.h"

namespace nascent {

// A window of an image, in pixels.
struct Window {
  int top = 0, left = 0, height = 0, width = 0;
};

// Resizes the window of `image` to height x width.
void resample(const Image& image, const Window& window, int height, int width, Image& out);

}  // namespace nascent
