// GIF by way of giflib: the first picture of the file.
#ifdef NASCENT_HAS_GIF
#include <gif_lib.h>

#include <cstring>
#include <memory>

#include "nascent/core/error.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

[[noreturn]] void fail_gif(const std::string& name) {
  fail("{} is a truncated or corrupt GIF file. Fetch it again or remove it.", name);
}

struct GifSource {
  std::string_view rest;

  static int read(GifFileType* file, GifByteType* out, int count) {
    auto& rest = static_cast<GifSource*>(file->UserData)->rest;
    const size_t taken = std::min(rest.size(), static_cast<size_t>(count));
    std::memcpy(out, rest.data(), taken);
    rest.remove_prefix(taken);
    return static_cast<int>(taken);
  }
};

class GifDecoder {
 public:
  GifDecoder(std::string_view bytes, std::string name) : source_{bytes}, name_(std::move(name)) {
    int problem = 0;
    file_.reset(DGifOpen(&source_, GifSource::read, &problem));
    if (!file_) fail_gif(name_);
    check_image_size(file_->SHeight, file_->SWidth, name_);
  }

  Shape shape() const { return {3, file_->SHeight, file_->SWidth}; }

  void decode(Image& image) {
    image.reshape(shape());
    std::memset(image.pixels.data(), 255, image.pixels.size());  // where the picture does not reach
    while (true) {
      GifRecordType kind = UNDEFINED_RECORD_TYPE;
      require(DGifGetRecordType(file_.get(), &kind));
      if (kind == IMAGE_DESC_RECORD_TYPE) return decode_picture(image);
      if (kind != EXTENSION_RECORD_TYPE) fail_gif(name_);
      skip_extension();
    }
  }

 private:
  struct Close {
    void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
  };

  void require(int code) const {
    if (code == GIF_ERROR) fail_gif(name_);
  }

  void skip_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    require(DGifGetExtension(file_.get(), &code, &block));
    while (block != nullptr) require(DGifGetExtensionNext(file_.get(), &block));
  }

  void decode_picture(Image& image) {
    require(DGifGetImageDesc(file_.get()));
    const GifImageDesc& place = file_->Image;
    const ColorMapObject* colours = place.ColorMap != nullptr ? place.ColorMap : file_->SColorMap;
    const bool inside = place.Left >= 0 && place.Top >= 0 && place.Width > 0 && place.Height > 0 &&
                        place.Left + place.Width <= image.width && place.Top + place.Height <= image.height;
    if (colours == nullptr || !inside) fail_gif(name_);
    std::vector<GifPixelType> row(place.Width);
    // Interlaced rows come in four passes.
    constexpr int kStart[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
    for (int pass = 0; pass < (place.Interlace ? 4 : 1); ++pass) {
      for (int y = place.Interlace ? kStart[pass] : 0; y < place.Height; y += place.Interlace ? kStep[pass] : 1) {
        require(DGifGetLine(file_.get(), row.data(), place.Width));
        paint(row, *colours, image.row(place.Top + y) + 3 * place.Left);
      }
    }
  }

  void paint(const std::vector<GifPixelType>& row, const ColorMapObject& colours, uint8_t* out) const {
    for (const GifPixelType index : row) {
      if (index >= colours.ColorCount) fail_gif(name_);
      const GifColorType& colour = colours.Colors[index];
      *out++ = colour.Red;
      *out++ = colour.Green;
      *out++ = colour.Blue;
    }
  }

  GifSource source_;
  std::string name_;
  std::unique_ptr<GifFileType, Close> file_;
};

}  // namespace

Shape gif_shape(std::string_view bytes, const std::string& name) { return GifDecoder(bytes, name).shape(); }

void decode_gif(std::string_view bytes, const std::string& name, Image& image) {
  GifDecoder(bytes, name).decode(image);
}

}  // namespace nascent
#endif
