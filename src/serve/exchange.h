// A request for a page and its answer, apart from how they travel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nascent/core/open_file.h"

namespace nascent::serve {

struct Request {
  std::string method = "GET";
  std::string path = "/";  // as it was sent: nothing is decoded, so what has a % in it names nothing here
  std::map<std::string, std::string> query{};
  std::string host{}, cookie{};
  std::string fetch_site{};  // Sec-Fetch-Site: which pages the browser asks for; empty from other programs
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
