#include "nascent/space/shipped_genotypes.h"

#include <map>

namespace nascent {

namespace {

struct Shipped {
  const char* space;
  const char* text;
};

const std::map<std::string, Shipped>& table() {
  static const std::map<std::string, Shipped> shipped = {
      {"darts-v1", {"darts", R"(Genotype(
  normal=[('sep_conv_3x3', 1), ('sep_conv_3x3', 0),
          ('skip_connect', 0), ('sep_conv_3x3', 1),
          ('skip_connect', 0), ('sep_conv_3x3', 1),
          ('sep_conv_3x3', 0), ('skip_connect', 2)],
  normal_concat=range(2, 6),
  reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1),
          ('skip_connect', 2), ('max_pool_3x3', 0),
          ('max_pool_3x3', 0), ('skip_connect', 2),
          ('skip_connect', 2), ('avg_pool_3x3', 0)],
  reduce_concat=range(2, 6)))"}},
      {"darts-v2", {"darts", R"(Genotype(
  normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1),
          ('sep_conv_3x3', 0), ('sep_conv_3x3', 1),
          ('sep_conv_3x3', 1), ('skip_connect', 0),
          ('skip_connect', 0), ('dil_conv_3x3', 2)],
  normal_concat=range(2, 6),
  reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1),
          ('skip_connect', 2), ('max_pool_3x3', 1),
          ('max_pool_3x3', 0), ('skip_connect', 2),
          ('skip_connect', 2), ('max_pool_3x3', 1)],
  reduce_concat=range(2, 6)))"}},
      {"snas", {"darts", R"(Genotype(
  normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1),
          ('skip_connect', 0), ('dil_conv_3x3', 1),
          ('skip_connect', 0), ('skip_connect', 1),
          ('skip_connect', 0), ('sep_conv_3x3', 1)],
  normal_concat=range(2, 6),
  reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1),
          ('skip_connect', 2), ('max_pool_3x3', 1),
          ('max_pool_3x3', 1), ('skip_connect', 2),
          ('dil_conv_5x5', 2), ('max_pool_3x3', 0)],
  reduce_concat=range(2, 6)))"}},
      // Xu et al. 2020, searched on CIFAR-10 and on ImageNet.
      {"pc-darts", {"darts", R"(Genotype(
  normal=[('sep_conv_3x3', 1), ('skip_connect', 0),
          ('sep_conv_3x3', 0), ('dil_conv_3x3', 1),
          ('sep_conv_5x5', 0), ('sep_conv_3x3', 1),
          ('avg_pool_3x3', 0), ('dil_conv_3x3', 1)],
  normal_concat=range(2, 6),
  reduce=[('sep_conv_5x5', 1), ('max_pool_3x3', 0),
          ('sep_conv_5x5', 1), ('sep_conv_5x5', 2),
          ('sep_conv_3x3', 0), ('sep_conv_3x3', 3),
          ('sep_conv_3x3', 1), ('sep_conv_3x3', 2)],
  reduce_concat=range(2, 6)))"}},
      {"pc-darts-imagenet", {"darts", R"(Genotype(
  normal=[('skip_connect', 1), ('sep_conv_3x3', 0),
          ('sep_conv_3x3', 0), ('skip_connect', 1),
          ('sep_conv_3x3', 1), ('sep_conv_3x3', 3),
          ('sep_conv_3x3', 1), ('dil_conv_5x5', 4)],
  normal_concat=range(2, 6),
  reduce=[('sep_conv_3x3', 0), ('skip_connect', 1),
          ('dil_conv_5x5', 2), ('max_pool_3x3', 1),
          ('sep_conv_3x3', 2), ('sep_conv_3x3', 1),
          ('sep_conv_5x5', 0), ('sep_conv_3x3', 3)],
  reduce_concat=range(2, 6)))"}},
      // Li et al. 2021 (GAEA), Fig. 3: GAEA PC-DARTS on ImageNet. The cells found on CIFAR-10 are published as a
      // drawing only.
      {"gaea-imagenet", {"darts", R"(Genotype(
  normal=[('skip_connect', 1), ('skip_connect', 0),
          ('sep_conv_3x3', 2), ('sep_conv_3x3', 1),
          ('sep_conv_5x5', 2), ('sep_conv_3x3', 0),
          ('sep_conv_5x5', 3), ('sep_conv_5x5', 2)],
  normal_concat=range(2, 6),
  reduce=[('max_pool_3x3', 1), ('sep_conv_3x3', 0),
          ('sep_conv_5x5', 1), ('dil_conv_5x5', 2),
          ('sep_conv_3x3', 1), ('sep_conv_3x3', 3),
          ('sep_conv_5x5', 1), ('max_pool_3x3', 2)],
  reduce_concat=range(2, 6)))"}},
      // Zhou et al. 2020, searched on CIFAR-10.
      {"pr-darts", {"darts", R"(Genotype(
  normal=[('skip_connect', 0), ('sep_conv_3x3', 1),
          ('dil_conv_3x3', 2), ('sep_conv_3x3', 0),
          ('dil_conv_3x3', 3), ('sep_conv_3x3', 1),
          ('dil_conv_3x3', 4), ('dil_conv_3x3', 1)],
  normal_concat=range(2, 6),
  reduce=[('avg_pool_3x3', 0), ('dil_conv_5x5', 1),
          ('sep_conv_3x3', 0), ('dil_conv_5x5', 2),
          ('sep_conv_5x5', 1), ('dil_conv_3x3', 3),
          ('dil_conv_5x5', 4), ('dil_conv_5x5', 1)],
  reduce_concat=range(2, 6)))"}},
      {"enas", {"nasnet", R"(Genotype(
  normal=[('sep_conv_3x3', 1), ('skip_connect', 1),
          ('sep_conv_5x5', 1), ('skip_connect', 0),
          ('avg_pool_3x3', 0), ('sep_conv_3x3', 1),
          ('sep_conv_3x3', 0), ('avg_pool_3x3', 1),
          ('sep_conv_5x5', 1), ('avg_pool_3x3', 0)],
  normal_concat=range(2, 7),
  reduce=[('sep_conv_5x5', 0), ('avg_pool_3x3', 1),
          ('sep_conv_3x3', 1), ('avg_pool_3x3', 1),
          ('sep_conv_3x3', 1), ('avg_pool_3x3', 1),
          ('sep_conv_5x5', 4), ('avg_pool_3x3', 1),
          ('sep_conv_3x3', 5), ('sep_conv_5x5', 0)],
  reduce_concat=[2, 3, 6]))"}},
      {"nasnet", {"nasnet", R"(Genotype(
  normal=[('sep_conv_5x5', 1), ('sep_conv_3x3', 0),
          ('sep_conv_5x5', 0), ('sep_conv_3x3', 0),
          ('avg_pool_3x3', 1), ('skip_connect', 0),
          ('avg_pool_3x3', 0), ('avg_pool_3x3', 0),
          ('sep_conv_3x3', 1), ('skip_connect', 1)],
  normal_concat=range(2, 7),
  reduce=[('sep_conv_5x5', 1), ('sep_conv_7x7', 0),
          ('max_pool_3x3', 1), ('sep_conv_7x7', 0),
          ('avg_pool_3x3', 1), ('sep_conv_5x5', 0),
          ('skip_connect', 3), ('avg_pool_3x3', 2),
          ('sep_conv_3x3', 2), ('max_pool_3x3', 1)],
  reduce_concat=range(4, 7)))"}},
      {"amoebanet", {"nasnet", R"(Genotype(
  normal=[('avg_pool_3x3', 0), ('max_pool_3x3', 1),
          ('sep_conv_3x3', 0), ('sep_conv_5x5', 2),
          ('sep_conv_3x3', 0), ('avg_pool_3x3', 3),
          ('sep_conv_3x3', 1), ('skip_connect', 1),
          ('skip_connect', 0), ('avg_pool_3x3', 1)],
  normal_concat=range(4, 7),
  reduce=[('avg_pool_3x3', 0), ('sep_conv_3x3', 1),
          ('max_pool_3x3', 0), ('sep_conv_7x7', 2),
          ('sep_conv_7x7', 0), ('avg_pool_3x3', 1),
          ('max_pool_3x3', 0), ('max_pool_3x3', 1),
          ('conv_7x1_1x7', 0), ('sep_conv_3x3', 5)],
  reduce_concat=[3, 4, 6]))"}},
  };
  return shipped;
}

}  // namespace

std::optional<Genotype> shipped_genotype(const std::string& name) {
  const auto it = table().find(name);
  if (it == table().end()) return std::nullopt;
  return parse_genotype(it->second.text, "darts", it->second.space);
}

std::vector<std::string> known_genotypes() {
  std::vector<std::string> names;
  for (const auto& [name, shipped] : table()) names.push_back(name);
  return names;
}

}  // namespace nascent
