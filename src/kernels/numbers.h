// The numbers that images are stored as: floats, or their upper halves (bf16), in half the memory. Sums are floats in
// either case.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace nascent::kernels {

enum class Precision { single, bf16 };

struct Bf16 {
  uint16_t bits;
};

inline float widened(Bf16 number) { return std::bit_cast<float>(uint32_t{number.bits} << 16); }

// To the nearest, ties to even. What is not a number stays so: of its bits, rounding could make a number.
inline Bf16 rounded(float number) {
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  constexpr uint32_t kInfinity = 0x7f800000, kQuiet = 0x40;
  if ((bits & 0x7fffffff) > kInfinity) return {static_cast<uint16_t>(bits >> 16 | kQuiet)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

constexpr size_t bytes_of(Precision precision) { return precision == Precision::single ? sizeof(float) : sizeof(Bf16); }
// Memory is handed out in floats.
constexpr size_t floats_for(size_t numbers, Precision precision) {
  return (numbers * bytes_of(precision) + sizeof(float) - 1) / sizeof(float);
}

// A place in an array of numbers of either kind, counted in numbers like a pointer. `Byte` may be const.
template <class Byte>
class NumbersAt {
  template <class Number>
  using Like = std::conditional_t<std::is_const_v<Byte>, const Number, Number>;

 public:
  constexpr NumbersAt() = default;
  constexpr NumbersAt(std::nullptr_t) {}
  NumbersAt(Like<float>* first) : data_(reinterpret_cast<Byte*>(first)) {}
  NumbersAt(Like<Bf16>* first) : data_(reinterpret_cast<Byte*>(first)), precision_(Precision::bf16) {}
  NumbersAt(Like<void>* first, Precision precision) : data_(static_cast<Byte*>(first)), precision_(precision) {}
  template <class Other>
  requires(std::is_const_v<Byte> && !std::is_const_v<Other>) NumbersAt(const NumbersAt<Other>& other)
      : data_(other.data()), precision_(other.precision()) {}

  Byte* data() const { return data_; }
  Precision precision() const { return precision_; }
  explicit operator bool() const { return data_; }
  // As what they are stored as.
  template <class Number>
  Like<Number>* as() const {
    return reinterpret_cast<Like<Number>*>(data_);
  }

  NumbersAt operator+(ptrdiff_t numbers) const {
    NumbersAt sum = *this;
    sum.data_ += numbers * static_cast<ptrdiff_t>(bytes_of(precision_));
    return sum;
  }
  NumbersAt operator-(ptrdiff_t numbers) const { return *this + -numbers; }
  NumbersAt& operator+=(ptrdiff_t numbers) { return *this = *this + numbers; }
  bool operator==(const NumbersAt&) const = default;

 private:
  Byte* data_ = nullptr;
  Precision precision_ = Precision::single;
};

using Numbers = NumbersAt<std::byte>;
using ConstNumbers = NumbersAt<const std::byte>;

// What points at numbers: at floats a pointer, at stored ones, which may be of either kind, one of the above.
struct Stored;
template <class Number>
struct PointerTo {
  using Type = Number*;
};
template <>
struct PointerTo<Stored> {
  using Type = Numbers;
};
template <>
struct PointerTo<const Stored> {
  using Type = ConstNumbers;
};
template <class Number>
using At = typename PointerTo<Number>::Type;

// Number by number, for the few that fill no vectors.
void copy_numbers(ConstNumbers from, size_t count, Numbers to);
void clear_numbers(Numbers at, size_t count);

}  // namespace nascent::kernels
