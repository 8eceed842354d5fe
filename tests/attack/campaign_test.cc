#include "nascent/attack/campaign.h"

#include "attack/samples.h"
#include "nascent/attack/gallery.h"
#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "nascent/data/image_file.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

using testing::HasSubstr;

AttackOptions options_of(const std::string& attack, std::vector<std::string> eps = {}) {
  AttackOptions options;
  options.attack = attack;
  options.eps = std::move(eps);
  options.settings.steps = 8;
  options.settings.queries = 40;
  return options;
}

struct Fixture {
  std::vector<VictimPointer> members;
  VictimPointer whole;
  Attacked images;

  Fixture() {
    for (uint64_t seed = 0; seed < 3; ++seed) members.push_back(std::make_shared<samples::BentVictim>(48, 5, seed));
    whole = ensemble_victim(members, "ensemble");
    images = samples::images_of(*whole, {30, 3, 4, 4}, 3, 0.1, 0.9);
  }

  Campaign alone(const AttackOptions& options, int batch = 8) const {
    return {{.attacked = {whole}, .judges = {whole}, .plan = plan_attack(options, 5, 1), .batch = batch}, images};
  }
  Campaign rounds(AttackOptions options) const {
    options.rounds = true;
    CampaignSetup setup{.plan = plan_attack(options, 5, 1), .batch = 8};
    setup.attacked = setup.judges = members;
    setup.attacked.push_back(whole);
    setup.judges.push_back(whole);
    return {setup, images};
  }
};

Json finished(Campaign& campaign) {
  run_job(campaign, {});
  return campaign_result(campaign);
}

TEST(Campaign, RobustAccuracyFallsWithEps) {
  const Fixture f;
  Campaign campaign = f.alone(options_of("apgd-ce", {"0", "2/255", "8/255", "0.1"}));
  const Json result = finished(campaign);
  ASSERT_EQ(result["curve"].size(), 4);
  EXPECT_EQ(result["clean_top1"], 100);
  EXPECT_EQ(result["curve"][0]["robust_top1"], 100);
  for (size_t i = 1; i < 4; ++i) EXPECT_LE(result["curve"][i]["robust"], result["curve"][i - 1]["robust"]);
  EXPECT_LT(result["curve"][3]["robust"], 30);
  EXPECT_EQ(result["robust_top1"], result["curve"][3]["robust_top1"]);
}

TEST(Campaign, AMinimalNormAttackGivesAMedianAndTheCurveItImplies) {
  const Fixture f;
  AttackOptions options = options_of("deepfool", {"0.01", "0.05", "1"});
  options.settings.steps = 50;
  Campaign campaign = f.alone(options);
  const Json result = finished(campaign);
  const AttackRecord& record = campaign.record(0, 0);
  std::vector<double> distances;
  for (int64_t i = 0; i < 30; ++i) distances.push_back(record.distances[i].item<double>());
  std::sort(distances.begin(), distances.end());
  EXPECT_EQ(result["minimal"]["found"], 30);
  EXPECT_EQ(result["minimal"]["median_norm"], distances[14]);
  for (const auto& point : result["curve"]) {
    const double eps = point["eps"];
    EXPECT_EQ(point["robust"], std::count_if(distances.begin(), distances.end(), [&](double d) { return d > eps; }));
  }
  Campaign unasked = f.alone(options_of("deepfool"));
  EXPECT_EQ(finished(unasked)["curve"].size(), 21);
}

TEST(Campaign, RoundsAttackOneAndLetAllAnswer) {
  const Fixture f;
  Campaign campaign = f.rounds(options_of("pgd", {"0.05"}));
  const Json result = finished(campaign);
  const Json &defence = result["defence"][0], &matrix = result["transfer"][0]["top1"];
  ASSERT_EQ(defence["rounds"].size(), 3);
  double attacked = 0, defended = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(defence["rounds"][i]["attack_top1"], matrix[i][i]);
    EXPECT_EQ(defence["rounds"][i]["defence_top1"], matrix[i][3]);
    attacked += matrix[i][i].get<double>() / 3;
    defended += matrix[i][3].get<double>() / 3;
  }
  EXPECT_NEAR(defence["attack"]["mean"].get<double>(), attacked, 1e-9);
  EXPECT_NEAR(defence["defence"]["mean"].get<double>(), defended, 1e-9);
  EXPECT_EQ(defence["all_known_top1"], matrix[3][3]);
  // Whoever knows all members does more harm to all of them than who knows one.
  EXPECT_LT(defence["all_known_top1"].get<double>(), defended);
}

TEST(Campaign, ACascadeTellsWhoDidIt) {
  const Fixture f;
  Campaign campaign = f.alone(options_of("autoattack", {"0.05"}));
  const Json result = finished(campaign);
  int64_t fooled = 0;
  for (const auto& [name, count] : result["curve"][0]["parts"].items()) fooled += count.get<int64_t>();
  EXPECT_EQ(fooled, 30 - result["curve"][0]["robust"].get<int64_t>());
}

struct KilledCampaign : testing::Test {
  TemporaryFolder folder_;
};

TEST_F(KilledCampaign, EndsInTheSameBytes) {
  const Fixture f;
  const auto options = options_of("autoattack", {"0.03"});
  Campaign undisturbed = f.rounds(options);
  const Json expected = finished(undisturbed);
  write_gallery(undisturbed, 6, folder_ / "whole");
  CheckpointStore store(folder_ / "checkpoints");
  int stops = 0;
  for (bool done = false; !done; ++stops) {
    Campaign campaign = f.rounds(options);  // as a new process would make it
    try {
      run_job(campaign, {.checkpoints = &store, .resume = true, .checkpoint_steps = 1, .stop_after_steps = 5});
      done = true;
      EXPECT_EQ(campaign_result(campaign).dump(), expected.dump());
      write_gallery(campaign, 6, folder_ / "parts");
    } catch (const Interrupted&) {
      ASSERT_LT(stops, 100);
    }
  }
  EXPECT_GE(stops, 3);
  EXPECT_EQ(read_file(folder_ / "whole/adversarial.nascent"), read_file(folder_ / "parts/adversarial.nascent"));
  EXPECT_EQ(read_file(folder_ / "whole/adversarial/grid.png"), read_file(folder_ / "parts/adversarial/grid.png"));
}

TEST_F(KilledCampaign, PicturesShowCleanChangeAndAdversarial) {
  const Fixture f;
  Campaign campaign = f.alone(options_of("fgsm", {"0.05"}));
  finished(campaign);
  write_gallery(campaign, 3, folder_.path());
  const AttackRecord& record = campaign.record(0, 0);
  int64_t first = 0;
  while (!record.fooled[first].item<bool>()) ++first;
  Image image;
  read_image_file(folder_ / "adversarial" / fmt::format("{}.png", campaign.images().indices[first]), image);
  EXPECT_EQ(image.shape(), (Shape{3, 4, 16}));  // three of four columns, two gaps of two
  const auto pixel = [&](int x) { return image.pixels[static_cast<size_t>(x) * 3] / 255.0; };
  const double clean = campaign.images().images[first][0][0][0].item<double>();
  const double moved = record.images[first][0][0][0].item<double>();
  EXPECT_NEAR(pixel(0), clean, 0.003);
  EXPECT_NEAR(pixel(6), std::clamp(0.5 + 10 * (moved - clean), 0.0, 1.0), 0.003);
  EXPECT_NEAR(pixel(12), moved, 0.003);
}

TEST(Campaign, FlagsWhatIsNotToBeTrusted) {
  class Probabilities : public samples::BentVictim {
   public:
    using BentVictim::BentVictim;
    at::Tensor forward(const at::Tensor& images) const override { return at::softmax(BentVictim::forward(images), 1); }
  };
  // Confident without end: the cross-entropy is flat in every direction.
  class Saturated : public samples::BentVictim {
   public:
    using BentVictim::BentVictim;
    at::Tensor forward(const at::Tensor& images) const override { return 1e4 * BentVictim::forward(images); }
  };
  class Random : public samples::BentVictim {
   public:
    using BentVictim::BentVictim;
    at::Tensor forward(const at::Tensor& images) const override {
      return BentVictim::forward(images) + 0.1 * at::randn({images.size(0), 5});
    }
  };
  const auto warnings = [](const VictimPointer& victim, const std::string& attack, const std::string& eps) {
    const Attacked images = samples::images_of(*victim, {30, 3, 4, 4}, 3);
    AttackOptions options = options_of(attack, {eps});
    options.settings.queries = 300;
    Campaign campaign({.attacked = {victim}, .judges = {victim}, .plan = plan_attack(options, 5, 1)}, images);
    return finished(campaign)["warnings"];
  };
  const Json honest = warnings(std::make_shared<samples::BentVictim>(48, 5, 1), "pgd", "0.02");
  EXPECT_EQ(honest["zero_gradients"], 0);
  for (const char* flag : {"probabilities", "random_answers", "square_beats_gradients", "weaker_than_fgsm"}) {
    EXPECT_FALSE(honest[flag].get<bool>()) << flag;
  }
  EXPECT_TRUE(warnings(std::make_shared<Probabilities>(48, 5, 1), "pgd", "0.02")["probabilities"].get<bool>());
  EXPECT_TRUE(warnings(std::make_shared<Random>(48, 5, 1), "pgd", "0.02")["random_answers"].get<bool>());
  EXPECT_GT(warnings(std::make_shared<Saturated>(48, 5, 1), "pgd", "0.02")["zero_gradients"], 0);
}

TEST(Campaign, APgdThatIsWeakerThanOneStepIsFlagged) {
  // Its answers fall with the mean pixel, but only the clean image shows that in its gradient: one step from there is
  // enough, steps from a random start lead nowhere.
  class Treacherous : public Victim {
   public:
    Treacherous() : Victim("treacherous") {}
    at::Tensor forward(const at::Tensor& images) const override {
      const at::Tensor brightness = images.flatten(1).mean(1);
      const at::Tensor clean = images.detach().flatten(1).eq(0.5).all(1);
      const at::Tensor seen = at::where(clean, brightness, brightness.detach());
      return at::stack({0.545 - seen, at::zeros_like(seen)}, 1);
    }
    int64_t classes() const override { return 2; }
  };
  const auto victim = std::make_shared<Treacherous>();
  const at::Tensor grey = at::full({12, 3, 4, 4}, 0.5);
  const auto result = [&](const std::string& attack) {
    Campaign campaign(
        {.attacked = {victim}, .judges = {victim}, .plan = plan_attack(options_of(attack, {"0.05"}), 2, 1)},
        {grey, at::zeros({12}, at::kLong), samples::numbers(12)});
    return finished(campaign);
  };
  EXPECT_EQ(result("fgsm")["curve"][0]["robust"], 0);
  const Json weak = result("pgd");
  EXPECT_EQ(weak["curve"][0]["robust"], 12);
  EXPECT_TRUE(weak["warnings"]["weaker_than_fgsm"].get<bool>());
  EXPECT_THAT(describe_warnings(weak), testing::Contains(HasSubstr("One step fools more than many")));
}

TEST(Campaign, SquareThatBeatsGradientsIsFlagged) {
  // Rounds its pixels, so that every gradient is zero while answers still change.
  class Masked : public samples::BentVictim {
   public:
    using BentVictim::BentVictim;
    at::Tensor forward(const at::Tensor& images) const override {
      return BentVictim::forward(images + ((images * 50).round() / 50 - images).detach() - images + images.detach());
    }
  };
  const auto victim = std::make_shared<Masked>(48, 5, 1);
  const Attacked images = samples::images_of(*victim, {20, 3, 4, 4}, 3);
  AttackOptions options = options_of("autoattack", {"0.1"});
  options.settings.queries = 300;
  Campaign campaign({.attacked = {victim}, .judges = {victim}, .plan = plan_attack(options, 5, 1)}, images);
  EXPECT_TRUE(finished(campaign)["warnings"]["square_beats_gradients"].get<bool>());
}

// An option that the attack does not know was meant to say something; what cannot be is said before models are read.
TEST(AttackOptions, WhatTheAttackIgnoresIsRefused) {
  const auto refused = [](const std::string& attack, const std::function<void(AttackOptions&)>& set) {
    AttackOptions options;
    options.attack = attack;
    set(options);
    return error_of([&] { check_attack(options); });
  };
  EXPECT_THAT(refused("fgsm", [](AttackOptions& o) { o.settings.steps = 3; }),
              HasSubstr("the attack 'fgsm' makes no use"));
  EXPECT_THAT(refused("pgd", [](AttackOptions& o) { o.settings.queries = 3; }),
              HasSubstr("belongs to autoattack, plus, square"));
  EXPECT_THAT(refused("square", [](AttackOptions& o) { o.settings.classes = 3; }), HasSubstr("--target-classes"));
  EXPECT_THAT(refused("rand", [](AttackOptions& o) { o.settings.window = 0.5; }), HasSubstr("--window"));
  EXPECT_THAT(refused("cw", [](AttackOptions& o) { o.norm = "linf"; }), HasSubstr("does not know the norm"));
  EXPECT_THAT(refused("pgd", [](AttackOptions& o) { o.eps = {"-1"}; }), HasSubstr("below 0"));
  EXPECT_THAT(refused("deepfool", [](AttackOptions& o) { o.target = "random"; }),
              HasSubstr("cannot be given a target"));
  AttackOptions options;  // a cascade reads what its parts do
  options.settings.queries = 10;
  options.settings.steps = options.settings.restarts = options.settings.classes = 2;
  EXPECT_NO_THROW(check_attack(options));
}

TEST(AttackPlan, WhatCannotBeIsRefused) {
  const auto refused = [](const AttackOptions& options, int64_t classes = 10) {
    return error_of([&] { plan_attack(options, classes, 1); });
  };
  EXPECT_THAT(refused(options_of("pgd", {"8"})), HasSubstr("8/255"));
  EXPECT_THAT(refused(options_of("pgd", {"-0.1"})), HasSubstr("below 0"));
  EXPECT_THAT(refused(options_of("pgd", {"8/0"})), HasSubstr("not a number"));
  AttackOptions cw = options_of("cw");
  cw.norm = "linf";
  EXPECT_THAT(refused(cw), testing::AllOf(HasSubstr("'cw' does not know the norm linf"), HasSubstr("fgsm")));
  EXPECT_THAT(refused(options_of("pgdd")), HasSubstr("Did you mean 'pgd'"));
  EXPECT_THAT(refused(options_of("apgd-dlr"), 2), HasSubstr("at least 3 classes"));
  EXPECT_THAT(refused(options_of("autoattack"), 3), HasSubstr("at least 4 classes"));
  AttackOptions aimed = options_of("deepfool");
  aimed.target = "random";
  EXPECT_THAT(refused(aimed), HasSubstr("cannot be given a target"));
  EXPECT_DOUBLE_EQ(plan_attack(options_of("fgsm"), 10, 1).eps.at(0), 0.01);
  EXPECT_DOUBLE_EQ(plan_attack(options_of("autoattack"), 10, 1).eps.at(0), 8.0 / 255);
  AttackOptions l2 = options_of("autoattack");
  l2.norm = "l2";
  EXPECT_DOUBLE_EQ(plan_attack(l2, 10, 1).eps.at(0), 0.5);
  AttackOptions wide = options_of("pgd", {"2"});
  wide.units = "normalised";
  EXPECT_EQ(plan_attack(wide, 10, 1).eps, std::vector<double>{2});
}

TEST(Target, IsARuleANameOrANumber) {
  const std::vector<std::string> names = {"cat", "dog", "bird"};
  EXPECT_EQ(parse_target("dog", names).fixed_class, 1);
  EXPECT_EQ(parse_target("2", names).fixed_class, 2);
  EXPECT_THAT(error_of([&] { parse_target("cow", names); }), HasSubstr("cat, dog, bird"));
  EXPECT_THAT(error_of([&] { parse_target("3", names); }), HasSubstr("'3'"));
  const samples::BentVictim victim(48, 5, 1);
  const Attacked images = samples::images_of(victim, {20, 3, 4, 4}, 3);
  const at::Tensor logits = victim.logits(images.images);
  const auto aims = [&](const std::string& rule) {
    const std::vector<std::string> five = {"a", "b", "c", "d", "e"};
    return with_aims(images, parse_target(rule, five), victim, 1).aims;
  };
  EXPECT_TRUE(aims("least-likely").equal(logits.argmin(1)));
  EXPECT_TRUE(aims("runner-up").equal(std::get<1>(logits.topk(2, 1)).select(1, 1)));
  EXPECT_FALSE(aims("random").eq(images.labels).any().item<bool>());
  EXPECT_FALSE(without_target(images, {TargetChoice::Kind::fixed, 2}).labels.eq(2).any().item<bool>());
}

}  // namespace
}  // namespace nascent
