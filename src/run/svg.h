// Drawings of other programs made fit to stand inside an HTML page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nascent {

// Every <svg> element of a program's output, without XML prologue, comments, titles, definitions and ids: several of
// them share one page, where ids would clash.
std::vector<std::string> inline_svgs(std::string_view output);

std::string replace_all(std::string text, std::string_view from, std::string_view to);

}  // namespace nascent
