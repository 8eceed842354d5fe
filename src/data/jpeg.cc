// JPEG by way of libjpeg.
#include <csetjmp>
#include <cstdio>
// libjpeg's headers need <cstdio> before them.
#include <jerror.h>
#include <jpeglib.h>

#include "nascent/core/error.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

// libjpeg reports errors by a call that must not return. It jumps back to where `jump` was set; between the two, no
// object with a destructor may come to life, so all state lives here and in the caller's Image.
struct JpegDecoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";

  JpegDecoder();
  ~JpegDecoder() { jpeg_destroy_decompress(&info); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
};

JpegDecoder* decoder_of(j_common_ptr info) { return static_cast<JpegDecoder*>(info->client_data); }

void jump_back(j_common_ptr info) {
  info->err->format_message(info, decoder_of(info)->message);
  std::longjmp(decoder_of(info)->jump, 1);
}

// Most warnings are harmless (stray bytes that a camera left); an image cut short is not.
void heed_warning(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) jump_back(info);
}

JpegDecoder::JpegDecoder() {
  info.err = jpeg_std_error(&errors);
  errors.error_exit = jump_back;
  errors.emit_message = heed_warning;
  info.client_data = this;
}

bool read_header(JpegDecoder& decoder, std::string_view bytes) {
  if (setjmp(decoder.jump) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder.info, TRUE);
  const bool four_channels = decoder.info.jpeg_color_space == JCS_CMYK || decoder.info.jpeg_color_space == JCS_YCCK;
  decoder.info.out_color_space = four_channels ? JCS_CMYK : JCS_RGB;
  return true;
}

bool read_rows(JpegDecoder& decoder, Image& image) {
  if (setjmp(decoder.jump) != 0) return false;
  jpeg_start_decompress(&decoder.info);
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = image.row(static_cast<int>(decoder.info.output_scanline));
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return true;
}

// Adobe's programs store ink inverted, and say so with their marker.
void cmyk_to_rgb(Image& image, bool inverted) {
  const int64_t pixels = int64_t{image.height} * image.width;
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t* ink = image.pixels.data() + 4 * i;
    const int black = inverted ? ink[3] : 255 - ink[3];
    uint8_t rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<uint8_t>(((inverted ? ink[c] : 255 - ink[c]) * black + 127) / 255);
    for (int c = 0; c < 3; ++c) image.pixels[3 * i + c] = rgb[c];
  }
  image.reshape({3, image.height, image.width});
}

[[noreturn]] void fail_jpeg(const std::string& name, const JpegDecoder& decoder) {
  fail("{} is a truncated or corrupt JPEG file: {}. Fetch it again or remove it.", name, decoder.message);
}

Shape header_shape(JpegDecoder& decoder, std::string_view bytes, const std::string& name) {
  if (!read_header(decoder, bytes)) fail_jpeg(name, decoder);
  check_image_size(decoder.info.image_height, decoder.info.image_width, name);
  return {3, static_cast<int>(decoder.info.image_height), static_cast<int>(decoder.info.image_width)};
}

}  // namespace

Shape jpeg_shape(std::string_view bytes, const std::string& name) {
  JpegDecoder decoder;
  return header_shape(decoder, bytes, name);
}

void decode_jpeg(std::string_view bytes, const std::string& name, Image& image) {
  JpegDecoder decoder;
  Shape shape = header_shape(decoder, bytes, name);
  const bool cmyk = decoder.info.out_color_space == JCS_CMYK;
  if (cmyk) shape.channels = 4;
  image.reshape(shape);
  if (!read_rows(decoder, image)) fail_jpeg(name, decoder);
  if (cmyk) cmyk_to_rgb(image, decoder.info.saw_Adobe_marker != 0);
}

}  // namespace nascent
