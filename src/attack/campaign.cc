#include "nascent/attack/campaign.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/attack/objective.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

constexpr const char* kStarted = "started";

void put_rows(at::Tensor to, int64_t first, const at::Tensor& from) { to.narrow(0, first, from.size(0)).copy_(from); }

double percent_true(const at::Tensor& flags) {
  return flags.numel() == 0 ? 0 : 100 * flags.to(at::kDouble).mean().item<double>();
}

// Answers that sum to 1 are probabilities: their logarithms would be logits, they are not.
bool are_probabilities(const at::Tensor& answers) {
  return answers.min().item<double>() >= 0 && at::allclose(answers.sum(1), at::ones({answers.size(0)}), 0, 1e-4);
}

std::string record_name(const std::string& prefix, size_t record) {
  return fmt::format("{}record.{}.", prefix, record);
}

}  // namespace

Campaign::Campaign(CampaignSetup setup, Attacked images) : setup_(std::move(setup)), images_(std::move(images)) {
  if (images_.size() == 0) fail("There are no images to attack: all of them are of the target's class.");
  if (!setup_.scale.empty()) {
    scale_ = by_channel(setup_.scale);
    for (auto* victims : {&setup_.attacked, &setup_.judges}) {
      for (auto& victim : *victims) victim = scaled_victim(victim, setup_.scale);
    }
  }
  records_.push_back({});
  const std::vector<double> nearest = {INFINITY};
  for (size_t attacker = 0; attacker < setup_.attacked.size(); ++attacker) {
    for (const double eps : setup_.plan.facts.minimal ? nearest : setup_.plan.eps) {
      records_.push_back({.attacker = static_cast<int>(attacker), .eps = eps});
    }
  }
}

int64_t Campaign::steps() const { return (images_.size() + setup_.batch - 1) / setup_.batch; }

const AttackRecord& Campaign::record(int attacker, size_t eps) const {
  const size_t strengths = setup_.plan.facts.minimal ? 1 : setup_.plan.eps.size();
  return records_.at(1 + attacker * strengths + eps);
}

void Campaign::prepare(AttackRecord& record) const {
  const int64_t count = images_.size();
  record.answers = at::zeros({static_cast<int64_t>(setup_.judges.size()), count}, at::kLong);
  record.fooled = at::zeros({count}, at::kBool);
  record.distances = at::zeros({count}, at::kFloat);
  record.parts = at::full({count}, -1, at::kLong);
  record.weaker = at::zeros({count}, at::kBool);
  std::vector<int64_t> kept = images_.images.sizes().vec();
  kept[0] = record.attacker < 0 ? 0 : std::min<int64_t>(setup_.keep, count);
  record.images = at::zeros(kept, at::kFloat);
}

void Campaign::start_epoch(int64_t epoch, int64_t first_step, EventSink&) {
  started_ = epoch + 1;
  if (first_step == 0) prepare(records_[epoch]);
}

StepReport Campaign::step(int64_t epoch, int64_t step, EventSink& events) {
  AttackRecord& record = records_[epoch];
  const int64_t first = step * setup_.batch, count = std::min<int64_t>(setup_.batch, images_.size() - first);
  Attacked batch = images_.select(at::arange(first, first + count, at::kLong));
  if (scale_.defined()) batch.images = batch.images / scale_;
  std::string note = "clean";
  if (epoch == 0) {
    if (step == 0) inspect(batch);
    judge(record, batch.images, first);
  } else {
    attack(record, batch, first);
    const double robust = 100 - percent_true(record.fooled.narrow(0, 0, first + count));
    note = std::isfinite(record.eps) ? fmt::format("eps {:.4g}: {:.1f} % hold", record.eps, robust)
                                     : fmt::format("{:.1f} % hold", robust);
    if (setup_.attacked.size() > 1) note = setup_.attacked[record.attacker]->name() + ", " + note;
    events.emit({"step", epoch, epoch * steps() + step + 1, {{"robust_top1", robust}}});
  }
  return {.note = note};
}

// Signs that the numbers of an attack are not to be trusted, from the first batch.
void Campaign::inspect(const Attacked& batch) {
  int64_t flat = 0;
  bool probabilities = false, random = false;
  for (const auto& victim : setup_.attacked) {
    const at::Tensor once = victim->logits(batch.images), twice = victim->logits(batch.images);
    random = random || !at::allclose(once, twice, 1e-5, 1e-6);
    probabilities = probabilities || are_probabilities(once);
    if (!setup_.plan.facts.gradients) continue;
    const at::Tensor slopes = victim->gradient(batch.images, cross_entropy(batch)).images;
    flat = std::max(flat, slopes.abs().amax({1, 2, 3}).eq(0).sum().item<int64_t>());
  }
  warnings_ = {{"zero_gradients", flat}, {"probabilities", probabilities}, {"random_answers", random}};
}

void Campaign::attack(AttackRecord& record, const Attacked& batch, int64_t first) {
  const Victim& victim = *setup_.attacked[record.attacker];
  const AttackPlan& plan = setup_.plan;
  const Attacked aimed = with_aims(batch, setup_.target, victim, plan.settings.seed);
  Threat threat{plan.norm, record.eps};
  if (scale_.defined()) threat.top = 1 / scale_;
  const auto run = [&](const std::string& name) {
    const auto& entry = Attack::Registry::instance().at(name);
    return attack_batch(*entry.make(plan.settings), entry.facts, plan.settings, victim, aimed, threat);
  };
  const Outcome outcome = run(plan.attack);
  put_rows(record.fooled, first, outcome.fooled);
  put_rows(record.distances, first, threat.distance(outcome.images, batch.images));
  if (outcome.parts.defined()) put_rows(record.parts, first, outcome.parts);
  if (!plan.facts.not_weaker_than.empty()) put_rows(record.weaker, first, run(plan.facts.not_weaker_than).fooled);
  judge(record, outcome.images, first);
  const int64_t kept = std::min(record.images.size(0) - first, batch.size());
  if (kept <= 0) return;
  const at::Tensor pixels = scale_.defined() ? outcome.images * scale_ : outcome.images;
  put_rows(record.images, first, pixels.narrow(0, 0, kept));
}

void Campaign::judge(AttackRecord& record, const at::Tensor& images, int64_t first) const {
  for (size_t j = 0; j < setup_.judges.size(); ++j) {
    put_rows(record.answers[static_cast<int64_t>(j)], first, setup_.judges[j]->logits(images).argmax(1));
  }
}

void Campaign::save(State& state, const std::string& prefix) const {
  state.values[prefix + kStarted] = started_;
  state.values[prefix + "warnings"] = warnings_;
  for (int64_t i = 0; i < started_; ++i) {
    const AttackRecord& record = records_[i];
    const std::string name = record_name(prefix, i);
    state.put(name + "answers", record.answers);
    state.put(name + "fooled", record.fooled);
    state.put(name + "distances", record.distances);
    state.put(name + "parts", record.parts);
    state.put(name + "weaker", record.weaker);
    state.put(name + "images", record.images);
  }
}

void Campaign::load(const State& state, const std::string& prefix) {
  started_ = std::min<int64_t>(state.value(prefix + kStarted).get<int64_t>(), epochs());
  warnings_ = state.value(prefix + "warnings");
  for (int64_t i = 0; i < started_; ++i) {
    AttackRecord& record = records_[i];
    prepare(record);
    const std::string name = record_name(prefix, i);
    state.copy_into(name + "answers", record.answers);
    state.copy_into(name + "fooled", record.fooled);
    state.copy_into(name + "distances", record.distances);
    state.copy_into(name + "parts", record.parts);
    state.copy_into(name + "weaker", record.weaker);
    state.copy_into(name + "images", record.images);
  }
}

}  // namespace nascent
