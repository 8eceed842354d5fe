// A linear victim of two classes has closed forms: margin m, weight difference v.
#include "attack/samples.h"

namespace nascent {
namespace {

using samples::run;

struct LinearCase {
  explicit LinearCase(double scale = 1) : v(scale * samples::uniform({48}, -0.6, 0.6, 7)) {}

  at::Tensor v;
  // The border goes through the middle of the images.
  samples::LinearVictim victim{at::stack({v, at::zeros({48})}), at::stack({-0.5 * v.sum(), at::zeros({})})};
  Attacked attacked = samples::images_of(victim, {20, 3, 4, 4}, 3);

  // Of the label over the other class.
  at::Tensor margins(const at::Tensor& images) const { return -margin(attacked)(victim.logits(images)); }
  double length(Norm norm) const { return norm == Norm::linf ? v.abs().sum().item<double>() : v.norm().item<double>(); }
};

TEST(LinearVictim, OneStepAndManyLowerTheMarginByEpsTimesTheDualNorm) {
  const LinearCase c;
  for (const Norm norm : {Norm::linf, Norm::l2}) {
    const double eps = norm == Norm::linf ? 0.01 : 0.1;
    for (const std::string name : {"fgsm", "pgd", "mi-fgsm", "apgd-ce"}) {
      const Outcome outcome = run(name, c.victim, c.attacked, {norm, eps}, samples::staying());
      const at::Tensor fall = c.margins(c.attacked.images) - c.margins(outcome.images);
      EXPECT_LT((fall - eps * c.length(norm)).abs().max().item<double>(), 2e-5) << name << " " << norm_name(norm);
    }
  }
}

TEST(LinearVictim, RobustAccuracyHasAClosedForm) {
  const LinearCase c;
  for (const Norm norm : {Norm::linf, Norm::l2}) {
    const at::Tensor margins = c.margins(c.attacked.images), needed = margins / c.length(norm);
    const double eps = needed.median().item<double>() + 1e-4;
    for (const std::string name : {"fgsm", "pgd", "apgd-ce", "square"}) {
      if (name == "square" && norm == Norm::l2) continue;  // it has no reason to find the best direction of a sphere
      const Outcome outcome = run(name, c.victim, c.attacked, {norm, eps});
      EXPECT_TRUE(outcome.fooled.equal(needed.lt(eps))) << name << " " << norm_name(norm);
    }
  }
}

TEST(LinearVictim, FabsFirstStepLandsOnTheBorderTimesItsOvershoot) {
  const LinearCase c;
  for (const Norm norm : {Norm::linf, Norm::l2}) {
    const at::Tensor expected = 1.05 * c.margins(c.attacked.images) / c.length(norm);
    for (const std::string name : {"fab", "fab-t"}) {
      AttackSettings settings;
      settings.steps = 1;
      const Threat threat{norm};
      const Outcome outcome = run(name, c.victim, c.attacked, threat, settings);
      EXPECT_TRUE(outcome.fooled.all().item<bool>());
      const at::Tensor found = threat.distance(outcome.images, c.attacked.images);
      EXPECT_LT((found / expected - 1).abs().max().item<double>(), 1e-3) << name << " " << norm_name(norm);
    }
  }
}

TEST(LinearVictim, FabAndDeepFoolFindTheNearestImage) {
  const LinearCase c;
  for (const Norm norm : {Norm::linf, Norm::l2}) {
    const at::Tensor nearest = c.margins(c.attacked.images) / c.length(norm);
    for (const std::string name : {"fab", "deepfool"}) {
      const Threat threat{norm};
      const Outcome outcome = run(name, c.victim, c.attacked, threat);
      const at::Tensor found = threat.distance(outcome.images, c.attacked.images) / nearest;
      EXPECT_TRUE(outcome.fooled.all().item<bool>());
      EXPECT_GE(found.min().item<double>(), 1 - 1e-4) << name;
      EXPECT_LT(found.max().item<double>(), 1.06) << name << " " << norm_name(norm);
    }
  }
}

TEST(LinearVictim, CarliniAndWagnerFindTheNearestWithinTwoPercent) {
  LinearCase c;
  // Adam's first step is as long as its rate in every coordinate, which moves 48 pixels near grey by about 0.035:
  // images that are nearer to the border than that are overshot whatever the constant is.
  const at::Tensor far = rows_of((c.margins(c.attacked.images) / c.length(Norm::l2)).gt(0.04));
  ASSERT_GE(far.numel(), 6);
  c.attacked = c.attacked.select(far.narrow(0, 0, 6));
  AttackSettings settings;
  settings.searches = 9;
  settings.steps = 1000;
  const Threat threat{Norm::l2};
  const Outcome outcome = run("cw", c.victim, c.attacked, threat, settings);
  const at::Tensor nearest = c.margins(c.attacked.images) / c.length(Norm::l2);
  const at::Tensor found = threat.distance(outcome.images, c.attacked.images) / nearest;
  EXPECT_TRUE(outcome.fooled.all().item<bool>());
  EXPECT_GE(found.min().item<double>(), 1 - 1e-4);
  EXPECT_LT(found.max().item<double>(), 1.02);
}

TEST(LinearVictim, ThreeSearchesReachAConstantOfOneTenth) {
  // With logits a hundredth as large, a constant of 0.1 pulls too weakly for all but the nearest; 100 is enough.
  const LinearCase c(0.01);
  const at::Tensor far = (c.margins(c.attacked.images) / c.length(Norm::l2)).gt(0.12);
  EXPECT_TRUE(far.any().item<bool>());
  AttackSettings settings;
  settings.steps = 200;
  EXPECT_FALSE(run("cw", c.victim, c.attacked, {Norm::l2}, settings).fooled.logical_and(far).any().item<bool>());
  settings.searches = 9;
  EXPECT_TRUE(run("cw", c.victim, c.attacked, {Norm::l2}, settings).fooled.all().item<bool>());
}

}  // namespace
}  // namespace nascent
