// The manual page, made from the verbs and their options.
#pragma once

#include <string>

namespace nascent {

std::string manual_page();  // as man reads it

}  // namespace nascent
