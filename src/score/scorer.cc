#include "nascent/score/scorer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/progress.h"
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
  if (options.cache == "none") return study;
  const Json settings = {{"definitions", kDefinitions},
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
  const auto folder = options.cache.empty() ? cache_directory() / "scores" : std::filesystem::path(options.cache);
  try {
    study.cache = std::make_unique<ScoreCache>(folder, setup_.space->name(), settings);
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

bool Scorer::knows(const Genotype& genotype) const {
  return std::all_of(studies_.begin(), studies_.end(), [&](const Study& study) {
    const Scores known = study.cache->find(genotype);
    return std::all_of(study.metrics.begin(), study.metrics.end(),
                       [&](const std::string& metric) { return known.contains(cached_name(metric)); });
  });
}

Scores Scorer::scores(const Genotype& genotype) {
  Scores all;
  for (Study& study : studies_) {
    const Scores known = study.cache->find(genotype);
    std::unique_ptr<Probe> probe;
    Scores found;
    for (const auto& metric : study.metrics) {
      if (const auto it = known.find(cached_name(metric)); it != known.end()) {
        all[metric] = it->second;
        continue;
      }
      if (!probe) probe = std::make_unique<Probe>(study.source, genotype, study.options, study.batch);
      all[metric] = found[cached_name(metric)] = Metric::Registry::instance().make(metric, *probe);
    }
    if (!found.empty()) study.cache->add(genotype, found);
  }
  return all;
}

std::vector<std::filesystem::path> Scorer::cache_paths() const {
  std::vector<std::filesystem::path> paths;
  for (const Study& study : studies_) {
    if (!study.cache->path().empty()) paths.push_back(study.cache->path());
  }
  return paths;
}

namespace {

// Architectures are taken in order by whichever thread is free; the first error ends all.
class ScoringTeam {
 public:
  ScoringTeam(Scorer& scorer, const std::vector<Genotype>& genotypes)
      : scorer_(scorer), genotypes_(genotypes), results_(genotypes.size()) {
    for (size_t i = 0; i < genotypes.size(); ++i) {
      if (scorer.knows(genotypes[i]))
        results_[i] = scorer.scores(genotypes[i]);
      else
        missing_.push_back(i);
    }
    progress_ = std::make_unique<Progress>("score", static_cast<int64_t>(genotypes.size()),
                                           static_cast<int64_t>(genotypes.size() - missing_.size()));
  }

  std::vector<Scores> run(int threads) {
    std::vector<std::thread> team;
    for (int i = 0; i < threads; ++i) team.emplace_back([this] { work(); });
    for (auto& thread : team) thread.join();
    progress_->finish();
    if (error_) std::rethrow_exception(error_);
    if (interrupt_requested() && next_ < missing_.size()) throw Interrupted();
    return std::move(results_);
  }

 private:
  void work() {
    at::set_num_threads(1);  // of this thread
    while (!interrupt_requested()) {
      const size_t i = next_++;
      if (i >= missing_.size()) return;
      try {
        results_[missing_[i]] = scorer_.scores(genotypes_[missing_[i]]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        error_ = std::current_exception();
        next_ = missing_.size();
        return;
      }
      const std::lock_guard lock(mutex_);
      progress_->advance(1);
    }
  }

  Scorer& scorer_;
  const std::vector<Genotype>& genotypes_;
  std::vector<Scores> results_;
  std::vector<size_t> missing_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::unique_ptr<Progress> progress_;
  std::exception_ptr error_;
};

}  // namespace

std::vector<Scores> score_all(Scorer& scorer, const std::vector<Genotype>& genotypes, int threads) {
  if (threads == 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  use_threads(1);  // for BLAS, whose setting is the process's
  ScoringTeam team(scorer, genotypes);
  auto results = team.run(threads);
  use_threads(threads);
  return results;
}

}  // namespace nascent
