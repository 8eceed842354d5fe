// A request for a page and its answer, apart from how they travel.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nascent::serve {

struct Request {
  std::string method = "GET";
  std::string path = "/";  // as it was sent: nothing is decoded, so what has a % in it names nothing here
  std::map<std::string, std::string> query{};
  std::string host{}, cookie{};
  std::string fetch_site{};  // Sec-Fetch-Site: which pages the browser asks for; empty from other programs
};

// An open file that is closed once.
class OpenFile {
 public:
  explicit OpenFile(int descriptor = -1) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  // Instead of `body`, for what is long: a file, or pieces that are made while they are sent, the last of them "".
  OpenFile file{};
  uint64_t file_size = 0;
  std::function<std::string()> pieces{};
};

}  // namespace nascent::serve
