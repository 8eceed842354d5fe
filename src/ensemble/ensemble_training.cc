#include "nascent/ensemble/ensemble_training.h"

#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/data/image_data.h"
#include "nascent/ensemble/member_images.h"
#include "nascent/run/ensemble_figures.h"
#include "nascent/train/model_data.h"
#include "nascent/train/parts_ahead.h"

namespace nascent {

void EnsembleTrainingOptions::declare(OptionTable& table) {
  auto section = table.section("ensemble", "Which ensemble is trained.");
  section.add("ensemble", ensemble, "run folder of the ensemble search");
  section.add("at-once", at_once, "number of members to train in parallel; with more than one, each gets one thread")
      .range(1, 1024);
  training.declare(table);
}

void EnsembleTrainingOptions::resolve(const std::string& resume) {
  if (!training.genotype.empty())
    fail("--genotype: the members of an ensemble are those that its search found; leave it out.");
  if (ensemble.empty()) return;
  ensemble = std::filesystem::absolute(ensemble).lexically_normal().string();  // for a resume from elsewhere
  const EnsembleDescription found = EnsembleDescription::load(ensemble);
  if (found.kind == MemberKind::snapshots && training.train.epochs < found.passes) {
    fail("{} epochs cannot hold {} cycles of a snapshot ensemble; train at least an epoch a member.",
         training.train.epochs, found.passes);
  }
  if (training.network.skeleton.empty()) training.network.skeleton = find_space(found.space)->skeleton();
  training.resolve(resume);
}

namespace {

class EnsembleTraining {
 public:
  EnsembleTraining(const EnsembleTrainingOptions& options, Session& session)
      : options_(options), session_(session), ensemble_(EnsembleDescription::load(options.ensemble)) {}

  void begin() {
    const bool snapshots = ensemble_.kind == MemberKind::snapshots;
    cluster::require_work(snapshots ? 1 : static_cast<int64_t>(ensemble_.members.size()), "members to train");
    if (cluster::size() > 1 && options_.at_once > 1) {
      fail("--at-once {} trains members side by side in one process; with {} ranks, leave it out.", options_.at_once,
           cluster::size());
    }
    session_.begin(ensemble_.members.front().space, {{"Ensemble", options_.ensemble},
                                                     {"Members of", kind_name(ensemble_.kind)},
                                                     {"Data set", options_.training.data.name}});
  }

  EnsembleTrainingResult run() {
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
      trained = train_members(model);
    }
    EnsembleTrainingResult result;
    result.directory = session_.directory().path();
    result.model = result.directory / "ensemble.nascent";
    save_ensemble(model, result.model);
    session_.directory().write_genotype(ensemble_.members.front());
    result.facts = facts_of(model, trained);
    write_ensemble_figures(result.facts, result.directory / "figures", ensemble_.members.front().space);
    session_.conclude(result.facts);
    result.report = session_.directory().report_path();
    return result;
  }

 private:
  TrainingOptions training_of(size_t index) const {
    TrainingOptions training = options_.training;
    training.genotype = to_text(ensemble_.members[index], "json");
    training.space = ensemble_.space;
    // Which images there are, and which are held out, is the same for all; their order is not.
    if (training.data_seed < 0) training.data_seed = training.run.seed;
    training.run.seed += static_cast<int64_t>(index);
    return training;
  }

  // Some at a time. What is the ensemble's own run is touched by one thread after another.
  Json train_members(EnsembleModel& model) {
    const size_t count = ensemble_.members.size();
    PartsAhead ahead(session_, options_.training.run, options_.training.data);
    for (size_t i = 0; i < count; ++i) ahead.add(member_folder(i), member_start(), training_of(i));
    ahead.run();
    std::vector<Json> results(count);
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    const auto work = [&] {
      for (size_t i = next++; i < count; i = next++) {
        try {
          results[i] = train_member(i);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          if (!failure) failure = std::current_exception();
          next = count;  // no further one is begun
        }
      }
    };
    std::vector<std::thread> team;
    for (size_t i = 1; i < std::min(static_cast<size_t>(options_.at_once), count); ++i) team.emplace_back(work);
    work();
    for (std::thread& thread : team) thread.join();
    options_.training.run.apply();  // as many threads as before
    if (failure) std::rethrow_exception(failure);
    for (size_t i = 0; i < count; ++i)
      model.members.push_back(load_model(session_.directory().path() / member_folder(i) / "model.nascent"));
    return results;
  }

  static std::string member_folder(size_t index) { return fmt::format("member-{}", index + 1); }

  Json train_member(size_t index) {
    std::unique_lock lock(mutex_);
    log::info("Member {} of {}", index + 1, ensemble_.members.size());
    const bool alone = options_.at_once == 1;
    return session_.part(member_folder(index), member_start(), training_of(index),
                         [&](TrainingOptions options, Session& part) {
                           lock.unlock();
                           if (!alone) options.run.threads = 1;
                           train(options, part);
                         });
  }

  SessionStart member_start() const {
    return {.verb = "train", .command = session_.command(), .recipe = session_.start().recipe};
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

  MemberPredictions predictions(const EnsembleModel& model, MemberImages which) const {
    const auto batches = [&](const Model& member) {
      return member_images(member, unknown_data(), options_.training.images_seed(), which);
    };
    return predict_members(model, batches);
  }

  Json facts_of(const EnsembleModel& model, const Json& trained) const {
    Json cells = Json::array(), sizes = Json::array();
    for (const Model& member : model.members) {
      const NetworkPlan& plan = member.network->plan();
      cells.push_back(Json::parse(to_text(member.genotype, "json")));
      sizes.push_back({{"parameters", count_parameters(plan)}, {"multiply_adds", count_multiply_adds(plan)}});
    }
    const MemberPredictions test = predictions(model, MemberImages::test);
    Json facts = {{"kind", kind_name(ensemble_.kind)},
                  {"members", model.members.size()},
                  {"parameters", model.parameters()},
                  {"multiply_adds", model.multiply_adds()},
                  {"trained", trained},
                  {"cells", std::move(cells)},
                  {"sizes", std::move(sizes)}};
    const EnsembleFigures figures = ensemble_figures(test.members, test.labels, model.combine, model.weights);
    facts["test_top1"] = 100 - figures.error;
    facts["test"] = figures.to_json();
    const DataOptions& data = options_.training.data;
    if (data.valid_fraction > 0 || !data.split_file.empty()) {
      const MemberPredictions valid = predictions(model, MemberImages::held_out);
      facts["valid"] = ensemble_figures(valid.members, valid.labels, model.combine, model.weights).to_json();
    }
    return facts;
  }

  const EnsembleTrainingOptions& options_;
  Session& session_;
  EnsembleDescription ensemble_;
  std::mutex mutex_;
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
  check_shards(options.train.shards, options.data.batch, /*alone=*/true);
  const int cycles = static_cast<int>(std::lround(options.train.epochs / options.train.schedule.step_epochs));
  const Genotype genotype = find_genotype(options.genotype);
  const auto space = find_space(options.space.empty() ? genotype.space : options.space);
  const auto seed = static_cast<uint64_t>(options.run.seed);
  const ImageData data(options.data, options.images_seed());
  const NetworkPlan plan = plan_network(*space, genotype, options.network, data.shape(), data.classes());
  Trainer trainer(std::make_shared<Network>(plan, seed, options.initialiser),
                  data.training(data.split().train, "train"),
                  data.split().valid.empty() ? data.testing() : data.evaluation(data.split().valid), options.train,
                  options.network.drop_path, seed);
  session.begin(genotype.space, {{"Genotype", "snapshots"}, {"Data set", options.data.name}});
  session.run([&] {
    session.directory().write_genotype(genotype);
    Model model;
    model.genotype = genotype;
    model.network_options = options.network;
    model.network = trainer.network();
    remember_data(model, data, options.data, options.images_seed());
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
