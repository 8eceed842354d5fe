#include "nascent/ensemble/ensemble_search.h"

#include <algorithm>

#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/recipes.h"
#include "nascent/data/image_data.h"
#include "nascent/ensemble/ensemble_check.h"
#include "nascent/run/ensemble_figures.h"
#include "nascent/search/method.h"
#include "nascent/search/search.h"
#include "nascent/train/model.h"
#include "nascent/train/training.h"

namespace nascent {

Json EnsembleDescription::to_json() const {
  Json list = Json::array();
  for (const Genotype& member : members) list.push_back(Json::parse(to_text(member, "json")));
  return {{"kind", kind_name(kind)}, {"space", space},   {"members", list},       {"weights", weights},
          {"combine", combine},      {"passes", passes}, {"drop_path", drop_path}};
}

EnsembleDescription EnsembleDescription::load(const std::filesystem::path& folder) {
  const auto file = folder / "ensemble.json";
  if (!std::filesystem::exists(file)) {
    fail("{} holds no ensemble.json; give the folder of a finished 'nascent ensemble search'.", folder.string());
  }
  try {
    const Json json = Json::parse(read_file(file));
    EnsembleDescription ensemble;
    ensemble.kind = member_kind(json.at("kind").get<std::string>());
    json.at("space").get_to(ensemble.space);
    for (const Json& member : json.at("members")) ensemble.members.push_back(parse_genotype(member.dump(), "json"));
    json.at("weights").get_to(ensemble.weights);
    json.at("combine").get_to(ensemble.combine);
    json.at("passes").get_to(ensemble.passes);
    json.at("drop_path").get_to(ensemble.drop_path);
    // A space of the user's own was kept with the search.
    if (const auto copy = folder / "space.toml"; std::filesystem::exists(copy)) ensemble.space = copy.string();
    return ensemble;
  } catch (const Json::exception& error) {
    fail("{} is damaged: {}", file.string(), error.what());
  }
}

namespace {

class EnsembleSearch {
 public:
  EnsembleSearch(const EnsembleOptions& options, Session& session)
      : options_(options),
        session_(session),
        facts_(options.facts()),
        space_(searched_space(options.search)),
        seed_(static_cast<uint64_t>(options.search.run.seed)) {
    // What can be refused is, before there is a run: what another one left, and what the parts of this one will be.
    if (options.needs_supernet() && !options.supernet.empty()) {
      supernet_.emplace(load_supernet(options.supernet, space_->name()));
      check_given_supernet(options, *supernet_);
      space_ = supernet_->space;
    }
    if (facts_.posterior && !options.posterior.empty()) {
      ArchitecturePosterior trial(*space_, {.temperature = options.learning.tau}, seed_);
      load_posterior(options.posterior, trial);
    }
    if (!options.genotype.empty()) space_->validate(find_genotype(options.genotype));
    if (options.judges() && options.judge == "train") training_ = judging_training();
    check_parts();
  }

  void begin() {
    session_.begin(space_->name(), {{"Method", options_.method},
                                    {"Space", space_->name()},
                                    {"Data set", options_.search.data.name},
                                    {"Members", std::to_string(options_.members)}});
  }

  EnsembleSearchResult run() {
    const auto folder = session_.directory().path();
    keep_space();
    prepare();
    const auto judge = make_judge();
    const FoundEnsemble found = EnsembleMethod::Registry::instance().make(
        options_.method, MethodSetup{options_, *space_, *judge, posterior_ ? posterior_.get() : nullptr, seed_});
    EnsembleSearchResult result;
    result.ensemble = {
        .kind = facts_.kind,
        .space = options_.search.space,
        .members = found.members,
        .weights = found.weights,
        .combine = options_.combine,
        .passes = facts_.kind == MemberKind::passes || facts_.kind == MemberKind::snapshots ? options_.members : 1,
        .drop_path = facts_.kind == MemberKind::passes ? options_.drop : 0};
    result.facts = facts_of(found, *judge);
    write_file(folder / "ensemble.json", result.ensemble.to_json().dump(2) + "\n");
    session_.directory().write_genotype(found.members.front());
    write_ensemble_figures(result.facts, folder / "figures", options_.search.space);
    session_.conclude(result.facts);
    result.directory = folder;
    result.report = session_.directory().report_path();
    return result;
  }

 private:
  void check_parts() const {
    if (!options_.judges()) return;
    if (supernet_) return check_images_of(*supernet_->data, supernet_->options.data.batch);
    if (!options_.needs_supernet())
      return check_images(options_.judge_images, 0, ImageData(options_.search.data, seed_));
    const SearchOptions search = supernet_options();
    const Problem problem(search);
    check_images_of(problem.images(), search.data.batch);
    make_method(problem);
  }

  void check_images_of(const ImageData& data, int batch) const {
    check_images(options_.judge_images, options_.test_images, data);
    const bool learns = facts_.posterior && options_.posterior.empty();
    if (const size_t held_out = data.split().valid.size(); learns && held_out < static_cast<size_t>(batch)) {
      fail(
          "The posterior learns from held-out images in batches of {}, and there are {}; lower --batch or hold out "
          "more.",
          batch, held_out);
    }
  }

  void keep_space() const {
    const auto copy = session_.directory().path() / "space.toml";
    if (options_.search.space.ends_with(".toml") && options_.search.space != copy.string())
      write_file(copy, read_file(options_.search.space));
  }

  SearchOptions supernet_options() const {
    SearchOptions search = options_.search;
    if (options_.when == "best-response") {
      search.one_shot.relaxation.relaxation = "posterior";
      search.one_shot.relaxation.temperature = search.one_shot.relaxation.temperature_end =
          options_.learning.gumbel_temperature;
      OptimizerOptions& optimizer = search.one_shot.update.optimizer;
      optimizer.lr = options_.learning.optimizer.lr;
      optimizer.beta1 = options_.learning.optimizer.beta1;
      optimizer.beta2 = options_.learning.optimizer.beta2;
      optimizer.weight_decay = options_.learning.optimizer.weight_decay;
      search.one_shot.discretisation = OneShotOptions().discretisation;
      search.one_shot.samples = OneShotOptions().samples;
      const ImageData data(search.data, seed_);
      const double images = static_cast<double>(std::max<size_t>(1, data.split().valid.size()));
      search.one_shot.regularisers.push_back(fmt::format("uniform {}", options_.learning.kl_weight / images));
    }
    return search;
  }

  void prepare() {
    if (!options_.needs_supernet()) return;
    std::string folder = options_.supernet;
    if (folder.empty()) {
      log::info("Supernet");
      session_.part("supernet", {.verb = "search", .command = session_.command(), .recipe = session_.start().recipe},
                    supernet_options(), [](const SearchOptions& options, Session& part) { search(options, part); });
      folder = (session_.directory().path() / "supernet").string();
      supernet_.emplace(load_supernet(folder, space_->name()));
    }
    if (facts_.posterior) prepare_posterior(folder);
  }

  void prepare_posterior(const std::string& supernet) {
    posterior_ = std::make_unique<ArchitecturePosterior>(
        *supernet_->space, PosteriorSettings{.temperature = options_.learning.tau}, seed_);
    if (!options_.posterior.empty()) return load_posterior(options_.posterior, *posterior_);
    if (options_.when == "best-response") return load_posterior(supernet, *posterior_);
    log::info("Posterior");
    PosteriorOptions learning = options_.learning;
    learning.supernet = std::filesystem::absolute(supernet).string();
    learning.run = options_.search.run;
    session_.part("posterior", {.verb = "ensemble posterior", .command = {"--supernet", learning.supernet}}, learning,
                  [](const PosteriorOptions& options, Session& part) { train_posterior(options, part); });
    load_posterior(session_.directory().path() / "posterior", *posterior_);
  }

  std::unique_ptr<EnsembleJudge> make_judge() {
    const auto folder = session_.directory().path() / "predictions";
    const Combination how = combination(options_.combine);
    if (options_.needs_supernet() && options_.judge == "shared") {
      return std::make_unique<SharedWeightsJudge>(
          *supernet_, SharedWeightsOptions{options_.norms, options_.judge_images, options_.test_images}, folder, how);
    }
    return std::make_unique<TrainedJudge>(
        [this](const Genotype& genotype, int64_t number) { return trained(genotype, number); }, folder, how);
  }

  std::string training_recipe() const {
    if (!options_.search.stages.retrain.empty()) return options_.search.stages.retrain;
    return Skeleton::Registry::instance().at(options_.search.network.skeleton).facts.retraining;
  }

  // How the networks of the pool are trained where training judges them.
  TrainingOptions judging_training() const {
    const StageOptions& stages = options_.search.stages;
    const std::string recipe = training_recipe();
    const DataOptions& images = options_.search.data;
    TrainingOptions training;
    OptionTable table;
    training.declare(table);
    training.data.name = images.name;
    training.data.path = images.path;
    const Recipe found = find_recipe(recipe);
    found.require_verb("train");
    table.read_toml(found.text, "recipe " + recipe);
    training.train.epochs = 50;  // as under Table 5.2
    if (!images.train_transforms.empty()) training.data.train_transforms = images.train_transforms;
    std::vector<std::string> typed = {"data.limit"};  // that of the search, which is scaled already
    for (const auto& assignment : stages.retrain_set) {
      table.read_assignment(assignment);
      typed.push_back(table.at(assignment.substr(0, assignment.find('=')), "--retrain-set").key());
    }
    if (!stages.retrain_scale.empty()) {
      const int fewest = Skeleton::Registry::instance().at(options_.search.network.skeleton).facts.fewest_cells;
      apply_scale(Scale::parse(stages.retrain_scale), {.fewest_cells = fewest}, typed, table);
    }
    const int batch = training.data.batch;
    const auto transforms = training.data.train_transforms;
    training.data = images;
    training.data.batch = std::min(batch, images.batch);
    if (!transforms.empty()) training.data.train_transforms = transforms;
    training.space = options_.search.space;
    training.run = options_.search.run;
    return training;
  }

  // Trains a network of the pool as a part of the run and asks it about the held-out images.
  Predictions trained(const Genotype& genotype, int64_t number) {
    const std::string folder = fmt::format("pool-{}", number);
    TrainingOptions training = *training_;
    training.genotype = to_text(genotype, "json");
    log::info("Network {} of the pool", number);
    const std::string recipe = training_recipe();
    session_.part(folder, {.verb = "train", .command = {"--recipe", recipe}, .recipe = recipe}, training,
                  [](const TrainingOptions& options, Session& part) { train(options, part); });
    const Model model = load_model(session_.directory().path() / folder / "model.nascent");
    const ImageData data(training.data, seed_, model.statistics);
    return predict(*model.network, *data.evaluation(data.split().valid), {.images = options_.judge_images});
  }

  Json facts_of(const FoundEnsemble& found, EnsembleJudge& judge) {
    Json facts = {
        {"method", options_.method}, {"kind", kind_name(facts_.kind)},         {"members", found.members.size()},
        {"judge", options_.judge},   {"networks_evaluated", judge.networks()}, {"ensembles_judged", judge.ensembles()},
        {"trace", found.trace}};
    Json cells = Json::array();
    for (const Genotype& member : found.members) cells.push_back(Json::parse(to_text(member, "json")));
    facts["cells"] = std::move(cells);
    if (judge.networks() > 0) {
      const EnsembleFigures figures =
          ensemble_figures(judge.members(found.members), judge.labels(), judge.combine(), found.weights);
      facts["estimated"] = figures.to_json();
      if (const auto tested = judge.test(found.members, found.weights)) facts["shared_test"] = tested->to_json();
    }
    if (posterior_) facts["posterior"] = posterior_facts(judge);
    if (supernet_ && options_.when == "post-training") facts["fairness"] = fairness();
    return facts;
  }

  // With what the judge says of the most probable architecture (Fig. 5.5); it is not part of the search's budget.
  Json posterior_facts(EnsembleJudge& judge) const {
    const Genotype likely = posterior_->most_probable();
    const Members alone = judge.members({likely});
    const auto tested = judge.test({likely}, {});
    Json cells = Json::object();
    const auto entropies = posterior_->entropies();
    const Mixture probabilities = posterior_->probabilities();
    for (size_t i = 0; i < posterior_->shape().cells().size(); ++i) {
      const std::string& type = posterior_->shape().cells()[i].type;
      const CellMixture& cell = probabilities.at(type);
      const at::Tensor ops = cell.ops.detach().contiguous(), edges = cell.edges.detach().contiguous();
      Json rows = Json::array();
      for (int64_t site = 0; site < ops.size(0); ++site) {
        const float* row = ops.data_ptr<float>() + site * ops.size(1);
        rows.push_back(std::vector<float>(row, row + ops.size(1)));
      }
      cells[type] = {{"entropy", entropies[i]},
                     {"probabilities", std::move(rows)},
                     {"kept", posterior_->kept(i)},
                     {"edges", std::vector<float>(edges.data_ptr<float>(), edges.data_ptr<float>() + edges.numel())}};
    }
    return {{"tau", posterior_->temperature()},
            {"divergence", posterior_->divergence().item<double>()},
            {"most_probable",
             {{"cell", Json::parse(to_text(likely, "json"))},
              {"test_error", tested ? Json(tested->error) : Json()},
              {"log_probability", posterior_->log_probability(likely)},
              {"error", error_of(alone[0], judge.labels())},
              {"loss", negative_log_likelihood(alone[0], judge.labels())}}},
            {"ops", space_->ops()},
            {"cells", std::move(cells)}};
  }

  Json fairness() const {
    const auto& relaxation = supernet_->options.one_shot.relaxation.relaxation;
    if (relaxation != "single-path" && relaxation != "fair-path") return nullptr;
    return fairness_of(*supernet_).to_json(*space_);
  }

  const EnsembleOptions& options_;
  Session& session_;
  EnsembleMethodFacts facts_;
  std::shared_ptr<const Space> space_;
  uint64_t seed_;
  std::optional<Supernet> supernet_;
  std::unique_ptr<ArchitecturePosterior> posterior_;
  std::optional<TrainingOptions> training_;  // of the pool's networks, where training judges them
};

}  // namespace

EnsembleSearchResult search_ensemble(const EnsembleOptions& options, Session& session) {
  options.search.run.apply();
  EnsembleSearch search(options, session);
  search.begin();
  EnsembleSearchResult result;
  session.run([&] { result = search.run(); });
  return result;
}

}  // namespace nascent
