// Attacks on one victim, or on every member of an ensemble, at one or several strengths: a job whose epochs are attacks
// and whose steps are batches, none of which needs another. All victims answer what each attack made.
//
//   Campaign campaign({.attackers = ..., .judges = ..., .plan = plan_attack(options, 10, 1)}, images, 64);
//   run_job(campaign, {.checkpoints = &store});
//   campaign.result();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/attack/attack_options.h"
#include "nascent/attack/target.h"
#include "nascent/train/farmed_job.h"

namespace nascent {

// What was done to images by one attack: to all of them, or to a batch. The first record holds the clean images.
struct AttackRecord {
  int attacker = -1;       // among the victims attacked; -1: none, the images are clean
  double eps = 0;          // infinite for a minimal-norm attack
  at::Tensor answers{};    // [judges, images]: the class each says
  at::Tensor fooled{};     // [images] of bool: the attacker's doing, or wrong from the start
  at::Tensor distances{};  // [images]
  at::Tensor parts{};      // [images]: the part of a cascade that fooled it, -1: none
  at::Tensor images{};     // the first ones, pixels from 0 to 1
  at::Tensor weaker{};     // [images] of bool: fooled by the attack that this one should not be weaker than

  void save(State& state, const std::string& prefix) const;
  void load(const State& state, const std::string& prefix);  // into tensors of the same shapes
};

struct CampaignSetup {
  std::vector<VictimPointer> attacked{}, judges{};  // the last judge speaks for all of them
  AttackPlan plan{};
  TargetChoice target{};
  std::vector<double> scale{};  // of normalised units, per channel; empty: distances are in pixels
  int batch = 64;
  int keep = 1000;
};

class Campaign : public FarmedJob {
 public:
  Campaign(CampaignSetup setup, Attacked images);

  // FarmedJob
  std::string label() const override { return "attack"; }
  int64_t epochs() const override { return static_cast<int64_t>(records_.size()); }
  int64_t steps() const override;
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override;
  std::string piece(int64_t epoch, int64_t step) override;
  StepReport take(int64_t epoch, int64_t step, const std::string& found, EventSink& events) override;
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  const CampaignSetup& setup() const { return setup_; }
  const Attacked& images() const { return images_; }  // pixels from 0 to 1
  const std::vector<AttackRecord>& records() const { return records_; }
  const AttackRecord& record(int attacker, size_t eps) const;
  const Json& warnings() const { return warnings_; }

 private:
  // Room for what becomes of `count` images from image `first` on.
  AttackRecord empty_record(int64_t epoch, int64_t first, int64_t count) const;
  int64_t batch_size(int64_t step) const;
  Json inspect(const Attacked& batch) const;
  void attack(AttackRecord& record, const Attacked& batch) const;
  void judge(AttackRecord& record, const at::Tensor& images) const;

  CampaignSetup setup_;
  Attacked images_;
  at::Tensor scale_;  // [1, C, 1, 1], or undefined
  std::vector<AttackRecord> records_;
  int64_t started_ = 0;  // records that hold anything
  Json warnings_ = Json::object();
};

// Everything measured, for result.json; docs/attacks.md says what each figure is.
Json campaign_result(const Campaign& campaign);
// The same for people: a table, and what to beware of.
std::vector<std::string> describe_result(const Json& result);
std::vector<std::string> describe_warnings(const Json& result);

}  // namespace nascent
