#include "search/one_shot/tiny_problem.h"

#include <numeric>

#include "nascent/data/memory_dataset.h"
#include "nascent/space/cell_plan.h"
#include "nascent/space/cell_space.h"
#include "nascent/space/operation.h"

namespace nascent {
namespace {

Stages directed(const OperationSite& site, int height, int width) {
  return {stage::conv_hw(site.in, site.out, height, width, site.stride, site.stride),
          stage::batch_norm(site.out, site.affine)};
}

NASCENT_REGISTER(Operation, "tiny-vertical", "3x1 convolution, BN",
                 [](const OperationSite& site) { return directed(site, 3, 1); });
NASCENT_REGISTER(Operation, "tiny-horizontal", "1x3 convolution, BN",
                 [](const OperationSite& site) { return directed(site, 1, 3); });

std::shared_ptr<const Space> tiny_space(bool ops_on_nodes) {
  CellChoices cell{.type = "cell", .inputs = 2};
  cell.nodes = {{.inputs = {0, 1}, .keep = 1}};
  cell.output = {2};
  cell.ops_on_nodes = ops_on_nodes;
  return std::make_shared<const CellSpace>(SpaceDescription{.name = "tiny",
                                                            .description = "one node, two inputs, three operations",
                                                            .ops = {"skip_connect", "tiny-vertical", "tiny-horizontal"},
                                                            .cells = {cell}});
}

// One image: noise in channel 0, in channel 1 lines that go on (class 0) or alternate (class 1).
void draw(const TinyProblemOptions& options, int64_t label, RandomStream& random, uint8_t* pixels) {
  const int side = options.side;
  std::vector<int> line(static_cast<size_t>(side));
  for (int& sign : line) sign = static_cast<int>(random.below(2));
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int along = options.vertical ? y : x, across = options.vertical ? x : y;
      const int sign = line[static_cast<size_t>(across)] ^ (label == 1 ? along & 1 : 0);
      uint8_t* pixel = pixels + 2 * (y * side + x);
      pixel[0] = random.below(2) ? 255 : 0;
      pixel[1] = sign ? 255 : 0;
    }
  }
}

std::shared_ptr<const Dataset> tiny_data(const TinyProblemOptions& options) {
  MemoryDataset::Contents contents{.name = "tiny",
                                   .shape = {2, options.side, options.side},
                                   .pixels = {},
                                   .labels = {},
                                   .class_names = {"goes on", "alternates"},
                                   .train_transforms = {}};
  const auto bytes = static_cast<size_t>(contents.shape.count());
  contents.pixels.resize(bytes * static_cast<size_t>(options.images));
  for (int i = 0; i < options.images; ++i) {
    RandomStream random(options.seed, "tiny image", {static_cast<uint64_t>(i)});
    draw(options, i % 2, random, contents.pixels.data() + bytes * static_cast<size_t>(i));
    contents.labels.push_back(options.shuffled ? random.below(2) : i % 2);
  }
  return std::make_shared<const MemoryDataset>(std::move(contents));
}

}  // namespace

TinyProblem::TinyProblem(const TinyProblemOptions& options)
    : options_(options), space_(tiny_space(options.ops_on_nodes)), data_(tiny_data(options)) {}

NetworkPlan TinyProblem::plan() const {
  const Shape image{2, options_.side, options_.side}, noise{1, options_.side, options_.side};
  NetworkPlan plan{.space = "tiny", .skeleton = "darts", .input = image, .classes = 2};
  plan.stems = {{}, {stage::truncate(2, 1)}};
  const CellSite site{.inputs = {image, noise},
                      .channels = options_.channels,
                      .affine = false,
                      .project_always = true,
                      .partial = options_.partial};
  plan.cells = {plan_cell(*space_, nullptr, "cell", site)};
  plan.head = {stage::relu(options_.channels), stage::global_avg_pool(options_.channels),
               stage::linear(options_.channels, 2)};
  return plan;
}

std::unique_ptr<Loader> TinyProblem::loader(SearchData part) const {
  std::vector<int64_t> indices(static_cast<size_t>(options_.images));
  std::iota(indices.begin(), indices.end(), 0);
  const auto middle = indices.begin() + options_.images / 2;
  const bool held_out = part == SearchData::held_out || part == SearchData::judge;
  if (held_out && !options_.split) return nullptr;
  if (options_.split)
    indices = held_out ? std::vector<int64_t>(middle, indices.end()) : std::vector<int64_t>(indices.begin(), middle);
  const bool shuffle = part != SearchData::judge && part != SearchData::judge_train;
  return std::make_unique<Loader>(data_, indices, TransformPipeline({}, {{0.5, 0.5}, {0.5, 0.5}}, data_->shape()),
                                  LoaderOptions{.batch = options_.batch,
                                                .shuffle = shuffle,
                                                .drop_last = shuffle,
                                                .seed = options_.seed,
                                                .purpose = part == SearchData::train ? "search" : "architecture"});
}

std::unique_ptr<OneShotSearch> TinyProblem::search(const OneShotOptions& options) const {
  return std::make_unique<OneShotSearch>(
      space_, std::make_shared<Network>(plan(), options_.seed), [this](SearchData part) { return loader(part); },
      options, options_.seed);
}

bool TinyProblem::is_right(const Genotype& genotype) const {
  const GenotypeNode& node = genotype.cell("cell").nodes[0];
  const std::string& op = options_.ops_on_nodes ? node.op : node.edges[0].op;
  return node.edges[0].from == 0 && op == (options_.vertical ? "tiny-vertical" : "tiny-horizontal");
}

}  // namespace nascent
