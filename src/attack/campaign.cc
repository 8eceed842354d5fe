#include "nascent/attack/campaign.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/attack/objective.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

constexpr const char *kStarted = "started", *kWarnings = "warnings";

void put_rows(at::Tensor to, int64_t first, const at::Tensor& from) { to.narrow(0, first, from.size(0)).copy_(from); }

double percent_true(const at::Tensor& flags) {
  return flags.numel() == 0 ? 0 : 100 * flags.to(at::kDouble).mean().item<double>();
}

// Answers that sum to 1 are probabilities: their logarithms would be logits, they are not.
bool are_probabilities(const at::Tensor& answers) {
  return answers.min().item<double>() >= 0 && at::allclose(answers.sum(1), at::ones({answers.size(0)}), 0, 1e-4);
}

std::string record_name(const std::string& prefix, int64_t record) {
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

AttackRecord Campaign::empty_record(int64_t epoch, int64_t first, int64_t count) const {
  AttackRecord record{.attacker = records_[epoch].attacker, .eps = records_[epoch].eps};
  record.answers = at::zeros({static_cast<int64_t>(setup_.judges.size()), count}, at::kLong);
  record.fooled = at::zeros({count}, at::kBool);
  record.distances = at::zeros({count}, at::kFloat);
  record.parts = at::full({count}, -1, at::kLong);
  record.weaker = at::zeros({count}, at::kBool);
  std::vector<int64_t> kept = images_.images.sizes().vec();
  kept[0] = record.attacker < 0 ? 0 : std::clamp<int64_t>(setup_.keep - first, 0, count);
  record.images = at::zeros(kept, at::kFloat);
  return record;
}

int64_t Campaign::batch_size(int64_t step) const {
  return std::min<int64_t>(setup_.batch, images_.size() - step * setup_.batch);
}

void Campaign::start_epoch(int64_t epoch, int64_t first_step, EventSink&) {
  started_ = epoch + 1;
  if (first_step == 0) records_[epoch] = empty_record(epoch, 0, images_.size());
}

std::string Campaign::piece(int64_t epoch, int64_t step) {
  const int64_t first = step * setup_.batch, count = batch_size(step);
  Attacked batch = images_.select(at::arange(first, first + count, at::kLong));
  if (scale_.defined()) batch.images = batch.images / scale_;
  AttackRecord record = empty_record(epoch, first, count);
  State found;
  if (epoch > 0) {
    attack(record, batch);
  } else {
    if (step == 0) found.values[kWarnings] = inspect(batch);
    judge(record, batch.images);
  }
  record.save(found, "");
  return found.serialise();
}

StepReport Campaign::take(int64_t epoch, int64_t step, const std::string& found, EventSink& events) {
  const State state = State::parse(found, "a batch");
  const int64_t first = step * setup_.batch, count = batch_size(step);
  AttackRecord batch = empty_record(epoch, first, count);
  batch.load(state, "");
  AttackRecord& record = records_[epoch];
  record.answers.narrow(1, first, count).copy_(batch.answers);
  put_rows(record.fooled, first, batch.fooled);
  put_rows(record.distances, first, batch.distances);
  put_rows(record.parts, first, batch.parts);
  put_rows(record.weaker, first, batch.weaker);
  if (batch.images.size(0) > 0) put_rows(record.images, first, batch.images);
  if (epoch == 0) {
    if (step == 0) warnings_ = state.value(kWarnings);
    return {.note = "clean"};
  }
  const double robust = 100 - percent_true(record.fooled.narrow(0, 0, first + count));
  events.emit({"step", epoch, epoch * steps() + step + 1, {{"robust_top1", robust}}});
  std::string note = std::isfinite(record.eps) ? fmt::format("eps {:.4g}: {:.1f} % hold", record.eps, robust)
                                               : fmt::format("{:.1f} % hold", robust);
  if (setup_.attacked.size() > 1) note = setup_.attacked[record.attacker]->name() + ", " + note;
  return {.note = note};
}

// Signs that the numbers of an attack are not to be trusted, from the first batch.
Json Campaign::inspect(const Attacked& batch) const {
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
  return {{"zero_gradients", flat}, {"probabilities", probabilities}, {"random_answers", random}};
}

void Campaign::attack(AttackRecord& record, const Attacked& batch) const {
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
  record.fooled.copy_(outcome.fooled);
  record.distances.copy_(threat.distance(outcome.images, batch.images));
  if (outcome.parts.defined()) record.parts.copy_(outcome.parts);
  if (!plan.facts.not_weaker_than.empty()) record.weaker.copy_(run(plan.facts.not_weaker_than).fooled);
  judge(record, outcome.images);
  const at::Tensor pixels = scale_.defined() ? outcome.images * scale_ : outcome.images;
  record.images.copy_(pixels.narrow(0, 0, record.images.size(0)));
}

void Campaign::judge(AttackRecord& record, const at::Tensor& images) const {
  for (size_t j = 0; j < setup_.judges.size(); ++j) {
    record.answers[static_cast<int64_t>(j)].copy_(setup_.judges[j]->logits(images).argmax(1));
  }
}

void AttackRecord::save(State& state, const std::string& prefix) const {
  state.put(prefix + "answers", answers);
  state.put(prefix + "fooled", fooled);
  state.put(prefix + "distances", distances);
  state.put(prefix + "parts", parts);
  state.put(prefix + "weaker", weaker);
  state.put(prefix + "images", images);
}

void AttackRecord::load(const State& state, const std::string& prefix) {
  state.copy_into(prefix + "answers", answers);
  state.copy_into(prefix + "fooled", fooled);
  state.copy_into(prefix + "distances", distances);
  state.copy_into(prefix + "parts", parts);
  state.copy_into(prefix + "weaker", weaker);
  state.copy_into(prefix + "images", images);
}

void Campaign::save(State& state, const std::string& prefix) const {
  state.values[prefix + kStarted] = started_;
  state.values[prefix + kWarnings] = warnings_;
  for (int64_t i = 0; i < started_; ++i) records_[i].save(state, record_name(prefix, i));
}

void Campaign::load(const State& state, const std::string& prefix) {
  started_ = std::min<int64_t>(state.value(prefix + kStarted).get<int64_t>(), epochs());
  warnings_ = state.value(prefix + kWarnings);
  for (int64_t i = 0; i < started_; ++i) {
    records_[i] = empty_record(i, 0, images_.size());
    records_[i].load(state, record_name(prefix, i));
  }
}

}  // namespace nascent
