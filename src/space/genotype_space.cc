#include "nascent/space/genotype_space.h"

#include <filesystem>

namespace nascent {

std::shared_ptr<const Space> space_of_genotype(const std::string& genotype, const std::string& space) {
  if (!space.empty()) return find_space(space);
  std::error_code none;  // text of a genotype may be too long for a file's name
  const auto copy = std::filesystem::path(genotype) / "space.toml";
  return find_space(std::filesystem::exists(copy, none) ? copy.string() : find_genotype(genotype).space);
}

}  // namespace nascent
