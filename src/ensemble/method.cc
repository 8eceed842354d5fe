#include "nascent/ensemble/method.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/progress.h"
#include "nascent/core/text.h"
#include "nascent/ensemble/ensemble_options.h"
#include "nascent/score/score_cache.h"

namespace nascent {
namespace {

const std::vector<std::string> kKinds = {"architectures", "seeds", "passes", "snapshots"};

}  // namespace

std::string kind_name(MemberKind kind) { return kKinds[static_cast<size_t>(kind)]; }

MemberKind member_kind(const std::string& name) {
  const auto it = std::find(kKinds.begin(), kKinds.end(), name);
  if (it == kKinds.end()) fail("An ensemble cannot be made of '{}'. Known: {}.", name, join(kKinds, ", "));
  return static_cast<MemberKind>(it - kKinds.begin());
}

void stop_if_asked() {
  if (interrupt_requested()) throw Interrupted();
}

bool EnsembleMethodFacts::reads_option(const std::string& name) const {
  return std::find(reads.begin(), reads.end(), name) != reads.end();
}

void BestSoFar::add(const std::vector<Genotype>& members, const std::vector<double>& weights, double loss,
                    const Json& more) {
  if (found_.trace.empty() || loss < found_.loss) {
    found_.loss = loss;
    found_.members = members;
    found_.weights = weights;
    tested_ = setup_.judge.test(members, weights);
  }
  Json line = {{"round", found_.trace.size() + 1}};
  line.update(more);
  line.update({{"loss", loss},
               {"best", found_.loss},
               {"networks", setup_.judge.networks()},
               {"ensembles", setup_.judge.ensembles()}});
  if (tested_) line["test_error"] = tested_->error;
  found_.trace.push_back(std::move(line));
}

FoundEnsemble best_of_rounds(const MethodSetup& setup, const DrawRound& draw) {
  BestSoFar best(setup);
  Progress progress("ensembles", setup.options.rounds);
  for (int round = 0; round < setup.options.rounds; ++round) {
    stop_if_asked();
    Json line = Json::object();
    const std::vector<Genotype> members = draw(round, line);
    const double loss = setup.judge.loss(members);
    best.add(members, {}, loss, line);
    progress.advance(1, fmt::format("loss {:.4f}, best {:.4f}", loss, best.found().loss));
  }
  return best.found();
}

std::vector<Genotype> draw_members(const MethodSetup& setup, int count, const std::function<Genotype(uint64_t)>& draw,
                                   const std::string& remedy) {
  std::vector<Genotype> members;
  std::set<std::string> seen;
  const uint64_t most = 1000 + 100 * static_cast<uint64_t>(count);
  for (uint64_t i = 0; static_cast<int>(members.size()) < count; ++i) {
    if (i == most) fail("{} draws gave only {} different architectures of {}; {}", most, members.size(), count, remedy);
    Genotype genotype = draw(i);
    if (!seen.insert(ScoreCache::key(genotype)).second && setup.options.distinct) continue;
    members.push_back(std::move(genotype));
  }
  return members;
}

std::vector<Genotype> random_pool(const MethodSetup& setup, int size) {
  const auto draw = [&](uint64_t index) {
    RandomStream random(setup.seed, "pool", {index});
    return setup.space.sample(random);
  };
  return draw_members(setup, size, draw, "the space is too small: lower --pool, or use --no-distinct.");
}

Genotype best_single(const MethodSetup& setup) {
  if (!setup.options.genotype.empty()) return find_genotype(setup.options.genotype);
  const auto pool = random_pool(setup, setup.options.pool);
  Progress progress("pool", static_cast<int64_t>(pool.size()));
  size_t best = 0;
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < pool.size(); ++i) {
    stop_if_asked();
    const double loss = setup.judge.loss({pool[i]});
    if (loss < lowest) {
      lowest = loss;
      best = i;
    }
    progress.advance(1, fmt::format("best loss {:.4f}", lowest));
  }
  return pool[best];
}

}  // namespace nascent
