#include "nascent/train/training.h"

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/data/dataset.h"
#include "nascent/data/image_data.h"
#include "nascent/nn/initialiser.h"
#include "nascent/run/judgement_section.h"
#include "nascent/space/genotype_space.h"
#include "nascent/train/judgement.h"
#include "nascent/train/model_data.h"
#include "nascent/train/parts_ahead.h"

namespace nascent {

void TrainingOptions::declare(OptionTable& table) {
  auto section = table.section("train", "Training of one network.");
  section.add(
      "genotype", genotype,
      "architecture to train: a built-in name, the run folder of a search, a file, or text in any form ('nascent "
      "genotype' shows them)");
  section.add("space", space, "space of the genotype, a name or a .toml file; empty: the one named in the genotype");
  section.add("initialiser", initialiser, "weight initialiser").one_of(Initialiser::Registry::instance().names());
  section
      .add("data-seed", data_seed,
           "seed that selects the training images where --limit uses only some of them, and the held-out ones; -1: "
           "the run's seed")
      .at_least(-1);
  section
      .add("snapshots", snapshots,
           "save the initial weights and those after every N epochs to the run's folder snapshots, for 'nascent "
           "analyze trajectory'; 0: none")
      .range(0, 1000000);
  train.declare(table);
  declare_shards(table, "train", train.shards);
  network.declare(table);
  data.declare(table);
  run.declare(table);
}

void TrainingOptions::resolve(const std::string&) {
  if (genotype.empty() || !network.skeleton.empty()) return;
  network.skeleton = space_of_genotype(genotype, space)->skeleton();
}

ScaleLimits TrainingOptions::scale_limits() const {
  return {.fewest_cells = Skeleton::Registry::instance().at(network.skeleton).facts.fewest_cells,
          .fewest_images = static_cast<int64_t>(std::ceil(data.batch / (1 - data.valid_fraction))),
          .all_images = [this] { return load_dataset(data, Part::train, run.seed)->size(); }};
}

Json TrainingResult::to_json() const {
  Json json = {{"parameters", parameters},
               {"multiply_adds", multiply_adds},
               {"test_top1", test.top1},
               {"test_top5", test.top5},
               {"test_loss", test.loss}};
  if (best) json["best"] = {{"epoch", best->epoch}, {"valid_top1", best->valid_top1}, {"test_top1", best->test_top1}};
  return json;
}

namespace {

// What a model file says of the network that it holds.
struct ModelFacts {
  const Genotype& genotype;
  const TrainingOptions& options;
  const ImageData& data;
};

void save_trained(const std::filesystem::path& path, const Trainer& trainer, const ModelFacts& facts,
                  const Json& result) {
  Model model;
  model.genotype = facts.genotype;
  model.network_options = facts.options.network;
  remember_data(model, facts.data, facts.options.data, facts.options.images_seed());
  model.results = result;
  model.network = trainer.network();
  save_model(model, path);
}

// The training, which leaves its weights behind as it goes.
class KeptTraining : public Job {
 public:
  KeptTraining(Trainer& trainer, const ModelFacts& facts, std::filesystem::path folder)
      : trainer_(trainer), facts_(facts), folder_(std::move(folder)) {}

  std::string label() const override { return trainer_.label(); }
  int64_t epochs() const override { return trainer_.epochs(); }
  int64_t steps() const override { return trainer_.steps(); }
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override {
    trainer_.start_epoch(epoch, first_step, events);
    if (epoch == 0 && first_step == 0) keep(0);
  }
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    return trainer_.step(epoch, step, events);
  }
  void end_epoch(int64_t epoch, EventSink& events) override {
    trainer_.end_epoch(epoch, events);
    if ((epoch + 1) % facts_.options.snapshots == 0 || epoch + 1 == epochs()) keep(epoch + 1);
  }
  void save(State& state, const std::string& prefix) const override { trainer_.save(state, prefix); }
  void load(const State& state, const std::string& prefix) override { trainer_.load(state, prefix); }

 private:
  void keep(int64_t epoch) const {
    std::filesystem::create_directories(folder_);
    save_trained(folder_ / fmt::format("epoch-{:04}.nascent", epoch), trainer_, facts_, {{"epoch", epoch}});
  }

  Trainer& trainer_;
  const ModelFacts& facts_;
  std::filesystem::path folder_;
};

// Judges and saves the last weights and, where there are any, the best.
void conclude(Trainer& trainer, const ModelFacts& facts, const RunDirectory& directory, TrainingResult& result) {
  constexpr int kWorst = 12;
  const auto test = facts.data.testing();
  trainer.restore_last();
  const Judgement judgement = judge(*trainer.network(), *test, facts.data.classes(), kWorst);
  result.test = judgement.scores;
  Json details = judgement.to_json(facts.data.class_names());
  add_pictures(details, facts.data.test());
  write_file(directory.path() / kJudgementFile, details.dump());
  save_trained(directory.model_path(), trainer, facts, result.to_json());
  if (facts.data.split().valid.empty()) return;
  trainer.restore_best();
  const Evaluation best = evaluate(*trainer.network(), *test);
  result.best = {trainer.best_epoch() + 1, trainer.best().top1, best.top1};
  save_trained(directory.path() / "best.nascent", trainer, facts, result.to_json()["best"]);
}

// The purpose of the training loader's random streams: those who share images still see them in orders of their own.
std::string order_of(const TrainingOptions& options) {
  const auto seed = static_cast<uint64_t>(options.run.seed);
  return seed == options.images_seed() ? "train" : fmt::format("train {}", seed);
}

// A training made ready, by rank 0 and by those that share it: everything that can be refused is.
struct PreparedTraining {
  explicit PreparedTraining(const TrainingOptions& options)
      : genotype(find_genotype(options.genotype)),
        data(options.data, options.images_seed()),
        plan(plan_network(*space_of_genotype(options.genotype, options.space), genotype, options.network, data.shape(),
                          data.classes())),
        memory(options.run.check_memory(plan, options.data.batch / options.train.shards)),
        // Without held-out data the test part is only watched: the last weights are what is reported, not the best on
        // it.
        trainer(std::make_shared<Network>(plan, static_cast<uint64_t>(options.run.seed), options.initialiser),
                data.training(data.split().train, order_of(options)),
                data.split().valid.empty() ? data.testing() : data.evaluation(data.split().valid), options.train,
                options.network.drop_path, static_cast<uint64_t>(options.run.seed),
                data.split().valid.empty() ? "test" : "valid") {}

  Genotype genotype;
  ImageData data;
  NetworkPlan plan;
  std::string memory;
  Trainer trainer;
};

constexpr const char* kCompanion = "train";

class TrainingCompanion : public cluster::Companion {
 public:
  explicit TrainingCompanion(const Json& opening) : prepared_(options_from<TrainingOptions>(opening)) {}
  std::string digest() const override { return std::to_string(prepared_.data.digest()); }
  void follow(cluster::Team& team) override { nascent::follow(prepared_.trainer, team); }

 private:
  PreparedTraining prepared_;
};

NASCENT_REGISTER(cluster::Companion, kCompanion, "a training",
                 [](const Json& opening) { return std::make_unique<TrainingCompanion>(opening); });

}  // namespace

TrainingResult train(const TrainingOptions& options, Session& session) {
  options.run.apply();
  if (options.genotype.empty()) {
    fail(
        "nascent train: --genotype is missing, as in 'nascent train darts-v2' or 'nascent train runs/search-darts-1'.");
  }
  check_shards(options.train.shards, options.data.batch, /*alone=*/session.start().part);
  PreparedTraining prepared(options);
  session.begin(prepared.genotype.space, {{"Genotype", options.genotype}, {"Data set", options.data.name}},
                prepared.data.digest());
  TrainingResult result{.parameters = count_parameters(prepared.plan),
                        .multiply_adds = count_multiply_adds(prepared.plan)};
  session.run([&] {
    session.directory().write_genotype(prepared.genotype);
    log::info("Network: {} parameters, {} multiply-adds per image, about {} of memory a step; {}",
              engineering(result.parameters), engineering(result.multiply_adds), prepared.memory,
              prepared.data.describe());
    const ModelFacts facts{prepared.genotype, options, prepared.data};
    KeptTraining kept(prepared.trainer, facts, session.directory().path() / "snapshots");
    Job& job = options.snapshots > 0 ? static_cast<Job&>(kept) : prepared.trainer;
    run_shared(prepared.trainer, job, opening_with(kCompanion, options, prepared.data.digest(), session),
               session.start().part, [&](Job& shared) { session.run(shared); });
    conclude(prepared.trainer, facts, session.directory(), result);
    session.conclude(result.to_json());
  });
  result.directory = session.directory().path();
  result.model = session.directory().model_path();
  result.report = session.directory().report_path();
  return result;
}

namespace {

NASCENT_REGISTER(PartVerb, "train", "a training", [](const PartOrder& order) {
  do_part<TrainingOptions>(order, [](const TrainingOptions& options, Session& session) { train(options, session); });
});

}  // namespace

}  // namespace nascent
