#include "nascent/run/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "nascent/core/text.h"

namespace nascent::html {

std::string escape(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string data_uri(const std::string& type, std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "data:" + type + ";base64,";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string section(const std::string& heading, const std::string& markup) {
  if (markup.empty()) return "";
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", escape(heading), markup);
}

std::string details(const std::string& summary, const std::string& markup, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open" : "", escape(summary), markup);
}

std::string copyable(const std::string& text) {
  return fmt::format(
      "<div class=\"copyable\"><button class=\"copy\" type=\"button\" hidden>Copy</button><pre>{}</pre></div>\n",
      escape(text));
}

std::string table(const std::vector<std::string>& header, const std::vector<Row>& rows) {
  std::string markup = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const auto& cell : header) markup += fmt::format("<th>{}</th>", escape(cell));
  markup += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    markup += row.css_class.empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", escape(row.css_class));
    for (const auto& cell : row.cells) markup += fmt::format("<td>{}</td>", cell);
    markup += "</tr>\n";
  }
  return markup + "</tbody>\n</table></div>\n";
}

std::string page(const std::string& title, const std::string& markup) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{}</main>\n<script>{}</script>\n</body>\n"
      "</html>\n",
      escape(title), style_sheet(), markup, script());
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "–";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t kShown = 16;
  std::vector<std::string> items;
  for (size_t i = 0; i < std::min(kShown, value.size()); ++i) items.push_back(value_text(value[i]));
  if (value.size() > kShown) items.push_back(fmt::format("… ({} in all)", value.size()));
  return join(items, ", ");
}

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

std::string count_text(double count) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [unit, name] : kUnits) {
    if (std::abs(count) >= unit) return fmt::format("{:.3g} {}", count / unit, name);
  }
  return fmt::format("{:.3g}", count);
}

std::string words(std::string key) {
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == '_' || c == '.'; }, ' ');
  return key;
}

std::string light_colour(const std::string& variable) {
  const std::string_view sheet = style_sheet();
  const std::string key = "--" + variable + ": ";
  const size_t at = sheet.find(key);
  return at == std::string_view::npos ? "#000000" : std::string(sheet.substr(at + key.size(), 7));
}

}  // namespace nascent::html
