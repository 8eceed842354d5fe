// JPEG and PNG files, decoded to RGB. The format is told by the first bytes, not by the name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "nascent/data/image.h"

namespace nascent {

// Decodes the file to 3 channels, reusing the memory of `image`; a truncated, corrupt or foreign file is an Error that
// names it.
void read_image_file(const std::filesystem::path& path, Image& image);

// The same of bytes that were read already; `name` is for the error text.
void decode_image(std::string_view bytes, const std::string& name, Image& image);

// Height and width from the header alone.
Shape read_image_shape(const std::filesystem::path& path);

// One format each; `name` is for the error text.
void decode_jpeg(std::string_view bytes, const std::string& name, Image& image);
void decode_png(std::string_view bytes, const std::string& name, Image& image);
Shape jpeg_shape(std::string_view bytes, const std::string& name);
Shape png_shape(std::string_view bytes, const std::string& name);
// A PNG file of an image with one channel or three.
std::string encode_png(const Image& image);

// Refuses sizes that only a damaged header asks for.
void check_image_size(int64_t height, int64_t width, const std::string& name);

}  // namespace nascent
