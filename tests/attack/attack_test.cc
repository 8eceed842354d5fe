#include "nascent/attack/attack.h"

#include "attack/samples.h"
#include "nascent/attack/apgd.h"
#include "nascent/attack/random_start.h"

namespace nascent {
namespace {

using samples::run;
using testing::HasSubstr;

AttackSettings quick() {
  AttackSettings settings;
  settings.steps = 12;
  settings.queries = 60;
  settings.searches = 4;
  return settings;
}

std::vector<std::string> all_attacks() { return Attack::Registry::instance().names(); }
const AttackFacts& facts_of(const std::string& name) { return Attack::Registry::instance().at(name).facts; }

TEST(Attack, EveryResultIsInItsBallAndABoxOfPixels) {
  const samples::BentVictim victim(48, 5, 1);
  Attacked attacked = samples::images_of(victim, {12, 3, 4, 4}, 2, 0, 1);
  for (const auto& name : all_attacks()) {
    for (const Norm norm : {Norm::linf, Norm::l2}) {
      if (!facts_of(name).knows(norm)) continue;
      for (const bool leave : {true, false}) {
        AttackSettings settings = quick();
        settings.leave = leave;
        const Threat threat{norm, norm == Norm::linf ? 0.1 : 0.5};
        const Outcome outcome = run(name, victim, attacked, threat, settings);
        const double far = threat.distance(outcome.images, attacked.images).max().item<double>();
        EXPECT_LE(far, threat.eps + 1e-6) << name;
        EXPECT_GE(outcome.images.min().item<double>(), 0) << name;
        EXPECT_LE(outcome.images.max().item<double>(), 1) << name;
        const at::Tensor wrong = attacked.fooled(victim.logits(outcome.images));
        EXPECT_TRUE(wrong.equal(outcome.fooled)) << name << (leave ? "" : ", staying");
        EXPECT_TRUE(outcome.fooled.any().item<bool>()) << name << " fools nothing; the test says nothing of it";
      }
    }
  }
}

TEST(Attack, NothingChangesAtEpsZero) {
  const samples::BentVictim victim(48, 5, 1);
  const Attacked attacked = samples::images_of(victim, {6, 3, 4, 4}, 2, 0, 1);
  for (const auto& name : all_attacks()) {
    for (const Norm norm : {Norm::linf, Norm::l2}) {
      if (!facts_of(name).knows(norm)) continue;
      const Outcome outcome = run(name, victim, attacked, {norm, 0}, quick());
      EXPECT_TRUE(outcome.images.equal(attacked.images)) << name;
      EXPECT_FALSE(outcome.fooled.any().item<bool>()) << name;
    }
  }
}

TEST(Attack, NormalisedPixelsHaveABoxOfTheirOwn) {
  const auto plain = std::make_shared<samples::BentVictim>(48, 5, 1);
  const std::vector<double> scale = {0.2, 0.25, 0.5};
  const VictimPointer victim = scaled_victim(plain, scale);
  Attacked attacked = samples::images_of(*plain, {12, 3, 4, 4}, 2, 0, 1);
  attacked.images = attacked.images / by_channel(scale);
  for (const auto& name : all_attacks()) {
    const Norm norm = facts_of(name).linf ? Norm::linf : Norm::l2;
    const Threat threat{norm, 0.4, 1 / by_channel(scale)};
    const Outcome outcome = run(name, *victim, attacked, threat, quick());
    EXPECT_LE(threat.distance(outcome.images, attacked.images).max().item<double>(), 0.4 + 1e-5) << name;
    EXPECT_LE((outcome.images * by_channel(scale)).max().item<double>(), 1 + 1e-6) << name;
    EXPECT_GE(outcome.images.min().item<double>(), 0) << name;
  }
}

TEST(Attack, BatchesOfSevenAndSixtyFourFoolTheSameImages) {
  const samples::BentVictim victim(48, 5, 4);
  const Attacked attacked = samples::images_of(victim, {64, 3, 4, 4}, 5);
  for (const auto& name : all_attacks()) {
    const Norm norm = facts_of(name).linf ? Norm::linf : Norm::l2;
    const Threat threat{norm, norm == Norm::linf ? 0.04 : 0.3};
    const Outcome whole = run(name, victim, attacked, threat, quick());
    std::vector<at::Tensor> parts;
    for (int64_t first = 0; first < 64; first += 7) {
      const at::Tensor rows = at::arange(first, std::min<int64_t>(first + 7, 64), at::kLong);
      parts.push_back(run(name, victim, attacked.select(rows), threat, quick()).fooled);
    }
    EXPECT_LE(at::cat(parts).ne(whole.fooled).sum().item<int64_t>(), 1) << name;
  }
}

TEST(Attack, ImagesThatStayAreFooledAsOftenAsThoseThatLeave) {
  const samples::BentVictim victim(48, 5, 4);
  const Attacked attacked = samples::images_of(victim, {40, 3, 4, 4}, 5);
  for (const std::string name : {"apgd-ce", "apgd-dlr", "apgd-t", "fab", "fab-t", "square", "autoattack"}) {
    AttackSettings staying = quick();
    staying.leave = false;
    const Threat threat{Norm::linf, 0.03};
    const Outcome leave = run(name, victim, attacked, threat, quick());
    EXPECT_TRUE(leave.fooled.equal(run(name, victim, attacked, threat, staying).fooled)) << name;
    EXPECT_TRUE(leave.fooled.any().item<bool>() && !leave.fooled.all().item<bool>()) << name;
  }
}

TEST(Attack, WhatIsWrongFromTheStartStaysWrongAndIsNobodysDoing) {
  const samples::BentVictim victim(48, 5, 4);
  Attacked attacked = samples::images_of(victim, {20, 3, 4, 4}, 5);
  const at::Tensor wrong = at::arange(20, at::kLong).remainder(3).eq(0);
  attacked.labels = at::where(wrong, (attacked.labels + 1).remainder(5), attacked.labels);
  for (const auto& name : all_attacks()) {
    const Norm norm = facts_of(name).linf ? Norm::linf : Norm::l2;
    for (const bool leave : {true, false}) {
      AttackSettings settings = quick();
      settings.leave = leave;
      const Outcome outcome = run(name, victim, attacked, {norm, norm == Norm::linf ? 0.03 : 0.2}, settings);
      EXPECT_TRUE(outcome.fooled.logical_or(wrong.logical_not()).all().item<bool>()) << name;
      EXPECT_TRUE(attacked.fooled(victim.logits(outcome.images)).equal(outcome.fooled)) << name;
      if (facts_of(name).parts.empty()) continue;
      EXPECT_TRUE(outcome.parts.ge(0).equal(outcome.fooled.logical_and(wrong.logical_not()))) << name;
    }
  }
}

TEST(Attack, SquareGoesAsFarAsItMay) {
  const samples::BentVictim victim(300, 5, 4);
  const Attacked attacked = samples::images_of(victim, {10, 3, 10, 10}, 5, 0.4, 0.6);
  for (const Norm norm : {Norm::linf, Norm::l2}) {
    const Threat threat{norm, norm == Norm::linf ? 0.004 : 0.02};  // too near to fool anybody, no pixel at its border
    const Outcome outcome = run("square", victim, attacked, threat, quick());
    const at::Tensor far = threat.distance(outcome.images, attacked.images).masked_select(outcome.fooled.logical_not());
    EXPECT_GT(far.numel(), 0);
    EXPECT_LT((far / threat.eps - 1).abs().max().item<double>(), 1e-3) << norm_name(norm);
    const at::Tensor before = margin(attacked)(victim.logits(attacked.images));
    EXPECT_TRUE(margin(attacked)(victim.logits(outcome.images)).gt(before).all().item<bool>()) << norm_name(norm);
  }
}

TEST(Attack, TargetsAreReached) {
  const samples::BentVictim victim(48, 5, 1);
  Attacked attacked = samples::images_of(victim, {12, 3, 4, 4}, 2);
  attacked = attacked.towards(best_other_classes(victim.logits(attacked.images), attacked.labels, 1).select(1, 0));
  attacked.targeted = true;
  for (const auto& name : all_attacks()) {
    if (!facts_of(name).takes_target) continue;
    const Norm norm = facts_of(name).linf ? Norm::linf : Norm::l2;
    AttackSettings settings = quick();
    settings.searches = 8;
    settings.queries = 400;
    const Outcome outcome = run(name, victim, attacked, {norm, norm == Norm::linf ? 0.3 : 3.0}, settings);
    EXPECT_TRUE(outcome.fooled.any().item<bool>()) << name;
    const at::Tensor answers = victim.logits(outcome.images).argmax(1);
    EXPECT_TRUE(answers.eq(attacked.aims).equal(outcome.fooled)) << name;
  }
}

TEST(Attack, SurvivorsOfACascadeSurviveEachPartAlone) {
  const samples::BentVictim victim(48, 5, 4);
  const Attacked attacked = samples::images_of(victim, {40, 3, 4, 4}, 5);
  const Threat threat{Norm::linf, 0.03};
  for (const std::string name : {"autoattack", "plus", "rand"}) {
    const Outcome cascade = run(name, victim, attacked, threat, quick());
    at::Tensor any = at::zeros({40}, at::kBool);
    for (const auto& part : facts_of(name).parts) {
      AttackSettings settings = quick();
      const bool several = name == "plus" && (part == "apgd-ce" || part == "apgd-dlr" || part == "fab");
      settings.restarts = several ? 5 : 0;
      any = any.logical_or(run(part, victim, attacked, threat, settings).fooled);
    }
    EXPECT_TRUE(any.equal(cascade.fooled)) << name;
    EXPECT_TRUE(cascade.parts.ge(0).equal(cascade.fooled)) << name;
    EXPECT_TRUE(any.any().item<bool>() && !any.all().item<bool>()) << name;
  }
}

TEST(Attack, WhatIsDrawnDependsOnSeedAttackImageAndRestart) {
  const samples::BentVictim victim(48, 5, 1);
  const Attacked attacked = samples::images_of(victim, {4, 3, 4, 4}, 2);
  const Threat threat{Norm::linf, 0.1};
  const auto start = [&](uint64_t seed, const std::string& name, int restart) {
    return random_start(attacked, threat, Spread::inside, seed, name, restart);
  };
  const at::Tensor first = start(1, "pgd", 0);
  EXPECT_TRUE(first.equal(start(1, "pgd", 0)));
  EXPECT_FALSE(first.equal(start(2, "pgd", 0)));
  EXPECT_FALSE(first.equal(start(1, "square", 0)));
  EXPECT_FALSE(first.equal(start(1, "pgd", 1)));
  const at::Tensor later = at::arange(2, 4, at::kLong);
  const at::Tensor alone = random_start(attacked.select(later), threat, Spread::inside, 1, "pgd", 0);
  EXPECT_TRUE(alone.equal(first.index_select(0, later)));
}

TEST(Attack, AVictimWithoutGradientsIsRefusedButBySquare) {
  const samples::DeafVictim victim(48, 5, 1);
  const Attacked attacked = samples::images_of(victim, {6, 3, 4, 4}, 2);
  for (const auto& name : all_attacks()) {
    const Norm norm = facts_of(name).linf ? Norm::linf : Norm::l2;
    const auto attack = [&] { run(name, victim, attacked, {norm, 0.2}, quick()); };
    if (facts_of(name).gradients) {
      EXPECT_THAT(error_of(attack), HasSubstr("--attack square")) << name;
    } else {
      EXPECT_NO_THROW(attack()) << name;
    }
  }
}

TEST(Apgd, ItsCheckpointsComeFasterAndFaster) {
  EXPECT_THAT(apgd_checkpoints(100), testing::ElementsAre(22, 41, 57, 70, 80, 87, 93, 99));
}

TEST(Apgd, ItsBestLossNeverFalls) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const samples::BentVictim victim(48, 5, seed);
    const Attacked attacked = samples::images_of(victim, {8, 3, 4, 4}, seed + 50);
    at::Tensor before;
    int64_t calls = 0;
    Ascent ascent{.steps = 40};
    ascent.watch = [&](const at::Tensor& best) {
      if (before.defined()) {
        EXPECT_TRUE(best.ge(before).all().item<bool>());
      }
      before = best;
      ++calls;
    };
    apgd(victim, attacked, {Norm::linf, 0.1}, ascent, 1, samples::staying(), "apgd-ce");
    EXPECT_EQ(calls, 40);
  }
}

TEST(Apgd, AtEqualPassesItEndsNoLowerThanPgd) {
  double with_checks = 0, plain = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const samples::BentVictim victim(48, 5, seed);
    const Attacked attacked = samples::images_of(victim, {8, 3, 4, 4}, seed + 100);
    AttackSettings settings = samples::staying();
    settings.steps = 40;
    const auto loss = [&](const std::string& name) {
      const Outcome outcome = run(name, victim, attacked, {Norm::linf, 0.15}, settings);
      return cross_entropy(attacked)(victim.logits(outcome.images)).mean().item<double>();
    };
    with_checks += loss("apgd-ce");
    plain += loss("pgd");
  }
  EXPECT_GE(with_checks, plain);
}

TEST(Objective, LogitsRatioDoesNotChangeWithTheScaleOfLogits) {
  const samples::BentVictim victim(48, 5, 1);
  const Attacked attacked = samples::images_of(victim, {6, 3, 4, 4}, 2);
  const at::Tensor logits = victim.logits(attacked.images);
  EXPECT_TRUE(at::allclose(logits_ratio(attacked)(logits), logits_ratio(attacked)(logits * 30)));
  const at::Tensor by_hand = at::tensor({5.0f, 3.0f, 1.0f, 0.0f}).view({1, 4});
  const Attacked one{attacked.images.narrow(0, 0, 1), at::zeros({1}, at::kLong), {0}};
  EXPECT_FLOAT_EQ(logits_ratio(one)(by_hand).item<float>(), -(5.0f - 3.0f) / (5.0f - 1.0f));
  const Attacked towards = one.towards(at::full({1}, 2, at::kLong));
  EXPECT_FLOAT_EQ(logits_ratio(towards)(by_hand).item<float>(), -(5.0f - 1.0f) / (5.0f - 0.5f));
}

}  // namespace
}  // namespace nascent
