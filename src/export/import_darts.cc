#include "nascent/export/import_darts.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

// What the published code normalises CIFAR-10 and ImageNet by.
const ChannelStatistics kCifar{{0.49139968, 0.48215827, 0.44653124}, {0.24703233, 0.24348505, 0.26158768}};
const ChannelStatistics kImagenet{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

class DartsImport {
 public:
  DartsImport(const StateDict& theirs, const std::string& origin) : theirs_(theirs), origin_(origin) {}

  bool is_imagenet() const { return theirs_.count("stem0.0.weight") != 0; }

  NetworkOptions network() const {
    NetworkOptions options;
    options.skeleton = is_imagenet() ? "darts-imagenet" : "darts";
    options.channels =
        static_cast<int>(is_imagenet() ? weight("stem0.3.weight").size(0) : weight("stem.0.weight").size(0) / 3);
    for (const auto& [name, tensor] : theirs_) {
      if (!name.starts_with("cells.")) continue;
      options.cells = std::max(options.cells, std::atoi(name.c_str() + 6) + 1);
    }
    if (options.cells == 0) fail("{} has no weights 'cells.0...': it is not a DARTS network.", origin_);
    return options;
  }

  int classes() const { return static_cast<int>(weight("classifier.weight").size(0)); }
  int input_channels() const {
    return static_cast<int>(weight(is_imagenet() ? "stem0.0.weight" : "stem.0.weight").size(1));
  }

  void load(Network& network) {
    for (const auto& [name, tensor] : weights_of(network)) ours_[name] = tensor;
    const NetworkPlan& plan = network.plan();
    for (size_t i = 0; i < plan.stems.size(); ++i) {
      load_stages(plan.stems[i], fmt::format("stem{}.", i),
                  plan.stems.size() == 1 ? "stem." : fmt::format("stem{}.", i));
    }
    for (size_t i = 0; i < plan.cells.size(); ++i) load_cell(plan.cells[i], i);
    load_layer(fmt::format("head.{}.", plan.head.size() - 1), "classifier.");
    check_all_used();
  }

 private:
  const at::Tensor& weight(const std::string& name) const {
    const auto found = theirs_.find(name);
    if (found == theirs_.end()) {
      fail("{} has no weight '{}'. It is of another network, or of another genotype than the one given.", origin_,
           name);
    }
    return found->second;
  }

  void copy(const std::string& ours, const at::Tensor& theirs, const std::string& name) {
    at::Tensor target = ours_.at(ours);
    if (target.sizes() != theirs.sizes()) {
      fail("{}: '{}' is [{}]; the network of this genotype has [{}] there. Is it of another genotype?", origin_, name,
           fmt::join(theirs.sizes(), ", "), fmt::join(target.sizes(), ", "));
    }
    at::NoGradGuard no_grad;
    target.copy_(theirs);
  }

  // Every tensor that our layer has, under the same name in theirs.
  void load_layer(const std::string& ours, const std::string& theirs) {
    for (const char* which : {"weight", "bias", "running_mean", "running_var"}) {
      if (ours_.count(ours + which) == 0) continue;
      copy(ours + which, weight(theirs + which), theirs + which);
      used_.insert(theirs + which);
    }
  }

  void load_stages(const Stages& stages, const std::string& ours, const std::string& theirs) {
    for (size_t i = 0; i < stages.size(); ++i) {
      load_layer(fmt::format("{}{}.", ours, i), fmt::format("{}{}.", theirs, i));
    }
  }

  // An operation: a sequence "op", or a factorised reduce with two convolutions and a batch norm of their own names.
  void load_operation(const Stages& stages, const std::string& ours, const std::string& theirs) {
    const auto reduce = std::find_if(stages.begin(), stages.end(),
                                     [](const Stage& stage) { return stage.kind == StageKind::factorized_reduce; });
    if (reduce == stages.end()) return load_stages(stages, ours, theirs + "op.");
    const auto index = reduce - stages.begin();
    const std::string first = theirs + "conv_1.weight", second = theirs + "conv_2.weight";
    copy(fmt::format("{}{}.weight", ours, index), at::cat({weight(first), weight(second)}), first);
    used_.insert(first);
    used_.insert(second);
    load_layer(fmt::format("{}{}.", ours, index + 1), theirs + "bn.");
  }

  // Their operations are numbered through the cell, in the genotype's order.
  void load_cell(const CellPlan& cell, size_t number) {
    const std::string ours = fmt::format("cell{}.", number), theirs = fmt::format("cells.{}.", number);
    for (size_t i = 0; i < cell.preprocess.size(); ++i) {
      load_operation(cell.preprocess[i], fmt::format("{}pre{}.", ours, i), fmt::format("{}preprocess{}.", theirs, i));
    }
    int operation = 0;
    for (size_t n = 0; n < cell.nodes.size(); ++n) {
      std::map<int, int> seen;
      for (const EdgePlan& edge : cell.nodes[n].edges) {
        const int same = ++seen[edge.from];
        const std::string from =
            same == 1 ? fmt::format("from{}", edge.from) : fmt::format("from{}_{}", edge.from, same);
        const std::string name = fmt::format("{}node{}.{}.{}.", ours, cell.preprocess.size() + n, from, edge.ops.at(0));
        load_operation(edge.candidates.at(0), name, fmt::format("{}_ops.{}.", theirs, operation++));
      }
    }
  }

  void check_all_used() const {
    for (const auto& [name, tensor] : theirs_) {
      if (used_.count(name) != 0 || name.ends_with("num_batches_tracked") || name.starts_with("auxiliary_head."))
        continue;
      fail("{} has a weight '{}' that the network of this genotype has no place for. Is it of another genotype?",
           origin_, name);
    }
  }

  const StateDict& theirs_;
  const std::string& origin_;
  std::map<std::string, at::Tensor> ours_;
  std::set<std::string> used_;
};

std::vector<std::string> numbered(int classes) {
  std::vector<std::string> names;
  for (int i = 0; i < classes; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

}  // namespace

void ImportOptions::declare(OptionTable& table) {
  auto section = table.section("import", "Whose weights are read.");
  section.add("genotype", genotype, "genotype of the network: a built-in name, a file, or text in any form");
  section.add("space", space, "space of the genotype; empty: the one named in the genotype");
  section.add("side", side, "height and width of the images; 0: 32, and 224 with ImageNet's stem").range(0, 4096);
  section.add("mean", mean,
              "channel means, in 0..1, with which images are normalised; empty: as in the published code");
  section.add("deviation", deviation, "channel standard deviations, in the same way");
  section.add("class-names", class_names, "names of the classes; empty: their numbers");
  section.add("data", data, "data set on which it was trained, for 'nascent eval'; empty: unknown");
  section.add("path", path, "folder of that data set; empty: the usual places");
}

Model import_darts(const StateDict& weights, const ImportOptions& options, const std::string& origin) {
  if (options.genotype.empty()) fail("--genotype is missing, as in --genotype darts-v2: the weights do not tell it.");
  DartsImport import(weights, origin);
  Model model;
  model.genotype = find_genotype(options.genotype);
  model.network_options = import.network();
  const int side = options.side > 0 ? options.side : import.is_imagenet() ? 224 : 32;
  model.input = {import.input_channels(), side, side};
  const auto space = find_space(options.space.empty() ? model.genotype.space : options.space);
  const int classes = import.classes();
  model.network = std::make_shared<Network>(
      plan_network(*space, model.genotype, model.network_options, model.input, classes), /*seed=*/0);
  import.load(*model.network);
  model.network->eval();
  model.statistics = import.is_imagenet() ? kImagenet : kCifar;
  if (!options.mean.empty()) model.statistics.mean = options.mean;
  if (!options.deviation.empty()) model.statistics.deviation = options.deviation;
  if (import.is_imagenet()) {
    model.eval_transforms = {fmt::format("resize {}", side * 8 / 7), fmt::format("center-crop {}", side)};
  }
  model.class_names = options.class_names.empty() ? numbered(classes) : options.class_names;
  if (static_cast<int>(model.class_names.size()) != classes) {
    fail("--class-names has {} names; the network has {} classes.", model.class_names.size(), classes);
  }
  model.data.name = options.data;
  if (!options.path.empty()) model.data.path = std::filesystem::absolute(options.path).lexically_normal().string();
  return model;
}

}  // namespace nascent
