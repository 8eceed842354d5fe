// The page's own files, embedded when the program is built.
#pragma once

#include <string_view>
#include <vector>

namespace nascent::embedded {

struct WebFile {
  std::string_view name, text;  // "main.js"
};

const std::vector<WebFile>& web_files();

}  // namespace nascent::embedded
