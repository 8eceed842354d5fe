#include "nascent/core/zip.h"

#include <cstdint>

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64Locator = 0x07064b50,
                   kEnd64 = 0x06064b50;
constexpr uint64_t kElsewhere = 0xffffffff;  // the number stands in a 64-bit field

class ZipReader {
 public:
  ZipReader(std::string_view bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  std::map<std::string, std::string_view> read() {
    std::map<std::string, std::string_view> entries;
    auto [at, count] = directory();
    for (uint64_t i = 0; i < count; ++i) at = read_entry(at, entries);
    return entries;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    fail("{} is a damaged zip archive ({}), perhaps cut short. Fetch it again.", origin_, what);
  }

  std::string_view part(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) damaged("it ends within a record");
    return bytes_.substr(at, size);
  }

  uint64_t number(uint64_t at, int width) const {
    uint64_t value = 0;
    const std::string_view raw = part(at, width);
    for (int i = 0; i < width; ++i) value |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
    return value;
  }

  // Where the directory begins, and how many entries it has. Its own record is the last of the file, before a comment.
  std::pair<uint64_t, uint64_t> directory() const {
    constexpr uint64_t kRecord = 22, kMostComment = 65535;
    if (bytes_.size() < kRecord) damaged("it is too short");
    for (uint64_t back = kRecord; back <= bytes_.size() && back <= kRecord + kMostComment; ++back) {
      const uint64_t at = bytes_.size() - back;
      if (number(at, 4) != kEnd || number(at + 20, 2) != back - kRecord) continue;
      if (number(at + 16, 4) != kElsewhere && number(at + 10, 2) != 0xffff)
        return {number(at + 16, 4), number(at + 10, 2)};
      if (at < 20 || number(at - 20, 4) != kEnd64Locator) damaged("its 64-bit directory is missing");
      const uint64_t wide = number(at - 12, 8);
      if (number(wide, 4) != kEnd64) damaged("its 64-bit directory is missing");
      return {number(wide + 48, 8), number(wide + 32, 8)};
    }
    damaged("it has no directory");
  }

  // The 64-bit numbers that an entry's own fields had no room for come in their order.
  void widen(uint64_t extra, uint64_t length, std::initializer_list<uint64_t*> fields) const {
    for (uint64_t at = extra; at + 4 <= extra + length;) {
      const uint64_t id = number(at, 2), size = number(at + 2, 2);
      if (id == 1) {
        uint64_t next = at + 4;
        for (uint64_t* field : fields) {
          if (*field != kElsewhere) continue;
          *field = number(next, 8);
          next += 8;
        }
        return;
      }
      at += 4 + size;
    }
  }

  uint64_t read_entry(uint64_t at, std::map<std::string, std::string_view>& entries) const {
    if (number(at, 4) != kCentral) damaged("its directory is not one");
    const uint64_t method = number(at + 10, 2), checksum = number(at + 16, 4);
    uint64_t stored = number(at + 20, 4), size = number(at + 24, 4), local = number(at + 42, 4);
    const uint64_t name_size = number(at + 28, 2), extra_size = number(at + 30, 2), comment_size = number(at + 32, 2);
    const std::string name(part(at + 46, name_size));
    widen(at + 46 + name_size, extra_size, {&size, &stored, &local});
    if (method != 0 || stored != size) {
      fail(
          "{}: the entry '{}' is compressed; entries that are stored as they are can be read, as torch.save writes "
          "them.",
          origin_, name);
    }
    if (number(local, 4) != kLocal) damaged("an entry is not where its directory says");
    const std::string_view contents = part(local + 30 + number(local + 26, 2) + number(local + 28, 2), size);
    if (crc32(contents) != checksum) damaged("the checksum of '" + name + "' is wrong");
    entries[name] = contents;
    return at + 46 + name_size + extra_size + comment_size;
  }

  std::string_view bytes_;
  const std::string& origin_;
};

}  // namespace

std::map<std::string, std::string_view> read_zip(std::string_view bytes, const std::string& origin) {
  return ZipReader(bytes, origin).read();
}

}  // namespace nascent
