#include "nascent/ensemble/posterior_training.h"

#include <ATen/ATen.h>

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/loss.h"
#include "nascent/train/predictions.h"
#include "nascent/train/second_order.h"

namespace nascent {
namespace {

constexpr const char* kFile = "posterior.nascent";
constexpr const char* kPrefix = "posterior.";

Json rows_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* data = values.data_ptr<double>();
  if (values.dim() == 1) return std::vector<double>(data, data + values.numel());
  Json rows = Json::array();
  for (int64_t i = 0; i < values.size(0); ++i)
    rows.push_back(std::vector<double>(data + i * values.size(1), data + (i + 1) * values.size(1)));
  return rows;
}

Json architecture_event(const ArchitecturePosterior& posterior) {
  Json cells = Json::object();
  for (const auto& [type, cell] : posterior.probabilities()) {
    cells[type] = {{"probabilities", rows_of(cell.ops)}, {"edges", rows_of(cell.edges)}};
  }
  return {{"ops", posterior.space().ops()},
          {"cells", std::move(cells)},
          {"genotype", to_text(posterior.most_probable(), "json")}};
}

}  // namespace

PosteriorOptions::PosteriorOptions() {
  optimizer.optimizer = "adam";
  optimizer.lr = 0.01;
  optimizer.clip = 0;
}

void PosteriorOptions::declare_training(OptionTable& table) {
  auto section = table.section("posterior", "The distribution over architectures (NESBS).");
  section.add("epochs", epochs, "epochs over the held-out images").range(1, 100000).flag("posterior-epochs");
  section.add("tau", tau, "softmax temperature: below 1 sharper, above 1 flatter").range(1e-6, 1e6);
  section.add("gumbel-temperature", gumbel_temperature, "temperature of the straight-through Gumbel samples")
      .range(1e-6, 1e6);
  section.add("kl-weight", kl_weight, "weight of the KL divergence from the uniform prior; 1: the evidence lower bound")
      .at_least(0);
  optimizer.declare(table, "posterior", "", /*bare_flags=*/false);
}

void PosteriorOptions::declare(OptionTable& table) {
  auto section = table.section("posterior", "The distribution over architectures (NESBS).");
  section.add("supernet", supernet, "folder of the search that trained the supernet");
  declare_training(table);
  run.declare(table);
}

void PosteriorOptions::resolve(const std::string&) {}

PosteriorTraining::PosteriorTraining(ArchitecturePosterior& posterior, const Supernet& supernet,
                                     const PosteriorOptions& options, uint64_t seed)
    : posterior_(posterior),
      supernet_(supernet),
      options_(options),
      seed_(seed),
      keep_(*supernet.network),
      loader_(supernet.learning("posterior")),
      optimizer_(make_optimizer(options.optimizer, posterior.parameters())),
      images_(static_cast<double>(supernet.data->split().valid.size())) {
  if (loader_->batches() == 0)
    fail("{} held-out images do not make a batch; lower data.batch or hold out more.", images_);
}

void PosteriorTraining::start_epoch(int64_t epoch, int64_t first_step, EventSink&) {
  supernet_.network->train();  // batch norms go by the batch
  loader_->start(epoch, first_step);
  if (first_step == 0) loss_ = divergence_ = 0;
}

StepReport PosteriorTraining::step(int64_t epoch, int64_t step, EventSink& events) {
  Batch batch = *loader_->next();
  StepReport report;
  report.batch = batch.describe();
  const TensorBatch tensors = to_tensors(std::move(batch), *supernet_.network);
  const SearchPlace place{.seed = seed_,
                          .epoch = epoch,
                          .step = epoch * steps() + step,
                          .steps = epochs() * steps(),
                          .pass = SearchPlace::Pass::architecture};
  const Mixture mixture = posterior_.straight_through(place, options_.gumbel_temperature);
  const at::Tensor logits = supernet_.network->forward(tensors.images, {.mixture = &mixture}).logits;
  const at::Tensor loss = classification_loss(logits, tensors.labels);
  const at::Tensor divergence = posterior_.divergence();
  const at::Tensor objective = loss + (options_.kl_weight / images_ * divergence).to(at::kFloat);
  auto slopes = gradients(objective, posterior_.parameters());
  report.loss = objective.item<double>();
  report.gradient_norm = clip_gradients(slopes, options_.optimizer.clip);
  if (std::isfinite(report.loss) && std::isfinite(report.gradient_norm))
    optimizer_->step(slopes, options_.optimizer.lr);
  loss_ += loss.item<double>();
  divergence_ += divergence.item<double>();
  report.note = fmt::format("epoch {}  loss {:.3f}  divergence {:.2f}", epoch + 1, loss.item<double>(),
                            divergence.item<double>());
  events.emit({"step", epoch, place.step + 1, {{"valid_loss", loss.item<double>()}}});
  return report;
}

void PosteriorTraining::end_epoch(int64_t epoch, EventSink& events) {
  const auto n = static_cast<double>(steps());
  events.emit({"epoch",
               epoch,
               (epoch + 1) * steps(),
               {{"valid_loss", loss_ / n},
                {"divergence", divergence_ / n},
                {"entropy", mean_entropy(posterior_.probabilities())}}});
  events.emit({"architecture", epoch, (epoch + 1) * steps(), architecture_event(posterior_)});
}

void PosteriorTraining::save(State& state, const std::string& prefix) const {
  posterior_.save(state, prefix + kPrefix);
  optimizer_->save(state, prefix + "optimizer.");
  state.values[prefix + "sums"] = {loss_, divergence_};
}

void PosteriorTraining::load(const State& state, const std::string& prefix) {
  posterior_.load(state, prefix + kPrefix);
  optimizer_->load(state, prefix + "optimizer.");
  loss_ = state.value(prefix + "sums")[0];
  divergence_ = state.value(prefix + "sums")[1];
}

void train_posterior(const PosteriorOptions& options, Session& session) {
  options.run.apply();
  if (options.supernet.empty())
    fail("nascent ensemble posterior: --supernet is missing: the folder of a search that trained one.");
  const Supernet supernet = load_supernet(options.supernet);
  const auto seed = static_cast<uint64_t>(options.run.seed);
  ArchitecturePosterior posterior(*supernet.space, {.temperature = options.tau}, seed);
  PosteriorTraining training(posterior, supernet, options, seed);
  session.begin(
      supernet.space->name(),
      {{"Space", supernet.space->name()}, {"Data set", supernet.options.data.name}, {"Supernet", options.supernet}});
  session.run([&] {
    session.run(training);
    State state;
    posterior.save(state, kPrefix);
    state.values["space"] = supernet.space->name();
    state.values["operations"] = supernet.space->genotype_ops();
    save_state(state, session.directory().path() / kFile);
    const Genotype likely = posterior.most_probable();
    session.directory().write_genotype(likely);
    Json entropies = Json::object();
    for (size_t i = 0; i < supernet.space->cells().size(); ++i)
      entropies[supernet.space->cells()[i].type] = posterior.entropies()[i];
    session.conclude({{"divergence", posterior.divergence().item<double>()},
                      {"entropies", entropies},
                      {"log_probability", posterior.log_probability(likely)}});
  });
}

namespace {

std::string described(const std::string& space, const std::vector<std::string>& ops) {
  return fmt::format("{} ({})", space, join(ops, ", "));
}

// Spaces of users may have one name and be two.
void load_fitting(ArchitecturePosterior& posterior, const State& state, const std::string& prefix,
                  const std::filesystem::path& folder) {
  State own;
  posterior.save(own, prefix);
  for (const auto& [name, tensor] : own.tensors()) {
    if (state.has(name) && state.tensor(name).sizes() == tensor.sizes()) continue;
    fail(
        "The posterior in {} is of a space that is named {} too, but has other sites: {} is [{}] there, [{}] here. "
        "Both must be of one space.",
        folder.string(), posterior.space().name(), name.substr(prefix.size()),
        state.has(name) ? fmt::format("{}", fmt::join(state.tensor(name).sizes(), ", ")) : "missing",
        fmt::join(tensor.sizes(), ", "));
  }
  posterior.load(state, prefix);
}

}  // namespace

void load_posterior(const std::filesystem::path& given, ArchitecturePosterior& posterior) {
  const auto inner = given / "posterior";
  const auto folder = std::filesystem::exists(inner / kFile) ? inner : given;
  const auto require_space = [&](const std::string& name, const std::vector<std::string>& ops) {
    const Space& space = posterior.space();
    if (name == space.name() && ops == space.genotype_ops()) return;
    fail("The posterior in {} is of the space {}, but here it is {}; they must be of one space.", folder.string(),
         described(name, ops), described(space.name(), space.genotype_ops()));
  };
  if (std::filesystem::exists(folder / kFile)) {
    const State state = load_state(folder / kFile);
    // Earlier versions kept no operations; they had no posterior without some of them.
    require_space(state.value("space").get<std::string>(),
                  state.values.value("operations", posterior.space().genotype_ops()));
    return load_fitting(posterior, state, kPrefix, folder);
  }
  const auto searched = std::filesystem::exists(folder / "supernet" / "run.json") ? folder / "supernet" : folder;
  const auto state = CheckpointStore(searched / "checkpoints").newest();
  const SearchOptions options = state ? search_options_of(searched) : SearchOptions();
  if (!state || options.one_shot.relaxation.relaxation != "posterior") {
    fail("{} holds no posterior: neither {} nor the checkpoint of a search with --relaxation posterior.",
         given.string(), kFile);
  }
  const auto space = searched_space(options);
  require_space(space->name(), space->genotype_ops());
  load_fitting(posterior, *state, "job.relaxation.", searched);
}

}  // namespace nascent
