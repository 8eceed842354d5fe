// Picture files, decoded to RGB: JPEG, PNG, BMP and, where their libraries were there when Nascent was built, WebP, GIF
// and TIFF. The format is told by the first bytes, not by the name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nascent/data/image.h"

namespace nascent {

// Decodes the file to 3 channels, reusing the memory of `image`; a truncated, corrupt or foreign file is an Error that
// names it.
void read_image_file(const std::filesystem::path& path, Image& image);

// The same of bytes that were read already; `name` is for the error text.
void decode_image(std::string_view bytes, const std::string& name, Image& image);

// Height and width from the header alone.
Shape read_image_shape(const std::filesystem::path& path);

// Whether such bytes are the start of a picture that can be decoded.
bool starts_as_picture(std::string_view bytes);
// Whether a file of that name is expected to be one.
bool has_picture_name(const std::filesystem::path& path);
// "JPEG, PNG, BMP, WebP, GIF or TIFF": what can be decoded, for people to read.
std::string picture_formats();

// One format each; `name` is for the error text.
void decode_jpeg(std::string_view bytes, const std::string& name, Image& image);
void decode_png(std::string_view bytes, const std::string& name, Image& image);
void decode_bmp(std::string_view bytes, const std::string& name, Image& image);
void decode_webp(std::string_view bytes, const std::string& name, Image& image);
void decode_gif(std::string_view bytes, const std::string& name, Image& image);
void decode_tiff(std::string_view bytes, const std::string& name, Image& image);
Shape jpeg_shape(std::string_view bytes, const std::string& name);
Shape png_shape(std::string_view bytes, const std::string& name);
Shape bmp_shape(std::string_view bytes, const std::string& name);
Shape webp_shape(std::string_view bytes, const std::string& name);
Shape gif_shape(std::string_view bytes, const std::string& name);
Shape tiff_shape(std::string_view bytes, const std::string& name);
// A PNG file of an image with one channel or three.
std::string encode_png(const Image& image);

// Refuses sizes that only a damaged header asks for.
void check_image_size(int64_t height, int64_t width, const std::string& name);

}  // namespace nascent
