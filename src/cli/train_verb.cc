// nascent train: trains the network of a genotype from scratch.
#include <cmath>

#include "nascent/cli/run_session.h"
#include "nascent/cli/verb.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/data/dataset.h"
#include "nascent/data/image_data.h"
#include "nascent/nn/initialiser.h"
#include "nascent/train/model.h"
#include "nascent/train/trainer.h"

namespace nascent {
namespace {

class TrainVerb : public Verb {
 public:
  TrainVerb() { data_.valid_fraction = 0; }
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  void resolve(const Invocation&) override {
    if (genotype_.empty() || !network_.skeleton.empty()) return;
    network_.skeleton = find_space(space_of(find_genotype(genotype_)))->skeleton();
  }
  ScaleLimits scale_limits() const override {
    return {.fewest_cells = Skeleton::Registry::instance().at(network_.skeleton).facts.fewest_cells,
            .fewest_images = static_cast<int64_t>(std::ceil(data_.batch / (1 - data_.valid_fraction))),
            .all_images = [this] { return load_dataset(data_, Part::train, run_.seed)->size(); }};
  }

  void declare(OptionTable& table) override {
    auto section = table.section("train", "Training of one network.");
    section.add("genotype", genotype_,
                "what to train: a shipped name, a search's run folder, a file, or text in any form ('nascent genotype' "
                "shows them)");
    section.add("space", space_,
                "space of the genotype, by name or from a .toml file; empty: the one that the genotype names");
    section.add("initialiser", initialiser_, "how weights start").one_of(Initialiser::Registry::instance().names());
    train_.declare(table);
    network_.declare(table);
    data_.declare(table);
    run_.declare(table);
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    if (genotype_.empty())
      fail("nascent train: --genotype is missing, as in --genotype darts-v2 or --genotype runs/search-darts-1.");
    const Genotype genotype = find_genotype(genotype_);
    const auto space = find_space(space_of(genotype));
    const ImageData data(data_, run_.seed);
    const NetworkPlan plan = plan_network(*space, genotype, network_, data.shape(), data.classes());
    const std::string memory = run_.check_memory(plan, data_.batch);
    const bool holds_out = !data.split().valid.empty();
    const auto network = std::make_shared<Network>(plan, run_.seed, initialiser_);
    // Without held-out data the test part is only watched: the last weights are what is reported, not the best on it.
    Trainer trainer(network, data.training(data.split().train, "train"),
                    holds_out ? data.evaluation(data.split().valid) : data.testing(), train_, network_.drop_path,
                    run_.seed);
    RunSession session(invocation, run_, genotype.space, {{"Genotype", genotype_}, {"Data set", data_.name}});
    session.directory().write_genotype(genotype);
    log::info("Network: {} parameters, {} multiply-adds per image, about {} of memory a step; {}",
              engineering(count_parameters(plan)), engineering(count_multiply_adds(plan)), memory, data.describe());
    session.run(trainer);
    return conclude(invocation, session, trainer, genotype, plan, data, holds_out);
  }

 private:
  // A search in a space of the user's own keeps a copy of it in its folder.
  std::string space_of(const Genotype& genotype) const {
    if (!space_.empty()) return space_;
    const auto copy = std::filesystem::path(genotype_) / "space.toml";
    return std::filesystem::exists(copy) ? copy.string() : genotype.space;
  }

  Json conclude(const Invocation& invocation, RunSession& session, Trainer& trainer, const Genotype& genotype,
                const NetworkPlan& plan, const ImageData& data, bool holds_out) {
    Json result = {{"parameters", count_parameters(plan)}, {"multiply_adds", count_multiply_adds(plan)}};
    const auto test = data.testing();
    trainer.restore_last();
    const Evaluation last = evaluate(*trainer.network(), *test);
    result["test_top1"] = last.top1;
    result["test_top5"] = last.top5;
    result["test_loss"] = last.loss;
    save(session.directory().model_path(), trainer, genotype, data, result);
    if (holds_out) {
      trainer.restore_best();
      const Evaluation best = evaluate(*trainer.network(), *test);
      result["best"] = {
          {"epoch", trainer.best_epoch() + 1}, {"valid_top1", trainer.best().top1}, {"test_top1", best.top1}};
      save(session.directory().path() / "best.nascent", trainer, genotype, data, result["best"]);
    }
    session.conclude(result);
    invocation.print(fmt::format("Test accuracy: {:.2f} % (top 5: {:.2f} %), {} parameters", last.top1, last.top5,
                                 engineering(count_parameters(plan))));
    invocation.print(fmt::format("Model:  {}", session.directory().model_path().string()));
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["model"] = session.directory().model_path().string();
    result["directory"] = session.directory().path().string();
    result["report"] = session.directory().report_path().string();
    return result;
  }

  void save(const std::filesystem::path& path, const Trainer& trainer, const Genotype& genotype, const ImageData& data,
            const Json& result) {
    Model model;
    model.genotype = genotype;
    model.network_options = network_;
    model.input = data.shape();
    model.class_names = data.class_names();
    model.eval_transforms = data.eval_transforms();
    model.statistics = data.statistics();
    model.results = result;
    model.network = trainer.network();
    save_model(model, path);
  }

  std::string genotype_, space_, initialiser_ = "torch";
  TrainOptions train_;
  NetworkOptions network_;
  DataOptions data_;
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "train", "trains the network of a genotype from scratch",
                 [] { return std::make_unique<TrainVerb>(); });

}  // namespace
}  // namespace nascent
