#include "nascent/search/at_initialisation/te_nas.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "nascent/core/log.h"
#include "nascent/core/random.h"
#include "nascent/nn/initialiser.h"
#include "nascent/nn/network.h"
#include "nascent/score/linear_regions.h"

namespace nascent {

void TeNasOptions::declare(OptionTable& table) {
  auto section = table.section("te-nas", "TE-NAS: search by pruning.");
  section.add("repeats", repeats, "random initialisations to average over").range(1, 1000);
  section.add("kernel-images", batch, "number of images for the tangent kernel").range(2, 4096);
  section.add("kernel-channels", channels, "channels of the network whose tangent kernel is computed").range(1, 1024);
  section.add("region-images", regions, "number of 3x3 patches used to count linear regions").range(2, 1000000);
  section.add("redraw", redraw, "when networks and images are redrawn: every round, or for every operation")
      .one_of({"round", "operation"});
  section.add("kernel-initialiser", initialiser, "initialiser of the network whose tangent kernel is computed")
      .one_of(Initialiser::Registry::instance().names());
  section.add("norm-scales", norm_scales, "include the scales of batch norms in the tangent kernel");
}

std::vector<std::pair<int, int>> pruning_ranks(const std::vector<PruningEffect>& effects) {
  const auto dense_ranks = [&](auto&& number_of) {
    std::vector<double> numbers;
    for (const PruningEffect& effect : effects) numbers.push_back(std::round(number_of(effect) * 1000));
    const std::set<double> distinct(numbers.begin(), numbers.end());
    std::vector<int> ranks;
    for (const double number : numbers) {
      ranks.push_back(static_cast<int>(std::distance(distinct.begin(), distinct.find(number))));
    }
    return ranks;
  };
  const std::vector<int> by_kappa = dense_ranks([](const PruningEffect& effect) { return -effect.kappa_fall; });
  const std::vector<int> by_regions = dense_ranks([](const PruningEffect& effect) { return effect.regions_lost; });
  std::vector<std::pair<int, int>> ranks;
  for (size_t i = 0; i < effects.size(); ++i) ranks.emplace_back(by_kappa[i] + by_regions[i], by_kappa[i]);
  return ranks;
}

namespace {

int fewest_cells(const Space& space) {
  return space.own_cells() ? 0 : Skeleton::Registry::instance().at(space.skeleton()).facts.fewest_cells;
}

}  // namespace

NetworkPlan thin_supernet(const Space& space, int classes) {
  NetworkOptions size;
  size.cells = fewest_cells(space);
  size.channels = 1;
  NetworkPlan plan = plan_supernet(space, size, {1, kRegionSide, kRegionSide}, classes);
  if (plan.stems.size() == 1 && output_shape(plan.stems[0], plan.input) == plan.input) plan.stems.clear();
  std::set<std::string> missing;
  for (const CellChoices& cell : space.cells()) missing.insert(cell.type);
  size_t cells = 0;
  while (!missing.empty()) missing.erase(plan.cells.at(cells++).type);
  plan.cells.resize(cells);
  const int features = plan.cells.back().output_shape.channels;
  plan.head = {stage::batch_norm(features), stage::relu(features), stage::global_avg_pool(features),
               stage::linear(features, classes)};
  return plan;
}

// Networks and images of one repeat. What is pruned is compared with what it was in the same network.
struct TeNas::Instance {
  Network kernel, thin;
  at::Tensor images, patches;
  Measures whole{};
};

TeNas::TeNas(const TeNasSetup& setup, const TeNasOptions& options) : setup_(setup), options_(options) {
  const Space& space = *setup.space;
  for (const auto& cell : space.cells()) {
    if (cell.ops_on_nodes) {
      fail("TE-NAS prunes the operations of edges; those of space '{}' stand on nodes. Use --method nasi.",
           space.name());
    }
    // As published, an edge always keeps an operation: without `none`.
    std::vector<int> all(space.ops().size());
    std::iota(all.begin(), all.end(), 0);
    std::erase_if(all, [&](int op) { return space.ops()[op] == "none"; });
    left_[cell.type].assign(Space::sites(cell), all);
  }
  const at::Tensor& images = setup.images;
  if (images.size(0) < options.batch || images.size(2) < kRegionSide || images.size(3) < kRegionSide) {
    fail("TE-NAS needs {} images of at least {}x{} pixels; found {} of {}x{}. Lower --kernel-images.", options.batch,
         kRegionSide, kRegionSide, images.size(0), images.size(2), images.size(3));
  }
  NetworkOptions size;
  size.cells = fewest_cells(space);
  size.channels = options.channels;
  kernel_plan_ = plan_supernet(
      space, size,
      {static_cast<int>(images.size(1)), static_cast<int>(images.size(2)), static_cast<int>(images.size(3))},
      setup.classes);
  thin_plan_ = thin_supernet(space, setup.classes);
  size_t edges = 0;
  for (const auto& [type, sites] : left_) edges += sites.size();
  for (size_t ops = left_.begin()->second[0].size(); ops > 1; --ops) steps_ += static_cast<int64_t>(edges * ops);
}

TeNas::~TeNas() = default;

// Operations that may be taken away in this round.
std::vector<TeNas::Place> TeNas::places() const {
  std::vector<Place> all;
  for (const auto& [type, sites] : left_) {
    for (size_t edge = 0; edge < sites.size(); ++edge) {
      for (size_t op = 0; sites[edge].size() > 1 && op < sites[edge].size(); ++op) all.push_back({type, edge, op});
    }
  }
  return all;
}

at::Tensor TeNas::draw_images(uint64_t seed) const {
  const auto order = RandomStream(seed, "te-nas images").permutation(setup_.images.size(0));
  return setup_.images.index_select(0, at::tensor(at::ArrayRef<int64_t>(order.data(), options_.batch)));
}

// Tiny pieces of one channel: in so few dimensions there are fewer regions than patches.
at::Tensor TeNas::draw_patches(uint64_t seed) const {
  const at::Tensor& images = setup_.images;
  RandomStream random(seed, "te-nas patches");
  at::Tensor patches = at::empty({options_.regions, 1, kRegionSide, kRegionSide});
  for (int64_t i = 0; i < options_.regions; ++i) {
    const int64_t image = random.below(images.size(0)), channel = random.below(images.size(1));
    const int64_t top = random.below(images.size(2) - kRegionSide + 1);
    const int64_t left = random.below(images.size(3) - kRegionSide + 1);
    patches[i][0].copy_(images[image][channel].narrow(0, top, kRegionSide).narrow(1, left, kRegionSide));
  }
  return patches;
}

void TeNas::draw_instances() {
  const uint64_t operation = options_.redraw == "operation" ? effects_.size() : 0;
  for (int i = 0; i < options_.repeats; ++i) {
    const auto repeat = static_cast<uint64_t>(i);
    RandomStream random = operation == 0 ? RandomStream(setup_.seed, "te-nas", {round_, repeat})
                                         : RandomStream(setup_.seed, "te-nas operation", {round_, repeat, operation});
    const uint64_t seed = random();
    instances_.push_back(std::make_unique<Instance>(Network(kernel_plan_, seed, options_.initialiser),
                                                    Network(thin_plan_, seed, "he"), draw_images(seed),
                                                    draw_patches(seed)));
    instances_.back()->whole = measure(*instances_.back(), left_);
  }
}

TeNas::Measures TeNas::measure(const Instance& instance, const Candidates& left) const {
  const auto parameters = options_.norm_scales ? KernelParameters::norm_scales_too : KernelParameters::weights;
  return {kernel_condition(Tape(instance.kernel, left), instance.images, setup_.ntk, parameters),
          count_linear_regions(Tape(instance.thin, left), instance.patches)};
}

PruningEffect TeNas::effect_of(const Place& place) const {
  Candidates without = left_;
  auto& ops = without[place.type][place.edge];
  ops.erase(ops.begin() + static_cast<int64_t>(place.op));
  PruningEffect mean;
  for (const auto& instance : instances_) {
    const Measures &whole = instance->whole, pruned = measure(*instance, without);
    const double fall = (whole.kappa - pruned.kappa) / whole.kappa;
    mean.kappa_fall += (std::isnan(fall) ? 0 : fall) / static_cast<double>(instances_.size());  // both infinite
    mean.regions_lost += (whole.regions - pruned.regions) / whole.regions / static_cast<double>(instances_.size());
  }
  return mean;
}

StepReport TeNas::step(int64_t, int64_t step, EventSink& events) {
  if (instances_.empty()) draw_instances();
  const std::vector<Place> all = places();
  const Place& place = all.at(effects_.size());
  effects_.push_back(effect_of(place));
  const PruningEffect& effect = effects_.back();
  const Measures whole = instances_[0]->whole;
  log::debug("te-nas: without {} on edge {} of {}: kappa falls by {:.1f} %, regions by {:.1f} %",
             setup_.space->ops()[left_.at(place.type)[place.edge][place.op]], place.edge, place.type,
             100 * effect.kappa_fall, 100 * effect.regions_lost);
  events.emit({"step", 0, step + 1, {{"regions", whole.regions}, {"round", round_ + 1}}});
  if (options_.redraw == "operation") instances_.clear();
  if (effects_.size() == all.size()) prune(all);
  return {.note = fmt::format("kappa {:.3g}, regions {:.0f}", whole.kappa, whole.regions)};
}

// Takes the least important operation from every edge that has more than one, and begins the next round.
void TeNas::prune(const std::vector<Place>& all) {
  const std::vector<std::pair<int, int>> ranks = pruning_ranks(effects_);
  std::map<std::pair<std::string, size_t>, size_t> weakest;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [it, added] = weakest.try_emplace({all[i].type, all[i].edge}, i);
    if (!added && ranks[i] < ranks[it->second]) it->second = i;
    int& strength = strength_[{all[i].type, all[i].edge}];
    strength = std::max(strength, ranks[i].first);
  }
  for (const auto& [edge, i] : weakest) {
    auto& ops = left_[edge.first][edge.second];
    log::debug("te-nas: {} is pruned from edge {} of {}", setup_.space->ops()[ops[all[i].op]], edge.second, edge.first);
    ops.erase(ops.begin() + static_cast<int64_t>(all[i].op));
  }
  effects_.clear();
  instances_.clear();
  ++round_;
}

void TeNas::save(State& state, const std::string& prefix) const {
  Json strength = Json::array();
  for (const auto& [edge, value] : strength_) strength.push_back({edge.first, edge.second, value});
  state.values[prefix + "te-nas"] = {
      {"left", left_}, {"round", round_}, {"strength", std::move(strength)}, {"measured", effects_.size()}};
  // A tensor, which unlike JSON keeps numbers that are not finite.
  at::Tensor effects = at::empty({static_cast<int64_t>(effects_.size()), 2}, at::kDouble);
  for (size_t i = 0; i < effects_.size(); ++i) {
    effects.data_ptr<double>()[2 * i] = effects_[i].kappa_fall;
    effects.data_ptr<double>()[2 * i + 1] = effects_[i].regions_lost;
  }
  state.put(prefix + "effects", effects);
}

void TeNas::load(const State& state, const std::string& prefix) {
  const Json& values = state.value(prefix + "te-nas");
  left_ = values.at("left").get<Candidates>();
  round_ = values.at("round").get<uint64_t>();
  strength_.clear();
  for (const auto& entry : values.at("strength")) {
    strength_[{entry[0].get<std::string>(), entry[1].get<size_t>()}] = entry[2].get<int>();
  }
  at::Tensor effects = at::empty({values.at("measured").get<int64_t>(), 2}, at::kDouble);
  state.copy_into(prefix + "effects", effects);
  effects_.clear();
  for (int64_t i = 0; i < effects.size(0); ++i) {
    effects_.push_back({effects.data_ptr<double>()[2 * i], effects.data_ptr<double>()[2 * i + 1]});
  }
  instances_.clear();
}

// Of a node that keeps only some inputs, those whose operations mattered most in the rounds of pruning stay.
Genotype TeNas::genotype() const {
  Genotype genotype{setup_.space->name(), {}};
  for (const auto& choices : setup_.space->cells()) {
    CellGenotype cell{choices.type, choices.inputs, {}, choices.output};
    size_t edge = 0;
    for (const auto& node : choices.nodes) {
      std::vector<std::pair<int, GenotypeEdge>> candidates;
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

Genotype te_nas(const TeNasSetup& setup, const TeNasOptions& options) {
  TeNas job(setup, options);
  run_job(job, {});
  return job.genotype();
}

}  // namespace nascent
