// Ensembles as a user meets them: searched, trained, scored, killed and taken up again.
#include <gmock/gmock.h>

#include "cli/program.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class EnsembleVerbTest : public ProgramTest {
 protected:
  static std::vector<std::string> small_data() {
    return {"--data", "random", "--size", "64", "--shape", "3,8,8", "--classes", "4", "--batch", "8", "--threads", "1"};
  }
  static std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  std::vector<std::string> search(const std::string& out, const std::vector<std::string>& more) const {
    const std::vector<std::string> words = {"ensemble",
                                            "search",
                                            "--space",
                                            "nasbench201",
                                            "--epochs",
                                            "1",
                                            "--cells",
                                            "1",
                                            "--channels",
                                            "4",
                                            "--posterior-epochs",
                                            "1",
                                            "--members",
                                            "2",
                                            "--rounds",
                                            "2",
                                            "--out",
                                            path(out)};
    return joined(joined(words, small_data()), more);
  }
  std::vector<std::string> train(const std::string& run, const std::string& out) const {
    const std::vector<std::string> words = {"ensemble", "train",   path(run),  "--recipe", "retrain-nasbench201",
                                            "--out",    path(out), "--epochs", "2",        "--channels",
                                            "4",        "--cells", "1",        "--lr",     "0.05"};
    return joined(words, small_data());
  }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }
  static void check_refusal(const std::vector<std::string>& words, const std::string& text) {
    const auto result = nascent(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
  }
};

TEST_F(EnsembleVerbTest, TheFirstWordAloneListsTheActions) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"ensemble"}, {"ensemble", "--help"}}) {
    const auto result = nascent(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("ensemble search"), HasSubstr("ensemble train"), HasSubstr("ensemble eval")));
  }
  EXPECT_THAT(nascent({"ensemble", "search", "--help"}).out, AllOf(HasSubstr("--delta"), HasSubstr("--tau")));
  check_refusal({"ensemble", "serach"}, "Did you mean 'search'?");
}

TEST_F(EnsembleVerbTest, SearchedTrainedAndScored) {
  const Json found = json_of(search("found", {"--method", "svgd", "--delta", "grid", "--iterations", "30"}));
  EXPECT_EQ(found.at("trace").size(), 2u);
  EXPECT_EQ(found.at("ensembles_judged"), 2 * 7);
  EXPECT_LE(found.at("networks_evaluated").get<int>(), 2 * 7 * 2);
  EXPECT_EQ(found.at("trace")[1].at("best"),
            std::min(found.at("trace")[0].at("loss").get<double>(), found.at("trace")[1].at("loss").get<double>()));
  EXPECT_NEAR(found.at("estimated").at("loss").get<double>(), found.at("trace")[1].at("best").get<double>(), 1e-5);
  EXPECT_EQ(found.at("fairness").at("steps"), 5);  // 45 training images in batches of 8
  EXPECT_THAT(bytes("found/report.html"), AllOf(HasSubstr("Posterior"), HasSubstr("Members")));

  const Json trained = json_of(train("found", "trained"));
  EXPECT_EQ(trained.at("members"), 2);
  EXPECT_LE(trained.at("test").at("loss").get<double>(), trained.at("test").at("average_loss").get<double>() + 1e-9);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "trained" / "member-2" / "model.nascent"));

  // As one model and as a list of models it is the same; `eval` takes it like any other.
  const auto scored = [&](const std::vector<std::string>& what) {
    return json_of(joined(joined({"ensemble", "eval"}, what), small_data()));
  };
  const Json whole = scored({path("trained")});
  const Json listed = scored({path("trained/member-1/model.nascent"), path("trained/member-2/model.nascent")});
  EXPECT_EQ(whole.at("figures"), listed.at("figures"));
  EXPECT_EQ(whole.at("figures"), trained.at("test"));
  EXPECT_EQ(whole.at("parameters"), trained.at("parameters"));
  // Its own images need not be named.
  const Json plain = json_of({"eval", path("trained/ensemble.nascent"), "--threads", "1"});
  EXPECT_DOUBLE_EQ(plain.at("top1").get<double>(), whole.at("top1").get<double>());
  EXPECT_NEAR(plain.at("loss").get<double>(), whole.at("figures").at("loss").get<double>(), 1e-9);
  const Json more = scored({path("trained"), "--curve", "--tsne", "--calibrate", "before", "--valid-fraction", "0.3",
                            "--corruptions", "fog,jpeg", "--out", path("scored")});
  EXPECT_EQ(more.at("curve").size(), 2u);
  EXPECT_EQ(more.at("corrupted").at("fog").size(), 5u);
  EXPECT_EQ(more.at("calibrated").at("temperatures").size(), 2u);
  for (const std::string name : {"reliability", "reliability-calibrated", "disagreement", "errors", "tsne",
                                 "members-error", "members-loss", "corruption-error", "corruption-ece"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "scored" / "figures" / (name + ".csv"))) << name;
    EXPECT_THAT(bytes("scored/report.html"), HasSubstr("Reliability"));
  }
  const Json trials = scored({path("trained"), path("trained")});
  EXPECT_DOUBLE_EQ(trials.at("mean").at("error").at("standard_error").get<double>(), 0);

  // Shared weights beside trained ones: two ensembles of one, one of two.
  const Json agreed = json_of({"ensemble", "agreement", path("trained"), "--supernet", path("found"), "--sizes", "1,2",
                               "--norms", "batch,recalibrated", "--permutations", "5", "--threads", "1"});
  EXPECT_EQ(agreed.at("rows").size(), 8u);
  EXPECT_EQ(agreed.at("rows")[0].at("ensembles"), 2);
}

TEST_F(EnsembleVerbTest, MembersSideBySideAreThoseOneAfterAnother) {
  const std::vector<std::string> cell = {"--method",
                                         "deep-ensemble",
                                         "--genotype",
                                         "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|skip_connect~0|none~1|"
                                         "avg_pool_3x3~2|",
                                         "--members",
                                         "3"};
  json_of(search("found", cell));
  const std::vector<std::string> held_out = {"--valid-fraction", "0.25", "--limit", "48"};
  json_of(joined(train("found", "one"), held_out));
  json_of(joined(train("found", "two"), joined(held_out, {"--at-once", "2"})));
  EXPECT_EQ(bytes("one/ensemble.nascent"), bytes("two/ensemble.nascent"));
  // Whichever seed a member has, its images are those of the others; so held-out ones are new to all.
  const Json one = Json::parse(bytes("one/result.json"));
  EXPECT_EQ(one.at("valid").at("images"), 12);
  EXPECT_GT(one.at("test").at("disagreement").get<double>(), 0);
  const Json calibrated = json_of({"ensemble", "eval", path("one"), "--calibrate", "after", "--threads", "1"});
  EXPECT_EQ(calibrated.at("calibrated").at("images"), 12);
  const Json chosen = json_of({"ensemble", "select", path("one"), "--members", "2", "--selection", "exhaustive",
                               "--output", path("chosen.nascent"), "--threads", "1"});
  EXPECT_EQ(chosen.at("members").size(), 2u);
  EXPECT_EQ(chosen.at("ensembles_judged"), 3);
  const Json as_file = json_of({"ensemble", "eval", path("chosen.nascent"), "--threads", "1"});
  EXPECT_EQ(as_file.at("figures"), chosen.at("test"));
  check_refusal({"ensemble", "select", path("one"), "--members", "4"}, "the pool has only 3");
  // Weights of different seeds do not average.
  check_refusal({"ensemble", "soup", path("one"), "--output", path("soup.nascent")}, "different valleys");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "soup.nascent"));
}

TEST_F(EnsembleVerbTest, SnapshotsMakeASoup) {
  json_of(search("found", {"--method", "snapshot", "--genotype",
                           "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|skip_connect~0|none~1|avg_pool_3x3~2|"}));
  check_refusal(joined(train("found", "short"), {"--epochs", "1"}), "at least an epoch a member");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "short"));
  json_of(joined(train("found", "trained"), {"--valid-fraction", "0.25"}));
  const Json soup = json_of({"ensemble", "soup", path("trained"), "--output", path("soup.nascent"), "--threads", "1"});
  EXPECT_GE(soup.at("valid_top1").get<double>(), soup.at("best_valid_top1").get<double>());
  EXPECT_GE(soup.at("ingredients").size(), 1u);
  const Json scored = json_of({"eval", path("soup.nascent"), "--threads", "1"});
  EXPECT_DOUBLE_EQ(scored.at("top1").get<double>(), soup.at("test_top1").get<double>());
}

TEST_F(EnsembleVerbTest, EveryMethodFindsAnEnsemble) {
  json_of(search("first", {"--method", "mc"}));
  const std::vector<std::string> reuse = {"--supernet", path("first"), "--posterior",  path("first"),
                                          "--pool",     "4",           "--population", "3",
                                          "--parents",  "2",           "--networks",   "5"};
  for (const std::string method :
       {"mc", "uniform", "nes-rs", "nes-re", "deep-ensemble", "mc-droppath", "snapshot", "single"}) {
    const Json found = json_of(search(method, joined({"--method", method}, reuse)));
    EXPECT_FALSE(std::filesystem::exists(folder_ / method / "supernet")) << "another run's is used";
    EXPECT_GT(found.at("networks_evaluated").get<int>(), 0) << method;
  }
  EXPECT_EQ(bytes("mc/ensemble.json"), bytes("first/ensemble.json"));
  const Json dropped = json_of(train("mc-droppath", "mc-droppath-trained"));
  EXPECT_EQ(dropped.at("test").at("member_errors").size(), 2u);
  const Json snapshots = json_of(train("snapshot", "snapshot-trained"));
  EXPECT_EQ(snapshots.at("members"), 2);
  EXPECT_NE(snapshots.at("test").at("disagreement"), 0.0);
}

TEST_F(EnsembleVerbTest, BestResponseLearnsBesideTheSupernet) {
  const Json found = json_of(search("found", {"--method", "mc", "--when", "best-response"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "found" / "posterior"));
  EXPECT_GT(found.at("posterior").at("divergence").get<double>(), 0);
  EXPECT_THAT(bytes("found/supernet/options.toml"), HasSubstr("relaxation = \"posterior\""));
}

TEST_F(EnsembleVerbTest, KilledAndResumedItEndsInTheSameBytes) {
  const std::vector<std::string> more = {"--method", "mc", "--checkpoint-steps", "1"};
  json_of(search("whole", more));
  EXPECT_GE(stopped_until_it_ends(search("killed", more), "killed", SIGKILL), 1);
  for (const std::string name : {"ensemble.json", "posterior/posterior.nascent", "genotype.json"})
    EXPECT_EQ(bytes("whole/" + name), bytes("killed/" + name)) << name;
  json_of(train("whole", "trained"));
  EXPECT_GE(stopped_until_it_ends(joined(train("whole", "again"), {"--checkpoint-steps", "1"}), "again", SIGKILL), 1);
  EXPECT_EQ(bytes("trained/ensemble.nascent"), bytes("again/ensemble.nascent"));
}

TEST_F(EnsembleVerbTest, MistakesAreRefusedWithTwo) {
  check_refusal(search("x", {"--members", "0"}), "1 to 1000");
  check_refusal(search("x", {"--method", "nes-rs", "--members", "5", "--pool", "4"}), "pool has only 4");
  check_refusal(search("x", {"--tau", "0"}), "tau");
  check_refusal(search("x", {"--valid-fraction", "0"}), "held-out images");
  check_refusal(search("x", {"--delta", "gird"}), "grid or bo");
  check_refusal(search("x", {"--supernet", path("nowhere")}), "is not a run folder");
  check_refusal(search("x", {"--method", "mc", "--posterior", path("nowhere")}), "holds no posterior");
  check_refusal(search("x", {"--method", "nes-re", "--members", "6", "--networks", "5"}), "raise --networks");
  check_refusal({"ensemble", "agreement", path("nowhere"), "--threads", "1"}, "--supernet is missing");
  check_refusal(train("nowhere", "x"), "ensemble.json");
  check_refusal({"ensemble", "eval"}, "missing");
  check_refusal({"ensemble", "eval", path("nowhere")}, "a run folder that holds one was expected");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  json_of(search("first", {"--method", "mc"}));
  check_refusal(search("x", {"--method", "mc", "--supernet", path("first"), "--space", "darts"}),
                "is of the space nasbench201");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  // So sharp that all draws are the same.
  check_refusal(search("sharp", {"--method", "mc", "--supernet", path("first"), "--posterior", path("first"), "--tau",
                                 "0.00001"}),
                "raise --tau");
  json_of(train("first", "trained"));
  check_refusal(search("x", {"--supernet", path("trained")}), "a run of 'nascent ensemble train'");
  check_refusal({"ensemble", "eval", path("trained"), "--corruptions", "fogg"}, "no such corruption");
  check_refusal({"ensemble", "eval", path("trained"), "--calibrate", "after"}, "no held-out images");
  // Members that know other classes.
  const std::vector<std::string> other = {"train", "--genotype", path("first"), "--data",    "random",     "--size",
                                          "32",    "--shape",    "3,8,8",       "--classes", "3",          "--batch",
                                          "8",     "--threads",  "1",           "--epochs",  "1",          "--channels",
                                          "4",     "--cells",    "1",           "--out",     path("other")};
  json_of(other);
  check_refusal({"ensemble", "eval", path("trained/member-1/model.nascent"), path("other/model.nascent")},
                "the same classes");
}

}  // namespace
}  // namespace nascent
