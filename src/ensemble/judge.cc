#include "nascent/ensemble/judge.h"

#include "nascent/core/error.h"
#include "nascent/score/score_cache.h"
#include "nascent/search/one_shot/one_hot.h"

namespace nascent {
namespace {

// FNV-1a, 64 bits: as a file's name it tells any pool's architectures apart.
uint64_t name_of(const std::string& text) {
  uint64_t value = 14695981039346656037ull;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return value;
}

}  // namespace

EnsembleJudge::EnsembleJudge(std::filesystem::path folder, Combination combine)
    : folder_(std::move(folder)), combine_(combine) {
  if (!folder_.empty()) std::filesystem::create_directories(folder_);
}

const Probabilities& EnsembleJudge::predictions(const Genotype& genotype) {
  const std::string key = ScoreCache::key(genotype);
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  const auto file = folder_.empty() ? folder_ : folder_ / fmt::format("{:016x}.nascent", name_of(key));
  Predictions found;
  if (!file.empty() && std::filesystem::exists(file)) {
    found = load_predictions(file);
  } else {
    found = evaluate(genotype);
    if (!file.empty()) save_predictions(found, file);
  }
  labels_ = std::move(found.labels);
  return known_.emplace(key, std::move(found.probabilities)).first->second;
}

Members EnsembleJudge::members(const std::vector<Genotype>& genotypes) {
  Members members;
  for (const Genotype& genotype : genotypes) members.push_back(predictions(genotype));
  return members;
}

std::vector<const Probabilities*> EnsembleJudge::tables(const std::vector<Genotype>& genotypes) {
  std::vector<const Probabilities*> tables;
  for (const Genotype& genotype : genotypes) tables.push_back(&predictions(genotype));
  return tables;
}

double EnsembleJudge::loss(const std::vector<Genotype>& genotypes) {
  ++ensembles_;
  return negative_log_likelihood(nascent::combine(members(genotypes), combine_), labels_);
}

SharedWeightsJudge::SharedWeightsJudge(const Supernet& supernet, const SharedWeightsOptions& options,
                                       std::filesystem::path folder, Combination combine)
    : EnsembleJudge(std::move(folder), combine),
      supernet_(supernet),
      options_(options),
      judging_(supernet.judging()),
      training_(supernet.training()),
      testing_(supernet.testing()) {}

Predictions SharedWeightsJudge::answers(const Genotype& genotype, Loader& loader, int64_t images) {
  supernet_.space->validate(genotype);
  const Mixture mixture = one_hot(*supernet_.space, genotype);
  return predict(*supernet_.network, loader,
                 {.norms = norm_statistics(options_.norms),
                  .images = images,
                  .recalibration = training_.get(),
                  .context = {.mixture = &mixture}});
}

std::optional<EnsembleFigures> SharedWeightsJudge::test(const std::vector<Genotype>& genotypes,
                                                        const std::vector<double>& weights) {
  if (options_.test_images == 0) return std::nullopt;
  Members members;
  Labels labels;
  for (const Genotype& genotype : genotypes) {
    Predictions found = answers(genotype, *testing_, options_.test_images);
    members.push_back(std::move(found.probabilities));
    labels = std::move(found.labels);
  }
  return ensemble_figures(members, labels, combine(), weights);
}

}  // namespace nascent
