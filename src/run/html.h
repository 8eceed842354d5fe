// The few pieces of HTML that the report is built from. Text goes through escape(), always; what is named `markup` is
// HTML already.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nascent/core/options.h"

namespace nascent::html {

std::string escape(std::string_view text);

// A section with a heading; "" where there is nothing to show.
std::string section(const std::string& heading, const std::string& markup);
std::string details(const std::string& summary, const std::string& markup, bool open = false);
// Text to copy, with a button that does.
std::string copyable(const std::string& text);

// Cells hold markup. A row's class marks it ("changed"); rows may be shorter than the header.
struct Row {
  std::vector<std::string> cells;
  std::string css_class;
};
std::string table(const std::vector<std::string>& header, const std::vector<Row>& rows);

// A whole page that needs nothing but itself.
std::string page(const std::string& title, const std::string& markup);

// A value as people read it: 0.0251, yes, cosine, a, b, c.
std::string value_text(const Json& value);
// Four significant digits.
std::string number_text(double value);
// 3.35 M, 528 k.
std::string count_text(double count);
// "train_loss" as "train loss".
std::string words(std::string key);

// A file as an address that a page can hold: "data:image/png;base64,...".
std::string data_uri(const std::string& type, std::string_view bytes);

// The style sheet and the script of page().
std::string_view style_sheet();
std::string_view script();
// The light theme's value of a variable of the page ("axis", "c0"): the first in its style sheet.
std::string light_colour(const std::string& variable);

}  // namespace nascent::html
