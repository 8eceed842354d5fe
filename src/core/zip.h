// Zip archives whose entries are stored as they are, as PyTorch writes them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nascent {

// Names and contents, which are parts of `bytes`. A damaged archive, or an entry that is compressed, is an Error that
// names `origin`.
std::map<std::string, std::string_view> read_zip(std::string_view bytes, const std::string& origin);

}  // namespace nascent
