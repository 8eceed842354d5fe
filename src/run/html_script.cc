// The page's script: charts in place of the pictures, copy buttons. Without it everything can still be read.
#include <array>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/run/html.h"
#include "nascent/run/web_files.h"

namespace nascent::html {
namespace {

// Of the live page's modules those that a report needs, each after what it imports.
constexpr std::array<std::string_view, 5> kModules = {"dom.js", "chart.js", "curves.js", "surface.js", "report.js"};

std::string_view module_text(std::string_view name) {
  for (const auto& file : embedded::web_files()) {
    if (file.name == name) return file.text;
  }
  fail("The program was built without {}, which reports need.", name);
}

// A page that is one file has nothing to import from: put one after another, modules share their names.
std::string without_module_words(std::string_view text) {
  constexpr std::string_view kExport = "export ";
  std::string plain;
  for (const std::string& line : split(std::string(text), '\n')) {
    if (line.starts_with("import ")) continue;
    plain += line.starts_with(kExport) ? line.substr(kExport.size()) : line;
    plain += '\n';
  }
  return plain;
}

std::string joined_modules() {
  std::string all = "(() => {\n\"use strict\";\n";
  for (const auto name : kModules) all += without_module_words(module_text(name));
  return all + "})();\n";
}

}  // namespace

std::string_view script() {
  static const std::string text = joined_modules();
  return text;
}

}  // namespace nascent::html
