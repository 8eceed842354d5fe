#include "nascent/ensemble/agreement.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/correlation.h"
#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/core/random.h"
#include "nascent/ensemble/ensemble_check.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/ensemble/figures.h"
#include "nascent/ensemble/judge.h"
#include "nascent/ensemble/member_images.h"
#include "nascent/space/choice_code.h"

namespace nascent {
namespace {

constexpr double kMostEnsembles = 5000;

std::vector<std::vector<int>> all_subsets(int count, int size) {
  std::vector<std::vector<int>> subsets;
  for (int64_t rank = 0; rank < static_cast<int64_t>(binomial(count, size)); ++rank)
    subsets.push_back(unrank_choice(count, size, rank));
  return subsets;
}

std::vector<double> values_of(const Members& members, const Labels& labels, Combination how, bool losses,
                              const std::vector<std::vector<int>>& subsets) {
  std::vector<double> values;
  for (const auto& subset : subsets) {
    Members few;
    for (const int member : subset) few.push_back(members[static_cast<size_t>(member)]);
    const Probabilities whole = combine(few, how);
    values.push_back(losses ? negative_log_likelihood(whole, labels) : error_of(whole, labels));
  }
  return values;
}

// The values of the ensembles where architecture i is taken for architecture order[i].
std::vector<double> relabelled(const std::vector<double>& values, const std::vector<std::vector<int>>& subsets,
                               const std::vector<int64_t>& order) {
  const int count = static_cast<int>(order.size());
  std::vector<double> result;
  for (const auto& subset : subsets) {
    std::vector<int> other;
    for (const int member : subset) other.push_back(static_cast<int>(order[static_cast<size_t>(member)]));
    std::sort(other.begin(), other.end());
    result.push_back(values[static_cast<size_t>(rank_choice(count, other))]);
  }
  return result;
}

}  // namespace

namespace {

void check_size(int size, int count) {
  if (size < 1 || size > count)
    fail("An ensemble of {} was asked for, but there are {} architectures; set --sizes to 1 to {}.", size, count,
         count);
  if (binomial(count, size) > kMostEnsembles)
    fail("There are {:.0f} ensembles of {} among {} architectures, more than {:.0f}; take fewer architectures.",
         binomial(count, size), size, count, kMostEnsembles);
}

}  // namespace

AgreementRow ensemble_agreement(const EstimatedAndTrue& pool, int size, const AgreementSettings& settings) {
  const int count = static_cast<int>(pool.trained.size());
  check_size(size, count);
  const auto subsets = all_subsets(count, size);
  const auto estimated = values_of(pool.estimated, pool.estimated_labels, pool.combine, settings.losses, subsets);
  const auto trained = values_of(pool.trained, pool.trained_labels, pool.combine, settings.losses, subsets);
  const TopAgreement top = top_agreement(estimated, trained, settings.share);
  AgreementRow row{.size = size,
                   .ensembles = static_cast<int64_t>(subsets.size()),
                   .spearman = spearman(estimated, trained),
                   .pearson = pearson(estimated, trained),
                   .agreement = top.value,
                   .chance = top.chance};
  int spearmans = 1, pearsons = 1, agreements = 1;
  for (int i = 0; i < settings.permutations; ++i) {
    RandomStream random(settings.seed, "agreement", {static_cast<uint64_t>(size), static_cast<uint64_t>(i)});
    const auto other = relabelled(trained, subsets, random.permutation(count));
    spearmans += spearman(estimated, other) >= row.spearman;
    pearsons += pearson(estimated, other) >= row.pearson;
    agreements += top_agreement(estimated, other, settings.share).value >= row.agreement;
  }
  const double all = settings.permutations + 1;
  // Where a figure is not defined, neither is how surprising it is.
  const auto p_value = [&](double figure, int at_least) { return std::isnan(figure) ? figure : at_least / all; };
  row.spearman_p = p_value(row.spearman, spearmans);
  row.pearson_p = p_value(row.pearson, pearsons);
  row.agreement_p = p_value(row.agreement, agreements);
  return row;
}

void AgreementOptions::declare(OptionTable& table) {
  auto section = table.section("agreement", "How far shared weights and training agree on ensembles.");
  section.add("models", models, "trained networks, one per architecture; also accepted as arguments");
  section.add("supernet", supernet, "run folder of the search whose supernet provides the estimates");
  section.add("sizes", sizes, "ensemble sizes, one row for each");
  section.add("norms", norms, "batch-norm statistics with shared weights: batch, running, recalibrated");
  section.add("combine", combine, "what to average over the members").one_of(combination_names());
  section.add("judge-images", judge_images, "number of held-out images for the estimates; 0: all")
      .at_least(0)
      .flag("ensemble-images");
  section.add("share", settings.share, "fraction of the ensembles that counts as best").range(0.001, 1);
  section.add("permutations", settings.permutations, "number of permutations for each p-value").range(1, 1e6);
  data.declare(table);
  run.declare_computing(table);
}

namespace {

Json row_json(const AgreementRow& row, const std::string& norms, const std::string& figure) {
  return {{"norms", norms},
          {"figure", figure},
          {"size", row.size},
          {"ensembles", row.ensembles},
          {"spearman", row.spearman},
          {"spearman_p", row.spearman_p},
          {"pearson", row.pearson},
          {"pearson_p", row.pearson_p},
          {"agreement", row.agreement},
          {"agreement_p", row.agreement_p},
          {"chance", row.chance}};
}

}  // namespace

Json measure_agreement(const AgreementOptions& options) {
  options.run.apply();
  if (options.models.empty())
    fail("nascent ensemble agreement: trained networks are missing, one per architecture: model files or run folders.");
  if (options.supernet.empty())
    fail("nascent ensemble agreement: --supernet is missing: the folder of a search that trained one.");
  for (const std::string& norms : options.norms) norm_statistics(norms);
  const EnsembleModel model = gather_ensemble(options.models);
  for (const double size : options.sizes)
    check_size(static_cast<int>(size), static_cast<int>(model.members.size()) * model.passes);
  const Supernet supernet = load_supernet(options.supernet);
  check_images(options.judge_images, 0, *supernet.data);
  const MemberPredictions trained = predict_members(model, [&](const Model& member) {
    return member_images(member, options.data, model.first().data_seed, MemberImages::test);
  });
  std::vector<Genotype> architectures;
  for (const Model& member : model.members) architectures.push_back(member.genotype);
  AgreementSettings settings = options.settings;
  settings.seed = static_cast<uint64_t>(options.run.seed);
  Json rows = Json::array();
  for (const std::string& norms : options.norms) {
    log::info("Shared weights, norms {}", norms);
    SharedWeightsJudge judge(supernet, {norms, options.judge_images, 0}, "", combination(options.combine));
    const Members estimated = judge.members(architectures);
    const EstimatedAndTrue pool{estimated, trained.members, judge.labels(), trained.labels, judge.combine()};
    for (const double size : options.sizes) {
      for (const bool losses : {false, true}) {
        settings.losses = losses;
        rows.push_back(
            row_json(ensemble_agreement(pool, static_cast<int>(size), settings), norms, losses ? "loss" : "error"));
      }
    }
  }
  return {{"architectures", architectures.size()}, {"share", settings.share}, {"rows", rows}};
}

}  // namespace nascent
