#include "score/te_nas.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/correlation.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "nn/network.h"
#include "score/linear_regions.h"
#include "score/sample_gradients.h"

namespace nascent {

void TeNasOptions::declare(OptionTable& table) {
  auto section = table.section("te-nas", "TE-NAS: search by pruning.");
  section.add("repeats", repeats, "initialisations that each measure is averaged over").range(1, 1000);
  section.add("kernel-images", batch, "images of the tangent kernel").range(2, 4096);
  section.add("kernel-channels", channels, "channels of the network that the tangent kernel is taken from")
      .range(1, 1024);
  section.add("region-images", regions, "images that linear regions are counted with").range(2, 1000000);
}

NetworkPlan pruned_plan(const NetworkPlan& supernet, const std::map<std::string, std::vector<std::vector<int>>>& left) {
  NetworkPlan plan = supernet;
  for (CellPlan& cell : plan.cells) {
    if (cell.type.empty()) continue;
    for (NodePlan& node : cell.nodes) {
      std::vector<EdgePlan> edges;
      for (const EdgePlan& edge : node.edges) {
        for (const int op : left.at(cell.type).at(edge.site)) {
          edges.push_back({.from = edge.from, .ops = {edge.ops[op]}, .candidates = {edge.candidates[op]}});
        }
      }
      node.edges = std::move(edges);
    }
  }
  return plan;
}

namespace {

class TeNas {
 public:
  TeNas(const TeNasSetup& setup, const TeNasOptions& options) : setup_(setup), options_(options) {
    const Space& space = *setup.space;
    NetworkOptions size;
    size.cells = space.own_cells() ? 0 : space.skeleton() == "darts" ? 3 : 1;
    size.channels = options.channels;
    const auto& images = setup.images.images;
    kernel_plan_ = plan_supernet(
        space, size,
        {static_cast<int>(images.size(1)), static_cast<int>(images.size(2)), static_cast<int>(images.size(3))},
        setup.classes);
    size.channels = 1;
    region_plan_ =
        plan_supernet(space, size, {static_cast<int>(images.size(1)), kRegionSide, kRegionSide}, setup.classes);
    for (const auto& cell : space.cells()) {
      if (cell.ops_on_nodes) {
        fail("TE-NAS prunes the operations of edges; those of space '{}' stand on nodes. Use --search nasi.",
             space.name());
      }
      std::vector<int> all(space.ops().size());
      std::iota(all.begin(), all.end(), 0);
      if (std::find(space.genotype_ops().begin(), space.genotype_ops().end(), "none") == space.genotype_ops().end()) {
        std::erase_if(all, [&](int op) { return space.ops()[op] == "none"; });
      }
      left_[cell.type].assign(Space::sites(cell), all);
    }
  }

  Genotype run() {
    int64_t total = 0;
    for (size_t ops = left_.begin()->second[0].size(); ops > 1; --ops) total += static_cast<int64_t>(edges() * ops);
    Progress progress("te-nas", total);
    while (!is_done()) prune(progress);
    progress.finish();
    return derive();
  }

 private:
  struct Place {
    std::string type;
    size_t edge = 0, op = 0;  // op: position in left_
  };
  struct Measures {
    double kappa = 0, regions = 0;
  };

  size_t edges() const {
    size_t count = 0;
    for (const auto& [type, sites] : left_) count += sites.size();
    return count;
  }

  bool is_done() const {
    for (const auto& [type, sites] : left_) {
      for (const auto& ops : sites) {
        if (ops.size() > 1) return false;
      }
    }
    return true;
  }

  using Left = std::map<std::string, std::vector<std::vector<int>>>;

  Measures measure(const Left& left) const {
    if (interrupt_requested()) throw Interrupted();
    Measures sum;
    const TensorBatch batch{setup_.images.images.narrow(0, 0, options_.batch),
                            setup_.images.labels.narrow(0, 0, options_.batch)};
    for (int i = 0; i < options_.repeats; ++i) {
      const uint64_t seed = setup_.seed + static_cast<uint64_t>(i);
      const Network kernel(pruned_plan(kernel_plan_, left), seed, "he");
      sum.kappa += kernel_condition(Tape(kernel), batch);
      const Network thin(pruned_plan(region_plan_, left), seed, "he");
      sum.regions += count_linear_regions(Tape(thin), region_plan_.input, options_.regions, seed);
    }
    return {sum.kappa / options_.repeats, sum.regions / options_.repeats};
  }

  // Takes the least important operation from every edge that has more than one.
  void prune(Progress& progress) {
    const Measures whole = measure(left_);
    std::vector<Place> places;
    std::vector<double> kappa_falls, regions_lost;
    for (const auto& [type, sites] : left_) {
      for (size_t edge = 0; edge < sites.size(); ++edge) {
        for (size_t op = 0; sites[edge].size() > 1 && op < sites[edge].size(); ++op) {
          Left without = left_;
          auto& ops = without[type][edge];
          ops.erase(ops.begin() + static_cast<int64_t>(op));
          const Measures measures = measure(without);
          places.push_back({type, edge, op});
          const double fall = whole.kappa - measures.kappa;
          kappa_falls.push_back(std::isnan(fall) ? 0 : fall);  // both infinite
          regions_lost.push_back(whole.regions - measures.regions);
          progress.advance(1, fmt::format("kappa {:.3g}, regions {:.0f}", whole.kappa, whole.regions));
        }
      }
    }
    // Little importance: kappa falls much without it, and few regions are lost.
    const std::vector<double> by_kappa = ranks(kappa_falls), by_regions = ranks(regions_lost);
    std::map<std::pair<std::string, size_t>, size_t> weakest;
    const auto importance = [&](size_t i) { return by_regions[i] - by_kappa[i]; };
    for (size_t i = 0; i < places.size(); ++i) {
      const auto [it, added] = weakest.try_emplace({places[i].type, places[i].edge}, i);
      if (!added && importance(i) < importance(it->second)) it->second = i;
      strength_[{places[i].type, places[i].edge}] =
          std::max(strength_[{places[i].type, places[i].edge}], importance(i));
    }
    for (const auto& [edge, i] : weakest) {
      auto& ops = left_[edge.first][edge.second];
      ops.erase(ops.begin() + static_cast<int64_t>(places[i].op));
    }
  }

  // Of a node that keeps only some inputs, those whose operations mattered most in the rounds of pruning stay.
  Genotype derive() const {
    Genotype genotype{setup_.space->name(), {}};
    for (const auto& choices : setup_.space->cells()) {
      CellGenotype cell{choices.type, choices.inputs, {}, choices.output};
      size_t edge = 0;
      for (const auto& node : choices.nodes) {
        std::vector<std::pair<double, GenotypeEdge>> candidates;
        for (const int from : node.inputs) {
          const auto it = strength_.find({choices.type, edge});
          candidates.push_back(
              {it == strength_.end() ? 0 : it->second, {from, setup_.space->ops()[left_.at(choices.type)[edge][0]]}});
          ++edge;
        }
        std::stable_sort(candidates.begin(), candidates.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        GenotypeNode kept;
        for (int i = 0; i < node.keep; ++i) kept.edges.push_back(candidates[i].second);
        std::sort(kept.edges.begin(), kept.edges.end());
        cell.nodes.push_back(std::move(kept));
      }
      genotype.cells.push_back(std::move(cell));
    }
    setup_.space->validate(genotype);
    return genotype;
  }

  TeNasSetup setup_;
  TeNasOptions options_;
  NetworkPlan kernel_plan_, region_plan_;
  Left left_;
  std::map<std::pair<std::string, size_t>, double> strength_;
};

}  // namespace

Genotype te_nas(const TeNasSetup& setup, const TeNasOptions& options) { return TeNas(setup, options).run(); }

}  // namespace nascent
