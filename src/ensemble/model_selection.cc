#include "nascent/ensemble/model_selection.h"

#include "nascent/core/error.h"
#include "nascent/ensemble/figures.h"
#include "nascent/ensemble/member_images.h"
#include "nascent/ensemble/selection.h"
#include "nascent/nn/threads.h"

namespace nascent {

void ModelSelectionOptions::declare(OptionTable& table) {
  auto section = table.section("select", "Which of some trained models make the best ensemble.");
  section.add("models", models, "the pool: models, ensembles or run folders; also accepted as arguments");
  section.add("selection", selection, "how members are selected").one_of(Selection::Registry::instance().names());
  section.add("members", members, "number of networks in the ensemble").range(1, 1000);
  section.add("beam", beam, "beam: number of ensembles to keep at every size").range(1, 1e6);
  section.add("combine", combine, "what to average over the members").one_of(combination_names());
  section.add("output", output, "file for the resulting ensemble");
  data.declare(table);
  table.section("run", "Where and how a run happens.")
      .add("threads", threads, "number of compute threads; 0: one per core")
      .range(0, 1024);
}

namespace {

MemberPredictions predictions_of(const EnsembleModel& model, const ModelSelectionOptions& options, MemberImages which) {
  return predict_members(
      model, [&](const Model& member) { return member_images(member, options.data, model.first().data_seed, which); });
}

}  // namespace

Json select_models(const ModelSelectionOptions& options) {
  use_threads(options.threads);
  if (options.models.empty())
    fail("nascent ensemble select: trained models are missing: model files, ensembles or run folders.");
  const EnsembleModel pool = gather_ensemble(options.models);
  if (pool.passes != 1) fail("The passes of one network cannot be selected from; name trained models.");
  check_selection(options.selection, pool.members.size(), options.members, combination(options.combine));
  if (options.data.name.empty()) require_one_split(pool.members);
  const MemberPredictions held = predictions_of(pool, options, MemberImages::held_out);
  const SelectionPool candidates(held.members, held.labels, combination(options.combine));
  const Selected chosen = select_members(options.selection, {candidates, options.members, options.beam});
  EnsembleModel ensemble;
  ensemble.combine = candidates.how();
  ensemble.weights = chosen.weights;
  Members valid;
  std::vector<size_t> numbers;
  for (const size_t member : chosen.members) {
    ensemble.members.push_back(pool.members[member]);
    valid.push_back(held.members[member]);
    numbers.push_back(member + 1);
  }
  save_ensemble(ensemble, options.output);
  const MemberPredictions test = predictions_of(ensemble, options, MemberImages::test);
  return {{"pool", pool.members.size()},
          {"members", numbers},
          {"weights", chosen.weights},
          {"ensembles_judged", chosen.judged},
          {"valid", ensemble_figures(valid, held.labels, ensemble.combine, ensemble.weights).to_json()},
          {"test", ensemble_figures(test.members, test.labels, ensemble.combine, ensemble.weights).to_json()},
          {"model", options.output}};
}

}  // namespace nascent
