#include "nascent/run/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <ctime>
#include <optional>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/run/event_store.h"
#include "nascent/run/subprocess.h"
#include "nascent/space/drawing.h"

namespace nascent {
namespace {

constexpr size_t kMostPictures = 60;  // of one run: each takes a call of dot

template <class T>
std::string little_endian(T value) {
  static_assert(std::endian::native == std::endian::little);
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Protocol buffers: a field is its number and wire type, then a value. Numbers of fields are TensorFlow's
// (tensorflow/core/util/event.proto, framework/summary.proto).
enum class Wire { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string tag(int field, Wire wire) {
  return varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}

std::string bytes_field(int field, std::string_view bytes) {
  return tag(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}
std::string double_field(int field, double value) { return tag(field, Wire::eight_bytes) + little_endian(value); }
std::string float_field(int field, float value) { return tag(field, Wire::four_bytes) + little_endian(value); }
std::string integer_field(int field, int64_t value) {
  return tag(field, Wire::varint) + varint(static_cast<uint64_t>(value));
}

std::string masked_checksum(std::string_view bytes) {
  const uint32_t sum = crc32c(bytes);
  return little_endian<uint32_t>((sum >> 15 | sum << 17) + 0xa282ead8U);
}

std::string record(std::string_view bytes) {
  const std::string length = little_endian<uint64_t>(bytes.size());
  return length + masked_checksum(length) + std::string(bytes) + masked_checksum(bytes);
}

std::string scalar_value(const std::string& name, double value) {
  return bytes_field(1, bytes_field(1, name) + float_field(2, static_cast<float>(value)));
}

// Width and height of a PNG stand at fixed places.
std::optional<std::pair<uint32_t, uint32_t>> size_of_png(const std::string& png) {
  if (png.size() < 24 || !png.starts_with("\x89PNG")) return std::nullopt;
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(png[at + i]);
    return value;
  };
  return std::pair(number(16), number(20));
}

std::string picture_value(const std::string& name, const std::string& png) {
  const auto size = size_of_png(png);
  if (!size) return "";
  constexpr int kColours = 3;  // RGB
  const std::string image =
      integer_field(1, size->second) + integer_field(2, size->first) + integer_field(3, kColours) + bytes_field(4, png);
  return bytes_field(1, bytes_field(1, name) + bytes_field(4, image));
}

int64_t start_of(const RunDirectory& run) {
  std::tm time{};
  const std::string started = run.info().value("started", "");
  return strptime(started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr ? 0 : timegm(&time);
}

// Gathers the records of a run.
class TensorBoardWriter {
 public:
  explicit TensorBoardWriter(int64_t start) : start_(start), time_(static_cast<double>(start)) {
    bytes_ = record(double_field(1, time_) + bytes_field(3, "brain.Event:2"));
  }

  void take(const Event& event) {
    if (!event.values.is_object()) return;
    // Epochs say how long they took; that is all that is known of when things happened.
    if (event.kind == "epoch") time_ += number_or_zero(event.values, "seconds");
    if (event.kind == "architecture") return take_architecture(event);
    std::string summary;
    for (const auto& [key, value] : event.values.items()) {
      if (!value.is_number()) continue;
      summary += scalar_value(event.kind + "/" + key, value.get<double>());
      ++scalars_;
    }
    add(event.step, summary);
  }

  void add_cell(int64_t step, const std::string& name, const Genotype& genotype) {
    const auto drawn = pictures_ < kMostPictures ? run_program({"dot", "-Tpng"}, to_dot(genotype)) : std::nullopt;
    if (pictures_ == 0 && !drawn) log::warning("graphviz (dot) could not be run, so there are no pictures of cells.");
    if (!drawn || drawn->exit_code != 0) return;
    const std::string picture = picture_value(name, drawn->out);
    if (picture.empty()) return;
    ++pictures_;
    add(step, picture);
  }

  TensorBoardFile write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    const auto path = folder / fmt::format("events.out.tfevents.{}.nascent", start_);
    write_file(path, bytes_);
    return {path, scalars_, pictures_};
  }

 private:
  static double number_or_zero(const Json& values, const char* key) {
    return values.contains(key) && values[key].is_number() ? values[key].get<double>() : 0;
  }

  void take_architecture(const Event& event) {
    if (!event.values.contains("genotype") || !event.values["genotype"].is_string()) return;
    const std::string text = event.values["genotype"];
    if (text == last_cell_) return;
    last_cell_ = text;
    try {
      add_cell(event.step, "cell over time", parse_genotype(text, "json"));
    } catch (const Error&) {  // operations that this program does not know cannot be drawn
    }
  }

  void add(int64_t step, const std::string& summary) {
    if (summary.empty()) return;
    bytes_ += record(double_field(1, time_) + integer_field(2, step) + bytes_field(5, summary));
  }

  int64_t start_;
  double time_;
  std::string bytes_, last_cell_;
  size_t scalars_ = 0, pictures_ = 0;
};

std::array<uint32_t, 256> castagnoli_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0x82f63b78U : 0);
    table[byte] = sum;
  }
  return table;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const auto kTable = castagnoli_table();
  uint32_t sum = ~0U;
  for (const char c : bytes) sum = sum >> 8 ^ kTable[(sum ^ static_cast<unsigned char>(c)) & 0xff];
  return ~sum;
}

TensorBoardFile write_tensorboard(const RunDirectory& run, const std::filesystem::path& folder) {
  TensorBoardWriter writer(start_of(run));
  int64_t steps = 0;
  if (std::filesystem::exists(run.events_path())) {
    const EventStore store(run.events_path(), EventStore::Access::read);
    for (const Event& event : store.events()) writer.take(event);
    steps = store.last_step();
  }
  if (const auto genotype = run.genotype()) writer.add_cell(steps, "cell found", *genotype);
  return writer.write(folder);
}

}  // namespace nascent
