#include <gmock/gmock.h>

#include "cli/program.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/train/state.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class AttackTest : public ProgramTest {
 protected:
  static std::vector<std::string> data() {
    return {"--data",    "random", "--size",  "40", "--shape",   "3,12,12",
            "--classes", "5",      "--batch", "8",  "--threads", "1"};
  }
  static std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // A model that has seen the images; what matters is that it is a real one.
  std::string trained(const std::string& name, const std::string& seed = "1") const {
    json_of(with({"train", "--genotype", "nasbench201:4321", "--channels", "4", "--cells", "1", "--epochs", "1",
                  "--out", path(name), "--seed", seed},
                 data()));
    return path(name);
  }
  std::vector<std::string> attack(const std::vector<std::string>& models, const std::string& out,
                                  const std::vector<std::string>& more = {}) const {
    return with(
        with(with(with({"attack"}, models), {"--out", path(out), "--images", "20", "--checkpoint-steps", "1"}), data()),
        more);
  }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }
};

TEST_F(AttackTest, LeavesACompleteRunBehind) {
  const Json result =
      json_of(attack({trained("a")}, "run", {"--attack", "pgd", "--eps", "1/255,8/255", "--steps", "5"}));
  ASSERT_EQ(result["curve"].size(), 2);
  EXPECT_EQ(result["images"], 20);
  EXPECT_LE(result["curve"][1]["robust_top1"], result["clean_top1"]);
  EXPECT_FALSE(result["warnings"]["probabilities"].get<bool>());
  const State images = load_state(path("run/adversarial.nascent"));
  EXPECT_EQ(images.tensor("clean").sizes(), images.tensor("attack.1").sizes());
  EXPECT_LE((images.tensor("clean") - images.tensor("attack.1")).abs().max().item<double>(), 8.0 / 255 + 1e-6);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/figures/robust-accuracy.csv"));
  EXPECT_THAT(bytes("run/report.html"), AllOf(HasSubstr("Accuracy under attack"), HasSubstr("<svg")));
  const auto shown = nascent(attack({path("a")}, "again", {"--attack", "cw", "--steps", "5"}));
  EXPECT_THAT(shown.out, AllOf(HasSubstr("cw (l2, pixels)"), HasSubstr("median distance"), HasSubstr("report.html")));
}

TEST_F(AttackTest, AnEnsembleDefendsItsMembers) {
  const std::vector<std::string> members = {trained("a", "1"), trained("b", "2")};
  const Json result = json_of(attack(members, "run", {"--attack", "fgsm", "--eps", "8/255", "--transfer"}));
  EXPECT_EQ(result["defence"][0]["rounds"].size(), 2);
  EXPECT_EQ(result["transfer"][0]["judged_by"], (Json{"a", "b", "ensemble"}));
  EXPECT_THAT(bytes("run/report.html"), AllOf(HasSubstr("Attack and defence"), HasSubstr("Transfer")));
  const Json scaled = json_of(attack({members[0]}, "scaled", {"--attack", "fgsm", "--units", "normalised"}));
  EXPECT_EQ(scaled["units"], "normalised");
}

// MC DropPath: every pass is a member, and the whole of them is attacked as it answers.
TEST_F(AttackTest, AnEnsembleThatDropsPathsIsAttackedPassByPass) {
  EnsembleModel model = load_ensemble(trained("a"));
  model.passes = 3;
  model.drop_path = 0.3;
  save_ensemble(model, path("drops.nascent"));
  const Json result = json_of(
      attack({path("drops.nascent")}, "run", {"--attack", "pgd", "--steps", "3", "--eps", "8/255", "--rounds"}));
  ASSERT_EQ(result["defence"][0]["rounds"].size(), 3);
  EXPECT_EQ(result["defence"][0]["rounds"][1]["member"], "drops-pass-2");
  EXPECT_FALSE(result["warnings"]["random_answers"].get<bool>());
  EXPECT_LE(result["curve"][0]["robust_top1"], result["clean_top1"]);
}

TEST_F(AttackTest, WithoutDataTheModelsOwnIsTaken) {
  const std::vector<std::string> how = {"--attack", "fgsm", "--eps", "8/255"};
  const Json named = json_of(attack({trained("a", "5")}, "named", with(how, {"--seed", "3"})));
  const Json own = json_of(with(
      {"attack", path("a"), "--images", "20", "--threads", "1", "--seed", "3", "--batch", "8", "--out", path("own")},
      how));
  EXPECT_EQ(own["curve"], named["curve"]);
  EXPECT_EQ(bytes("own/adversarial.nascent"), bytes("named/adversarial.nascent"));
}

TEST_F(AttackTest, KilledAtAnyMomentResumeEndsTheSame) {
  const std::string model = trained("a");
  // The model says which data: what a resumed run needs must have been kept.
  const auto command = [&](const std::string& out) {
    return std::vector<std::string>{
        "attack",    model,       "--out",   path(out), "--images", "20",      "--checkpoint-steps",
        "1",         "--threads", "1",       "--eps",   "4/255",    "--steps", "8",
        "--queries", "60",        "--batch", "2"};
  };
  json_of(command("whole"));
  for (const auto& [parts, signal] : {std::pair("killed", SIGKILL), std::pair("stopped", SIGINT)}) {
    EXPECT_GE(stopped_until_it_ends(command(parts), parts, signal), 1);
    for (const std::string name : {"/result.json", "/adversarial.nascent", "/figures/robust-accuracy.csv"}) {
      EXPECT_EQ(bytes("whole" + name), bytes(parts + name)) << name;
    }
  }
}

TEST_F(AttackTest, MistakesEndWithWhatToDo) {
  const std::string model = trained("a");
  const auto refused = [&](const std::vector<std::string>& more, const std::vector<std::string>& models) {
    const auto result = at_once(with(attack(models, "bad"), more));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "bad" / "result.json"));
    return result.err;
  };
  EXPECT_THAT(refused({"--images", "1000"}, {model}), HasSubstr("has 40"));
  EXPECT_THAT(refused({"--eps", "8"}, {model}), HasSubstr("8/255"));
  EXPECT_THAT(refused({"--eps", "-1"}, {model}), HasSubstr("below 0"));
  EXPECT_THAT(refused({"--attack", "cw", "--norm", "linf"}, {model}), HasSubstr("does not know the norm linf"));
  EXPECT_THAT(refused({"--attack", "pgg"}, {model}), HasSubstr("pgd"));
  EXPECT_THAT(refused({"--rounds"}, {model}), HasSubstr("two models"));
  EXPECT_THAT(refused({"--classes", "6"}, {model}), HasSubstr("5 classes"));
  EXPECT_THAT(refused({"--shape", "3,16,16"}, {model}), HasSubstr("takes images of"));
  EXPECT_THAT(refused({}, {path("nothing.nascent")}), HasSubstr("There is no model"));
  write_file(path("text.pt"), "no model at all");
  EXPECT_THAT(refused({}, {path("text.pt")}), HasSubstr("neither a model"));
  write_file(path("zip.pt"), "PK but broken");
  EXPECT_THAT(refused({}, {path("zip.pt")}), HasSubstr("not a TorchScript file"));
  const auto none = at_once({"attack"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("what is attacked is missing"));
}

}  // namespace
}  // namespace nascent
