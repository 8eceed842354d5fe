#include "nascent/kernels/amx_kernels.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace nascent::kernels {

bool has_amx() {
  static const bool has = [] {
    constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kBf16) == 0 || (d & kTile) == 0) return false;
    // Linux gives their registers to those who ask.
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return has;
}

// Of GCC's own header, which leaves registers unset on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16,fma")

namespace {

constexpr int kSide = 16;          // pixels or outputs of a tile
constexpr int kDepth = 2 * kSide;  // what is summed up over in one
constexpr int kTileBytes = 64;     // of a row
constexpr int kTilesAtOnce = 4;    // of sums

// The shapes of the eight tiles, as the CPU reads them: four of sums, then factors of full depth and of what is left.
struct alignas(64) TileShapes {
  uint8_t palette = 0, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, int height, int bytes) {
    rows[tile] = static_cast<uint8_t>(height);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

enum Tile { kSums = 0, kLeft = 4, kLeftRest = 5, kRight = 6, kRightRest = 7 };

// The compiler does not know that tiles are loaded from memory: this makes what was written be there.
void finish_writing() { asm volatile("" ::: "memory"); }

// Tiles of the shapes that a product needs, while it lives. Giving tiles their shapes takes as long as some products,
// so they keep them for the next one; but those that another library gave them, which may count on them, come back.
class ShapedTiles {
 public:
  // `height` rows of sums; `rest` is the depth behind the last full one, -1 where nothing needs it.
  ShapedTiles(int height, int rest) {
    asm volatile("sttilecfg %0" : "=m"(before_));
    const bool ours = std::memcmp(&before_, &current.shapes, sizeof before_) == 0;
    foreign_ = !ours && before_.palette != 0;
    if (ours && current.height == height && (rest < 0 || current.rest == rest)) return;
    current = {.height = height, .rest = std::max(rest, 0)};
    TileShapes& shapes = current.shapes;
    shapes.palette = 1;
    for (int t = 0; t < kTilesAtOnce; ++t) shapes.set(kSums + t, height, kTileBytes);
    shapes.set(kLeft, height, kTileBytes);
    shapes.set(kRight, kSide, kTileBytes);
    if (rest > 0) {
      shapes.set(kLeftRest, height, 2 * rest);
      shapes.set(kRightRest, rest / 2, kTileBytes);
    }
    load(shapes);
  }
  ~ShapedTiles() {
    if (foreign_) load(before_);
  }
  ShapedTiles(const ShapedTiles&) = delete;

 private:
  struct Current {
    int height = 0, rest = 0;
    TileShapes shapes{};
  };
  static thread_local Current current;

  static void load(const TileShapes& shapes) { asm volatile("ldtilecfg %0" ::"m"(shapes)); }

  TileShapes before_;
  bool foreign_;
};

thread_local ShapedTiles::Current ShapedTiles::current;

void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// Where tiles of sums are put down: [tile][row][output].
struct Sums {
  alignas(64) float values[kTilesAtOnce][kSide][kSide];

  void take(int tiles) {
    _tile_stored(0, values[0], kTileBytes);
    if (tiles > 1) _tile_stored(1, values[1], kTileBytes);
    if (tiles > 2) _tile_stored(2, values[2], kTileBytes);
    if (tiles > 3) _tile_stored(3, values[3], kTileBytes);
  }
};

// sums[t] += left[t] * right, for tiles of pixels that begin `apart` numbers after one another.
#define NASCENT_TILE_PRODUCTS(LEFT, RIGHT)         \
  _tile_loadd(RIGHT, right, right_row);            \
  _tile_loadd(LEFT, left, left_row);               \
  _tile_dpbf16ps(0, LEFT, RIGHT);                  \
  if (tiles > 1) {                                 \
    _tile_loadd(LEFT, left + apart, left_row);     \
    _tile_dpbf16ps(1, LEFT, RIGHT);                \
  }                                                \
  if (tiles > 2) {                                 \
    _tile_loadd(LEFT, left + 2 * apart, left_row); \
    _tile_dpbf16ps(2, LEFT, RIGHT);                \
  }                                                \
  if (tiles > 3) {                                 \
    _tile_loadd(LEFT, left + 3 * apart, left_row); \
    _tile_dpbf16ps(3, LEFT, RIGHT);                \
  }

__m512 load_some(const float* from, __mmask16 which) { return _mm512_maskz_loadu_ps(which, from); }

__m512 load_some(const Bf16* from, __mmask16 which) {
  const __m512i upper = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(which, from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(upper, 16));
}

void store_some(__m512 x, float* to, __mmask16 which) { _mm512_mask_storeu_ps(to, which, x); }

void store_some(__m512 x, Bf16* to, __mmask16 which) {
  _mm256_mask_storeu_epi16(to, which, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}

__mmask16 first_of(int count) { return static_cast<__mmask16>((1u << std::min(count, kSide)) - 1); }

template <class To>
class TileProduct {
 public:
  explicit TileProduct(const Dense& it)
      : it_(it),
        in_(it.in.as<Bf16>()),
        weights_(it.weights.as<Bf16>()),
        inputs_(padded(it.ci)),
        line_(2 * paired_outputs(it.co)),
        height_(std::min(kSide, it.pixels)) {}

  void run() const {
    const ShapedTiles shaped(height_, inputs_ % kDepth);
    // Whole tiles; the last one may repeat some pixels of the one before.
    const int last = it_.pixels - height_;
    for (int i = 0; i < it_.pixels; i += kTilesAtOnce * kSide) {
      const int tiles = std::min(kTilesAtOnce, (it_.pixels - i + kSide - 1) / kSide),
                whole = i > last ? 0 : (last - i) / kSide + 1;
      for (int o = 0; o < it_.co; o += kSide) {
        if (whole >= tiles) {
          add_up(i, o, tiles);
          write(i, i, o, tiles);
          continue;
        }
        if (whole > 0) {
          add_up(i, o, whole);
          write(i, i, o, whole);
        }
        add_up(last, o, 1);
        write(last, i + whole * kSide, o, 1);
      }
    }
  }

 private:
  void add_up(int pixel, int output, int tiles) const {
    const ptrdiff_t left_row = 2 * it_.step, right_row = 2 * line_, apart = kSide * it_.step;
    clear_sums();
    for (int t = 0; t < it_.taps.count; ++t) {
      const Bf16* left = in_ + pixel * it_.step + it_.taps.offsets[t];
      const Bf16* right = weights_ + static_cast<ptrdiff_t>(t) * (inputs_ / 2) * line_ + 2 * output;
      int k = 0;
      for (; k + kDepth <= inputs_; k += kDepth, left += kDepth, right += kSide * line_) {
        NASCENT_TILE_PRODUCTS(4, 6)
      }
      if (k < inputs_) {
        NASCENT_TILE_PRODUCTS(5, 7)
      }
    }
    sums_.take(tiles);
  }

  // The sums of tiles from pixel `first` on, of which those from `from` on are wanted.
  void write(int first, int from, int output, int tiles) const {
    const int end = std::min(first + tiles * kSide, it_.pixels);
    const __mmask16 which = first_of(it_.co - output);
    const Start& start = it_.start;
    const bool alike = start.values && start.pixel == 0, own = start.values && start.pixel != 0;
    const __m512 shared = alike ? load_some(start.values.as<float>() + output, which) : _mm512_setzero_ps();
    const float* sums = sums_.values[0][from - first];
    To* to = it_.out.first.as<To>() + from * it_.out.pixel + output;
    const To* begin = own ? start.values.as<To>() + from * start.pixel + output : nullptr;
    for (int i = from; i < end; ++i, sums += kSide, to += it_.out.pixel) {
      __m512 sum = _mm512_add_ps(_mm512_load_ps(sums), shared);
      if (own) {
        sum = _mm512_add_ps(sum, load_some(begin, which));
        begin += start.pixel;
      }
      store_some(sum, to, which);
    }
  }

  const Dense& it_;
  const Bf16 *in_, *weights_;
  int inputs_;
  ptrdiff_t line_;  // of weights
  int height_;      // of tiles of pixels
  mutable Sums sums_;
};

// ---- gradients of weights: inputs, turned around, times gradients; the depth is that of pixels

constexpr int kMostPixels = 256;  // whose gradients are prepared at a time

// Where pixels are, of some rows of an image; null behind the last. In whole tiles.
struct PixelList {
  // `count` of them, from the `from`-th on; rows are `width` pixels wide.
  void fill(const Rows<const Stored>& rows, ptrdiff_t pixel, int width, int from, int count) {
    int x = from % width;
    const Bf16* at = rows.pixels.as<Bf16>() + from / width * rows.row + x * pixel;
    for (int i = 0; i < count; ++i, at += pixel) {
      if (x == width) {
        x = 0;
        at += rows.row - width * pixel;
      }
      ++x;
      pixels[i] = at;
    }
    std::fill(pixels + count, pixels + (count + kDepth - 1) / kDepth * kDepth, nullptr);
  }

  const Bf16* pixels[kMostPixels];
};

const Bf16* from_channel(const Bf16* pixel, ptrdiff_t channel) { return pixel ? pixel + channel : nullptr; }

// 16 channels of two pixels in pairs; null: zeros.
__m512i pairs_of(const Bf16* first, const Bf16* second, __mmask16 which) {
  const auto upper = [&](const Bf16* from) {
    return from ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(which, from)) : _mm512_setzero_si512();
  };
  return _mm512_or_si512(upper(first), _mm512_slli_epi32(upper(second), 16));
}

// A tile of 16 x 16 pairs, turned around.
void turn(const __m512i (&from)[kSide], uint32_t (*to)[kSide]) {
  __m512i a[kSide], b[kSide];
#pragma GCC unroll 16
  for (int i = 0; i < kSide; i += 2) {
    a[i] = _mm512_unpacklo_epi32(from[i], from[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(from[i], from[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSide; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  // b[4 q + r], in its block g of 128 bits: column 4 g + r of rows 4 q to 4 q + 3.
#pragma GCC unroll 16
  for (int r = 0; r < 4; ++r) {
    const __m512i low = _mm512_shuffle_i32x4(b[r], b[4 + r], 0x88), high = _mm512_shuffle_i32x4(b[r], b[4 + r], 0xdd);
    const __m512i more_low = _mm512_shuffle_i32x4(b[8 + r], b[12 + r], 0x88),
                  more_high = _mm512_shuffle_i32x4(b[8 + r], b[12 + r], 0xdd);
    _mm512_store_si512(to[r], _mm512_shuffle_i32x4(low, more_low, 0x88));
    _mm512_store_si512(to[8 + r], _mm512_shuffle_i32x4(low, more_low, 0xdd));
    _mm512_store_si512(to[4 + r], _mm512_shuffle_i32x4(high, more_high, 0x88));
    _mm512_store_si512(to[12 + r], _mm512_shuffle_i32x4(high, more_high, 0xdd));
  }
}

class TileWeights {
 public:
  explicit TileWeights(const DenseWeights& sums) : it_(sums) {}

  void run() {
    const ShapedTiles shaped(kSide, -1);
    const int width = it_.pairs.pixels, pixels = it_.pairs.rows * width;
    for (int i = 0; i < pixels; i += kMostPixels) {
      count_ = std::min(kMostPixels, pixels - i);
      in_.fill(it_.pairs.in, it_.step, width, i, count_);
      gradient_.fill(it_.pairs.gradient, it_.co, width, i, count_);
      for (int o = 0; o < it_.co; o += kTilesAtOnce * kSide) add_outputs(o);
    }
  }

 private:
  void add_outputs(int output) {
    const int tiles = std::min(kTilesAtOnce, (it_.co - output + kSide - 1) / kSide);
    for (int t = 0; t < tiles; ++t) prepare_gradients(output + t * kSide, t);
    for (int tap = 0; tap < it_.taps.count; ++tap) {
      for (int k = 0; k < it_.ci; k += kSide) {
        clear_sums();
        for (int i = 0; i < count_; i += kDepth) {
          prepare_inputs(i, it_.taps.offsets[tap] + k, it_.ci - k);
          finish_writing();
          const uint32_t* right = gradients_[i / 2][0];
          constexpr int kRow = kTilesAtOnce * kTileBytes;
          _tile_loadd(4, inputs_, kTileBytes);
          _tile_loadd(6, right, kRow);
          _tile_dpbf16ps(0, 4, 6);
          if (tiles > 1) {
            _tile_loadd(6, right + kSide, kRow);
            _tile_dpbf16ps(1, 4, 6);
          }
          if (tiles > 2) {
            _tile_loadd(6, right + 2 * kSide, kRow);
            _tile_dpbf16ps(2, 4, 6);
          }
          if (tiles > 3) {
            _tile_loadd(6, right + 3 * kSide, kRow);
            _tile_dpbf16ps(3, 4, 6);
          }
        }
        sums_.take(tiles);
        add(tap, k, output, tiles);
      }
    }
  }

  void prepare_gradients(int output, int tile) {
    const __mmask16 which = first_of(it_.co - output);
    const Bf16* const* pixels = gradient_.pixels;
    for (int i = 0; i < (count_ + kDepth - 1) / kDepth * kDepth; i += 2)
      _mm512_store_si512(gradients_[i / 2][tile],
                         pairs_of(from_channel(pixels[i], output), from_channel(pixels[i + 1], output), which));
  }

  void prepare_inputs(int i, ptrdiff_t offset, int channels) {
    const __mmask16 which = first_of(channels);
    const Bf16* const* pixels = in_.pixels + i;
    __m512i pairs[kSide];
#pragma GCC unroll 16
    for (int r = 0; r < kSide; ++r)
      pairs[r] = pairs_of(from_channel(pixels[2 * r], offset), from_channel(pixels[2 * r + 1], offset), which);
    turn(pairs, inputs_);
  }

  void add(int tap, int input, int output, int tiles) {
    const int inputs = std::min(kSide, it_.ci - input);
    for (int t = 0; t < tiles; ++t) {
      const int first = output + t * kSide;
      const __mmask16 which = first_of(it_.co - first);
      for (int k = 0; k < inputs; ++k) {
        float* to = it_.gradients + (static_cast<ptrdiff_t>(tap) * it_.ci + input + k) * it_.co + first;
        store_some(_mm512_add_ps(load_some(to, which), _mm512_load_ps(sums_.values[t][k])), to, which);
      }
    }
  }

  const DenseWeights& it_;
  PixelList in_, gradient_;
  int count_ = 0;  // of pixels
  alignas(64) uint32_t gradients_[kMostPixels / 2][kTilesAtOnce][kSide];
  alignas(64) uint32_t inputs_[kSide][kSide];
  Sums sums_;
};

}  // namespace

void dense_by_tiles(const Dense& convolution) {
  if (convolution.out.first.precision() == Precision::single) {
    TileProduct<float>(convolution).run();
  } else {
    TileProduct<Bf16>(convolution).run();
  }
}

void dense_weights_by_tiles(const DenseWeights& sums) { TileWeights(sums).run(); }

#pragma GCC pop_options

}  // namespace nascent::kernels
