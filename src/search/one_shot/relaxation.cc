#include "nascent/search/one_shot/relaxation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/search/discretisation.h"
#include "nascent/space/cell_space.h"

namespace nascent {

void RelaxationOptions::declare(OptionTable& table) {
  auto section = table.section("search", "");
  section.add("relaxation", relaxation, "how the candidate operations of a site are mixed")
      .one_of(Relaxation::Registry::instance().names());
  section
      .add(
          "domain", domain,
          "whether architecture parameters are softmax logits or points on the simplex; auto: whichever the relaxation "
          "prefers")
      .one_of({"auto", "logits", "simplex"});
  section.add("edge-weights", edge_weights,
              "give every edge a weight, normalised over the edges into its node (PC-DARTS)");
  section.add("exclude", exclude, "operations to exclude from the search, such as \"none\"");
  section.add("spread", spread, "standard deviation of the initial logits").range(0, 10);
  section.add("temperature", temperature, "initial temperature of sampling relaxations").range(1e-6, 1e6);
  section.add("temperature-end", temperature_end, "final temperature of sampling relaxations").range(1e-6, 1e6);
  section.add("anneal", anneal, "temperature schedule").one_of({"linear", "exponential"});
  section.add("stretch-low", stretch_low, "gates: lower bound of the stretched interval").range(-10, -1e-6);
  section.add("stretch-high", stretch_high, "gates: upper bound of the stretched interval").range(1.000001, 10);
  section.add("sampled-ops", sampled_ops, "gates: operations evaluated per site in each step; 0: all").range(0, 1000);
  section.add(
      "unsampled-weights", unsampled_weights,
      "gumbel: add the weights of unsampled operations to the node, as the GDAS authors' code does; they are 0 but "
      "have a gradient");
  section.add("sample-per-shard", sample_per_shard,
              "sampling relaxations: every shard of a batch (--shards) draws an architecture of its own");
}

double RelaxationOptions::temperature_at(const SearchPlace& place) const {
  if (anneal == "exponential") return temperature * std::pow(temperature_end / temperature, place.progress());
  return temperature + (temperature_end - temperature) * place.progress();
}

namespace {

Domain domain_of(const RelaxationOptions& options, Domain preferred) {
  if (options.domain == "auto") return preferred;
  return options.domain == "simplex" ? Domain::simplex : Domain::logits;
}

}  // namespace

Relaxation::Policy Relaxation::policy(const SearchPlace&) const {
  fail(
      "This relaxation samples no architecture, so it has no policy to reinforce. Use 'gumbel' or 'controller' with "
      "the 'reinforce' gradient.");
}

Mixture Relaxation::log_strengths(const SearchPlace& place) const {
  Mixture result = probabilities(place);
  for (auto& [type, cell] : result) {
    cell.ops = cell.ops.detach().to(at::kDouble).log();
    if (cell.edges.defined()) cell.edges = cell.edges.detach().to(at::kDouble).log();
  }
  return result;
}

std::shared_ptr<const Space> without(const Space& space, const std::vector<std::string>& excluded) {
  excluded_indices(excluded, space.ops());  // checks the names
  SpaceDescription left{.name = space.name(),
                        .description = space.description(),
                        .skeleton = space.skeleton(),
                        .ops = space.ops(),
                        .search_only = excluded,
                        .cells = space.cells(),
                        .own_cells = space.own_cells(),
                        .default_cells = space.default_cells(),
                        .default_channels = space.default_channels()};
  for (const auto& op : space.ops()) {
    const auto& allowed = space.genotype_ops();
    if (std::find(allowed.begin(), allowed.end(), op) == allowed.end()) left.search_only.push_back(op);
  }
  const auto is_left = [&](const std::string& op) {
    return std::find(left.search_only.begin(), left.search_only.end(), op) == left.search_only.end();
  };
  if (std::none_of(left.ops.begin(), left.ops.end(), is_left)) fail("--exclude leaves no operation to choose from.");
  return std::make_shared<const CellSpace>(std::move(left));
}

ArchitectureRelaxation::ArchitectureRelaxation(const RelaxationSetup& setup, Domain preferred)
    : options_(setup.options),
      architecture_(setup.space, {.domain = domain_of(setup.options, preferred),
                                  .weighted_edges = setup.options.edge_weights,
                                  .spread = setup.options.spread,
                                  .exclude = setup.options.exclude,
                                  .seed = setup.seed}),
      space_(setup.space) {
  for (const auto& cell : setup.space.cells()) types_.push_back(cell.type);
}

Genotype ArchitectureRelaxation::sample(const SearchPlace& place, uint64_t index) const {
  return sample_genotype(space_, probabilities(place),
                         RandomStream(place.seed, "sample", {static_cast<uint64_t>(place.step), index}));
}

}  // namespace nascent
