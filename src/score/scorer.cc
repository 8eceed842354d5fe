#include "nascent/score/scorer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <map>
#include <set>

#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/progress.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/threads.h"

namespace nascent {

namespace {

// Raised when what all metrics are taken from changes its meaning; one metric alone has a version in its facts.
constexpr int kDefinitions = 1;

TensorBatch first_images(const TensorBatch& batch, int64_t count) {
  return {batch.images.narrow(0, 0, count), batch.labels.narrow(0, 0, count)};
}

uint32_t fingerprint(const at::Tensor& tensor) {
  const at::Tensor values = tensor.contiguous();
  return crc32({static_cast<const char*>(values.data_ptr()), values.nbytes()});
}

// A space of the user's own is told apart by what it holds.
std::string describe_space(const Space& space) {
  Json cells = Json::array();
  for (const auto& cell : space.cells()) {
    Json edges = Json::array();
    for (const auto& edge : Space::edges(cell)) edges.push_back({edge.from, edge.to});
    cells.push_back({cell.type, cell.inputs, edges, cell.output});
  }
  return Json{{"ops", space.ops()}, {"cells", cells}, {"skeleton", space.skeleton()}}.dump();
}

}  // namespace

TensorBatch scoring_batch(const ImageData& data, int64_t count, uint64_t seed) {
  const std::vector<int64_t> all = data.all();
  if (count > static_cast<int64_t>(all.size())) {
    fail("A batch of {} images was asked for, but there are only {}. Lower data.batch or score.kappa-batch.", count,
         all.size());
  }
  RandomStream random(seed, "scoring batch");
  std::vector<int64_t> chosen;
  const auto order = random.permutation(static_cast<int64_t>(all.size()));
  for (int64_t i = 0; i < count; ++i) chosen.push_back(all[order[i]]);
  const auto loader = data.evaluation(chosen);
  loader->start(0);
  std::vector<at::Tensor> images, labels;
  while (auto batch = loader->next()) {
    TensorBatch part = to_tensors(std::move(*batch));
    images.push_back(part.images);
    labels.push_back(part.labels);
  }
  return {at::cat(images), at::cat(labels)};
}

Scorer::Scorer(const ScorerSetup& setup, const ScoreOptions& options) : setup_(setup), metrics_(options.metrics) {
  if (metrics_.empty()) fail("No metric was asked for. Known: {}.", join(Metric::Registry::instance().names(), ", "));
  for (const auto& metric : metrics_) Metric::Registry::instance().at(metric);
  const int batch = options.kappa_batch > 0 ? options.kappa_batch : setup.batch;
  const int channels = options.kappa_channels > 0 ? options.kappa_channels : setup.network.channels;
  const std::string initialiser = options.kappa_initialiser.empty() ? options.initialiser : options.kappa_initialiser;
  const bool apart = batch != setup.batch || channels != setup.network.channels || initialiser != options.initialiser;
  std::vector<std::string> main, kappa;
  for (const auto& metric : metrics_) (apart && metric == kConditionNumber ? kappa : main).push_back(metric);
  if (!main.empty()) {
    studies_.push_back(make_study(options, setup.network.channels, setup.batch, options.initialiser, main));
  }
  if (!kappa.empty()) studies_.push_back(make_study(options, channels, batch, initialiser, kappa));
}

Scorer::Study Scorer::make_study(const ScoreOptions& options, int channels, int batch, const std::string& initialiser,
                                 std::vector<std::string> metrics) const {
  const auto& images = setup_.images.images;
  const Shape shape{static_cast<int>(images.size(1)), static_cast<int>(images.size(2)),
                    static_cast<int>(images.size(3))};
  Study study{.source = {*setup_.space, setup_.network, shape, setup_.classes},
              .options = {.initialiser = initialiser, .ntk = options.kernel_gradients(), .seed = setup_.seed},
              .batch = first_images(setup_.images, batch),
              .metrics = std::move(metrics),
              .cache = std::make_unique<ScoreCache>()};
  study.source.network.channels = channels;
  study.source.network.auxiliary = false;
  study.settings = {{"definitions", kDefinitions},
                    {"space", setup_.space->name()},
                    {"choices", fmt::format("{:08x}", crc32(describe_space(*setup_.space)))},
                    {"skeleton", setup_.network.skeleton},
                    {"channels", channels},
                    {"cells", setup_.network.cells},
                    {"classes", setup_.classes},
                    {"batch", batch},
                    {"images", fmt::format("{:08x}", fingerprint(study.batch.images))},
                    {"labels", fmt::format("{:08x}", fingerprint(study.batch.labels))},
                    {"initialiser", initialiser},
                    {"ntk", options.ntk},
                    {"seed", setup_.seed}};
  if (options.cache == "none") return study;
  const auto folder = options.cache.empty() ? cache_directory() / "scores" : std::filesystem::path(options.cache);
  try {
    study.cache = std::make_unique<ScoreCache>(folder, setup_.space->name(), study.settings);
  } catch (const Error& error) {
    // A folder that was asked for must do; the usual one is a convenience.
    if (!options.cache.empty()) throw;
    log::warning("Scores are not kept: {}", error.what());
  }
  return study;
}

namespace {

// The name of a metric in a cache. Scores of earlier definitions keep their old names there, and are not found.
std::string cached_name(const std::string& metric) {
  const int version = Metric::Registry::instance().at(metric).facts.version;
  return version == 1 ? metric : fmt::format("{}@{}", metric, version);
}

}  // namespace

Scores Scorer::cached(const Study& study, const Scores& scores) {
  Scores own;
  for (const auto& metric : study.metrics) {
    if (const auto it = scores.find(metric); it != scores.end()) own[cached_name(metric)] = it->second;
  }
  return own;
}

void Scorer::uncached(const Study& study, const Scores& known, Scores& scores) {
  for (const auto& metric : study.metrics) {
    if (const auto it = known.find(cached_name(metric)); it != known.end()) scores[metric] = it->second;
  }
}

Scores Scorer::known(const Genotype& genotype) const {
  Scores all;
  for (const Study& study : studies_) uncached(study, study.cache->find(genotype), all);
  return all;
}

Scores Scorer::known_ahead(const Genotype& genotype) const {
  Scores all;
  for (const Study& study : studies_) uncached(study, study.cache->find_ahead(genotype), all);
  return all;
}

std::vector<std::string> Scorer::missing(const Scores& found) const {
  std::vector<std::string> names;
  for (const auto& metric : metrics_) {
    if (!found.contains(metric)) names.push_back(metric);
  }
  return names;
}

Scores Scorer::compute(const Genotype& genotype, const std::vector<std::string>& metrics) const {
  const PrecisionScope scope(Precision::single);  // whoever asks: scores are kept for others
  Scores found;
  for (const Study& study : studies_) {
    std::unique_ptr<Probe> probe;
    for (const auto& metric : study.metrics) {
      if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) continue;
      if (!probe) probe = std::make_unique<Probe>(study.source, genotype, study.options, study.batch);
      found[metric] = Metric::Registry::instance().make(metric, *probe);
    }
  }
  return found;
}

void Scorer::add(const Genotype& genotype, const Scores& scores) {
  for (const Study& study : studies_) {
    if (const Scores own = cached(study, scores); !own.empty()) study.cache->add(genotype, own);
  }
}

void Scorer::keep_ahead(const Genotype& genotype, const Scores& scores) {
  for (const Study& study : studies_) {
    if (const Scores own = cached(study, scores); !own.empty()) study.cache->keep_ahead(genotype, own);
  }
}

Scores Scorer::kept(const Genotype& genotype) const {
  Scores found = known(genotype);
  const auto lost = missing(found);
  if (lost.empty()) return found;
  std::vector<std::string> files;
  for (const auto& path : cache_paths()) files.push_back(path.string());
  fail("{} no longer holds {} of {}, which was written there: something else has changed it. Run the command again.",
       join(files, " and "), join(lost, ", "), ScoreCache::key(genotype));
}

Scores Scorer::scores(const Genotype& genotype) {
  if (const auto metrics = missing(known(genotype)); !metrics.empty()) add(genotype, compute(genotype, metrics));
  return kept(genotype);
}

std::string Scorer::digest() const {
  Json all = Json::array();
  for (const Study& study : studies_) all.push_back({study.settings, study.metrics});
  return all.dump();
}

std::vector<std::filesystem::path> Scorer::cache_paths() const {
  std::vector<std::filesystem::path> paths;
  for (const Study& study : studies_) {
    if (!study.cache->path().empty()) paths.push_back(study.cache->path());
  }
  return paths;
}

namespace {

// "grad=1.5<tab>snip=nan": numbers that read back the same.
std::string text_of_scores(const Scores& scores) {
  std::vector<std::string> fields;
  for (const auto& [metric, value] : scores) fields.push_back(fmt::format("{}={}", metric, value));
  return join(fields, "\t");
}

Scores parse_scores(const std::string& text) {
  Scores scores;
  for (const auto& field : split(text, '\t')) {
    const size_t equals = field.find('=');
    scores[field.substr(0, equals)] = std::strtod(field.c_str() + equals + 1, nullptr);
  }
  return scores;
}

// A piece is the place of an architecture, with the metrics that are not known of it where they are not all:
// "grad,snip".
class ScoringPieces : public cluster::Helper {
 public:
  ScoringPieces(const Scorer& scorer, const Architectures& architectures)
      : scorer_(scorer), architectures_(architectures) {}

  cluster::Work describe(size_t place, const std::vector<std::string>& metrics) const {
    return {metrics == scorer_.metrics() ? "" : join(metrics, ","), static_cast<int64_t>(place)};
  }

  std::string digest() const override { return scorer_.digest() + architectures_.digest(); }
  void start_thread() override { at::set_num_threads(1); }  // of this thread
  std::string piece(const cluster::Work& work) override {
    return text_of_scores(scorer_.compute(architectures_[static_cast<size_t>(work.number)],
                                          work.text.empty() ? scorer_.metrics() : split(work.text, ',')));
  }

 private:
  const Scorer& scorer_;
  const Architectures& architectures_;
};

// Architectures are done by whoever is free, and added to the cache in their order: what comes early waits for its
// turn.
class ScoringTeam {
 public:
  ScoringTeam(Scorer& scorer, const Architectures& architectures, const ScoringHelp* help)
      : scorer_(scorer),
        architectures_(architectures),
        results_(scorer.metrics(), architectures.size()),
        pieces_(scorer, architectures),
        farm_(
            "score", help == nullptr ? Json::object() : help->opening, pieces_,
            [this](int64_t piece, const std::string& result) {
              keep(computed_[static_cast<size_t>(piece)], parse_scores(result));
              progress_->advance(1);
            },
            help == nullptr ? "" : help->log, /*alone=*/help == nullptr) {
    find_missing();
    const auto all = static_cast<int64_t>(architectures.size());
    progress_ = std::make_unique<Progress>("score", all, all - static_cast<int64_t>(computed_.size()));
  }

  ScoreColumns run(int threads) {
    farm_.run(threads);
    progress_->finish();
    for (const size_t place : unknown_) results_.set(place, scorer_.kept(architectures_[place]));
    return std::move(results_);
  }

  int64_t unknown() const { return static_cast<int64_t>(unknown_.size()); }

 private:
  // Each architecture once, also where it was drawn twice.
  void find_missing() {
    std::set<Hash128> seen;
    std::vector<std::pair<size_t, Scores>> early;  // done by a process that was stopped before their turn
    for (size_t i = 0; i < architectures_.size(); ++i) {
      const Genotype genotype = architectures_[i];
      const Scores known = scorer_.known(genotype);
      results_.set(i, known);
      const auto metrics = scorer_.missing(known);
      if (metrics.empty()) continue;
      unknown_.push_back(i);
      if (!seen.insert(hash128(ScoreCache::key(genotype))).second) continue;
      missing_.push_back(i);
      Scores ahead = scorer_.known_ahead(genotype);
      const bool whole = std::all_of(metrics.begin(), metrics.end(), [&](const auto& m) { return ahead.contains(m); });
      if (whole) {
        early.emplace_back(missing_.size() - 1, std::move(ahead));
      } else {
        computed_.push_back(missing_.size() - 1);
        farm_.add(pieces_.describe(i, metrics));
      }
    }
    for (auto& [turn, scores] : early) waiting_[turn] = std::move(scores);
    add_those_whose_turn_it_is();
  }

  void keep(size_t turn, Scores scores) {
    if (turn != turn_) scorer_.keep_ahead(architectures_[missing_[turn]], scores);
    waiting_[turn] = std::move(scores);
    add_those_whose_turn_it_is();
  }

  void add_those_whose_turn_it_is() {
    while (!waiting_.empty() && waiting_.begin()->first == turn_) {
      scorer_.add(architectures_[missing_[turn_++]], waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }

  Scorer& scorer_;
  const Architectures& architectures_;
  ScoreColumns results_;
  ScoringPieces pieces_;
  cluster::Farm farm_;
  std::vector<size_t> unknown_;       // places of the architectures of which not all was known
  std::vector<size_t> missing_;       // the same without those drawn again
  std::vector<size_t> computed_;      // which of these the farm does, by piece
  std::map<size_t, Scores> waiting_;  // done before their turn
  size_t turn_ = 0;                   // of the one that is added next
  std::unique_ptr<Progress> progress_;
};

}  // namespace

std::unique_ptr<cluster::Helper> scoring_helper(Scorer& scorer, const Architectures& architectures) {
  return std::make_unique<ScoringPieces>(scorer, architectures);
}

ScoreColumns score_all(Scorer& scorer, const Architectures& architectures, int threads, const ScoringHelp* help,
                       int64_t* computed) {
  if (threads == 0) threads = cluster::usual_threads();
  use_threads(1);  // for BLAS, whose setting is the process's
  ScoringTeam team(scorer, architectures, help);
  ScoreColumns results = team.run(threads);
  if (computed != nullptr) *computed = team.unknown();
  use_threads(threads);
  return results;
}

}  // namespace nascent
