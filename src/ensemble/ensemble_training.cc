#include "nascent/ensemble/ensemble_training.h"

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/data/image_data.h"
#include "nascent/ensemble/ensemble_evaluation.h"

namespace nascent {

void EnsembleTrainingOptions::declare(OptionTable& table) {
  auto section = table.section("ensemble", "Which ensemble is trained.");
  section.add("ensemble", ensemble, "folder of the search that found it");
  training.declare(table);
}

void EnsembleTrainingOptions::resolve(const std::string& resume) {
  if (!training.genotype.empty())
    fail("--genotype: the members of an ensemble are those that its search found; leave it out.");
  if (ensemble.empty() || !training.network.skeleton.empty()) return;
  training.network.skeleton = find_space(EnsembleDescription::load(ensemble).space)->skeleton();
  training.resolve(resume);
}

namespace {

class EnsembleTraining {
 public:
  EnsembleTraining(const EnsembleTrainingOptions& options, Session& session)
      : options_(options), session_(session), ensemble_(EnsembleDescription::load(options.ensemble)) {}

  void begin() {
    session_.begin(ensemble_.members.front().space, {{"Ensemble", options_.ensemble},
                                                     {"Members of", kind_name(ensemble_.kind)},
                                                     {"Data set", options_.training.data.name}});
  }

  EnsembleTrainingResult run() {
    keep_split();
    EnsembleModel model;
    model.weights = ensemble_.weights;
    model.combine = combination(ensemble_.combine);
    if (ensemble_.kind == MemberKind::passes) {
      model.passes = ensemble_.passes;
      model.drop_path = ensemble_.drop_path;
      model.seed = static_cast<uint64_t>(options_.training.run.seed);
    }
    Json trained = Json::array();
    if (ensemble_.kind == MemberKind::snapshots) {
      trained.push_back(train_snapshots_of(model));
    } else {
      for (size_t i = 0; i < ensemble_.members.size(); ++i) trained.push_back(train_member(i, model));
    }
    EnsembleTrainingResult result;
    result.directory = session_.directory().path();
    result.model = result.directory / "ensemble.nascent";
    save_ensemble(model, result.model);
    session_.directory().write_genotype(ensemble_.members.front());
    result.facts = facts_of(model, trained);
    session_.conclude(result.facts);
    result.report = session_.directory().report_path();
    return result;
  }

 private:
  // The split depends on the seed, which differs from member to member: what one holds out, the others must too.
  void keep_split() {
    const DataOptions& data = options_.training.data;
    if (data.valid_fraction == 0 || !data.split_file.empty()) return;
    const ImageData images(data, static_cast<uint64_t>(options_.training.run.seed));
    std::string lines;
    for (const int64_t index : images.split().train) lines += fmt::format("{}\n", index);
    split_ = (std::filesystem::absolute(session_.directory().path()) / "split.txt").string();
    write_file(split_, lines);
  }

  DataOptions data_of_all() const {
    DataOptions data = options_.training.data;
    if (!split_.empty()) data.split_file = split_;
    return data;
  }

  TrainingOptions training_of(size_t index) const {
    TrainingOptions training = options_.training;
    training.genotype = to_text(ensemble_.members[index], "json");
    training.space = ensemble_.space;
    training.run.seed += static_cast<int64_t>(index);
    training.run.out.clear();
    if (!split_.empty()) training.data.split_file = split_;
    return training;
  }

  Json train_member(size_t index, EnsembleModel& model) {
    const std::string folder = fmt::format("member-{}", index + 1);
    log::info("Member {} of {}", index + 1, ensemble_.members.size());
    Json result =
        session_.part(folder, {.verb = "train", .command = session_.command(), .recipe = session_.start().recipe},
                      training_of(index), [](const TrainingOptions& options, Session& part) { train(options, part); });
    model.members.push_back(load_model(session_.directory().path() / folder / "model.nascent"));
    return result;
  }

  Json train_snapshots_of(EnsembleModel& model) {
    TrainingOptions training = training_of(0);
    training.train.schedule.schedule = "cyclic";
    training.train.schedule.step_epochs = static_cast<double>(training.train.epochs) / ensemble_.passes;
    Json result = session_.part("member-1", {.verb = "train", .command = session_.command()}, training,
                                [](const TrainingOptions& options, Session& part) { train_snapshots(options, part); });
    for (int i = 1; i <= ensemble_.passes; ++i) {
      model.members.push_back(
          load_model(session_.directory().path() / "member-1" / fmt::format("snapshot-{}.nascent", i)));
    }
    return result;
  }

  Json facts_of(const EnsembleModel& model, const Json& trained) const {
    const auto seed = static_cast<uint64_t>(options_.training.run.seed);
    Json cells = Json::array();
    for (const Model& member : model.members) cells.push_back(Json::parse(to_text(member.genotype, "json")));
    const ImageData data(data_of_all(), seed);
    const bool holds_out = !data.split().valid.empty();
    const auto loader = [&](bool valid) -> LoaderFor {
      return [this, seed, valid](const Model& member) {
        const ImageData own(data_of_all(), seed, member.statistics);
        return valid ? own.evaluation(own.split().valid) : own.testing();
      };
    };
    const MemberPredictions test = predict_members(model, loader(false));
    Json facts = {{"kind", kind_name(ensemble_.kind)},
                  {"members", model.members.size()},
                  {"parameters", model.parameters()},
                  {"multiply_adds", model.multiply_adds()},
                  {"trained", trained},
                  {"cells", std::move(cells)}};
    const EnsembleFigures figures = ensemble_figures(test.members, test.labels, model.combine, model.weights);
    facts["test_top1"] = 100 - figures.error;
    facts["test"] = figures.to_json();
    if (holds_out) {
      const MemberPredictions valid = predict_members(model, loader(true));
      facts["valid"] = ensemble_figures(valid.members, valid.labels, model.combine, model.weights).to_json();
    }
    return facts;
  }

  const EnsembleTrainingOptions& options_;
  Session& session_;
  EnsembleDescription ensemble_;
  std::string split_;  // file of the training images' indices; empty: none are held out
};

// A training that writes its weights at the end of every cycle of the learning rate.
class SnapshotTraining : public Job {
 public:
  SnapshotTraining(Trainer& trainer, int cycles, std::function<void(int cycle)> write)
      : trainer_(trainer), cycles_(cycles), write_(std::move(write)) {}

  std::string label() const override { return trainer_.label(); }
  int64_t epochs() const override { return trainer_.epochs(); }
  int64_t steps() const override { return trainer_.steps(); }
  void start_epoch(int64_t epoch, int64_t first, EventSink& events) override {
    trainer_.start_epoch(epoch, first, events);
  }
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    return trainer_.step(epoch, step, events);
  }
  void end_epoch(int64_t epoch, EventSink& events) override {
    trainer_.end_epoch(epoch, events);
    // Epochs may not divide evenly: a cycle is over with the epoch in which it ends.
    const int64_t before = epoch * cycles_ / epochs(), after = (epoch + 1) * cycles_ / epochs();
    for (int64_t cycle = before + 1; cycle <= after; ++cycle) write_(static_cast<int>(cycle));
  }
  void save(State& state, const std::string& prefix) const override { trainer_.save(state, prefix); }
  void load(const State& state, const std::string& prefix) override { trainer_.load(state, prefix); }

 private:
  Trainer& trainer_;
  int cycles_;
  std::function<void(int)> write_;
};

}  // namespace

void train_snapshots(const TrainingOptions& options, Session& session) {
  options.run.apply();
  const int cycles = static_cast<int>(std::lround(options.train.epochs / options.train.schedule.step_epochs));
  if (options.train.epochs < cycles) {
    fail("{} epochs cannot hold {} cycles of a snapshot ensemble; train at least an epoch a member.",
         options.train.epochs, cycles);
  }
  const Genotype genotype = find_genotype(options.genotype);
  const auto space = find_space(options.space.empty() ? genotype.space : options.space);
  const auto seed = static_cast<uint64_t>(options.run.seed);
  const ImageData data(options.data, seed);
  const NetworkPlan plan = plan_network(*space, genotype, options.network, data.shape(), data.classes());
  Trainer trainer(std::make_shared<Network>(plan, seed, options.initialiser),
                  data.training(data.split().train, "train"),
                  data.split().valid.empty() ? data.testing() : data.evaluation(data.split().valid), options.train,
                  options.network.drop_path, seed);
  session.begin(genotype.space, {{"Genotype", "snapshots"}, {"Data set", options.data.name}});
  session.run([&] {
    session.directory().write_genotype(genotype);
    Model model{.genotype = genotype,
                .network_options = options.network,
                .input = data.shape(),
                .class_names = data.class_names(),
                .eval_transforms = data.eval_transforms(),
                .statistics = data.statistics(),
                .network = trainer.network()};
    // Snapshots of one training may be averaged (soup.h); this says that they are.
    model.results["training"] = fmt::format("{} seed {}", options.genotype, options.run.seed);
    SnapshotTraining job(trainer, cycles, [&](int cycle) {
      model.results["snapshot"] = cycle;
      save_model(model, session.directory().path() / fmt::format("snapshot-{}.nascent", cycle));
    });
    session.run(job);
    trainer.restore_last();
    const Evaluation test = evaluate(*trainer.network(), *data.testing());
    save_model(model, session.directory().model_path());
    session.conclude({{"parameters", count_parameters(plan)}, {"test_top1", test.top1}, {"test_loss", test.loss}});
  });
}

EnsembleTrainingResult train_ensemble(const EnsembleTrainingOptions& options, Session& session) {
  options.training.run.apply();
  if (options.ensemble.empty())
    fail("nascent ensemble train: the folder of an ensemble search is missing, as in nascent ensemble train runs/x.");
  EnsembleTraining training(options, session);
  training.begin();
  EnsembleTrainingResult result;
  session.run([&] { result = training.run(); });
  return result;
}

}  // namespace nascent
