// Ensembles as a user meets them: searched, trained, scored, killed and taken up again.
#include <gmock/gmock.h>

#include "cli/program.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class EnsembleVerbTest : public ProgramTest {
 protected:
  static std::vector<std::string> small_data() {
    return {"--data", "random", "--size", "64", "--shape", "3,8,8", "--classes", "4", "--batch", "8", "--threads", "1"};
  }
  static std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  // A search; what it takes beyond space and images is up to its method.
  std::vector<std::string> bare_search(const std::string& out, const std::vector<std::string>& more) const {
    return joined(joined({"ensemble", "search", "--space", "nasbench201", "--out", path(out)}, small_data()), more);
  }
  // With a supernet of its own.
  std::vector<std::string> small_search(const std::string& out, const std::vector<std::string>& more) const {
    return joined(bare_search(out, {"--epochs", "1", "--cells", "1", "--channels", "4"}), more);
  }
  // And rounds of two members, from a posterior of its own.
  std::vector<std::string> search(const std::string& out, const std::vector<std::string>& more) const {
    return joined(small_search(out, {"--posterior-epochs", "1", "--members", "2", "--rounds", "2"}), more);
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
  for (const std::string size : {"parameters", "multiply_adds"}) {
    const Json &sizes = trained.at("sizes"), &all = trained.at(size);
    EXPECT_EQ(sizes[0].at(size).get<int64_t>() + sizes[1].at(size).get<int64_t>(), all.get<int64_t>());
  }

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

  // Estimates of what was not trained, or on images that are not there.
  const std::vector<std::string> agreement = {"ensemble",  "agreement", path("trained"), "--supernet", path("found"),
                                              "--threads", "1"};
  check_refusal(joined(agreement, {"--sizes", "1,3"}), "set --sizes to 1 to 2");
  check_refusal(joined(agreement, {"--sizes", "1", "--ensemble-images", "20"}), "there are 19");
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
  json_of(bare_search("found", cell));
  const std::vector<std::string> held_out = {"--valid-fraction", "0.25", "--limit", "48"};
  json_of(joined(train("found", "one"), held_out));
  const auto two = nascent(joined(train("found", "two"), joined(held_out, {"--at-once", "2"})));
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_THAT(two.out, AllOf(HasSubstr("nor_conv_3x3"), HasSubstr("Member 3"), HasSubstr("multiply-adds")));
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
  json_of(bare_search("found", {"--method", "snapshot", "--members", "2", "--genotype",
                                "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|skip_connect~0|none~1|"
                                "avg_pool_3x3~2|"}));
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
  const std::vector<std::string> two = {"--members", "2"}, pool = {"--pool", "4"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> methods = {
      {"mc", joined(two, {"--rounds", "2", "--posterior", path("first")})},
      {"uniform", joined(two, {"--rounds", "2"})},
      {"nes-rs", joined(two, pool)},
      {"nes-re", joined(two, {"--population", "3", "--parents", "2", "--networks", "5"})},
      {"deep-ensemble", joined(two, pool)},
      {"mc-droppath", joined(two, pool)},
      {"snapshot", joined(two, pool)},
      {"single", pool}};
  for (const auto& [method, own] : methods) {
    const Json found = json_of(small_search(method, joined({"--method", method, "--supernet", path("first")}, own)));
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
  const std::vector<std::string> rounds = {"--method", "mc", "--members", "2", "--rounds", "2"};
  const Json found = json_of(small_search("found", joined(rounds, {"--when", "best-response"})));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "found" / "posterior"));
  EXPECT_GT(found.at("posterior").at("divergence").get<double>(), 0);
  EXPECT_THAT(bytes("found/supernet/options.toml"), HasSubstr("relaxation = \"posterior\""));
  // Supernet and posterior of a best response serve other searches, as another run's do.
  const std::vector<std::string> given = {"--supernet", path("found"), "--posterior", path("found")};
  json_of(small_search("again", joined(rounds, given)));
  EXPECT_EQ(bytes("again/ensemble.json"), bytes("found/ensemble.json"));
  check_refusal(small_search("x", joined(rounds, {"--when", "best-response", "--supernet", path("found")})),
                "leave --when out");
}

// --scale is for all that is trained: epochs, channels and cells of the networks that judge, and their images.
TEST_F(EnsembleVerbTest, TheTrainingsThatJudgeAreScaled) {
  json_of(bare_search("found", {"--method", "uniform", "--members", "1", "--rounds", "1", "--judge", "train", "--scale",
                                "epochs=0.02,channels=0.25,cells=0.2,data=0.75"}));
  EXPECT_THAT(bytes("found/pool-1/options.toml"), AllOf(HasSubstr("\nepochs = 1 "), HasSubstr("\nchannels = 4 "),
                                                        HasSubstr("\ncells = 1 "), HasSubstr("\nlimit = 48 ")));
}

// What --exclude leaves out is in no member, whoever draws it, and not in what the fairness report expects.
TEST_F(EnsembleVerbTest, WhatIsExcludedIsDrawnByNobody) {
  const std::vector<std::string> without = {"--exclude", "none,avg_pool_3x3"};
  const auto check = [](const Json& found) {
    for (const Json& cell : found.at("cells")) {
      EXPECT_THAT(cell.dump(), Not(HasSubstr("none")));
      EXPECT_THAT(cell.dump(), Not(HasSubstr("avg_pool")));
    }
  };
  const Json first = json_of(search("first", joined({"--method", "mc", "--members", "6"}, without)));
  check(first);
  EXPECT_EQ(first.at("fairness").at("ops").size(), 3u);
  for (const auto& [type, cell] : first.at("fairness").at("cells").items())
    EXPECT_NEAR(cell.at("expected")[0].get<double>(), 5.0 / 3, 1e-9);
  // The supernet knows what it was trained for.
  const std::vector<std::string> given = {"--supernet", path("first")};
  check(json_of(small_search("pool", joined(given, {"--method", "nes-rs", "--pool", "8", "--members", "6"}))));
  check(json_of(small_search("evolved", joined(given, {"--method", "nes-re", "--population", "3", "--parents", "2",
                                                       "--networks", "8", "--members", "6"}))));
  check(json_of(small_search("particles", joined(given, {"--method", "svgd", "--members", "6", "--rounds", "1",
                                                         "--posterior", path("first"), "--iterations", "20"}))));
  // A posterior over other operations is of another space.
  json_of(search("whole", {"--method", "mc"}));
  check_refusal(small_search("x", joined(given, {"--method", "mc", "--posterior", path("whole")})),
                "(none, skip_connect, nor_conv_1x1, nor_conv_3x3, avg_pool_3x3), but here it is nasbench201");
  check_refusal(small_search("x", joined({"--method", "mc", "--when", "best-response"}, without)), "--exclude none");
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

TEST_F(EnsembleVerbTest, ParticlesComeAsPicturesAndNumbers) {
  json_of({"ensemble", "particles", "--deltas", "-1,0", "--particles", "4", "--seeds", "1", "--iterations", "10",
           "--svg", path("particles.svg")});
  for (const std::string name : {"particles.svg", "particles.png", "particles-2.png"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  EXPECT_THAT(bytes("particles.svg"), HasSubstr("δ = -1"));
  const std::string csv = bytes("particles.csv");
  EXPECT_THAT(csv, testing::StartsWith("delta,particle,x,y\n-1,1,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 4);
}

// Where a pool is evaluated, and where the posterior learns beside the supernet.
TEST_F(EnsembleVerbTest, KilledInThePoolAndInTheBestResponseItEndsInTheSameBytes) {
  const std::vector<std::vector<std::string>> phases = {
      {"--method", "nes-rs", "--members", "2", "--pool", "8"},
      {"--method", "mc", "--members", "2", "--rounds", "3", "--when", "best-response"}};
  for (const auto& phase : phases) {
    const std::string whole = phase[1] + "-whole", killed = phase[1] + "-killed";
    json_of(small_search(whole, joined(phase, {"--checkpoint-steps", "1"})));
    EXPECT_GE(stopped_until_it_ends(small_search(killed, joined(phase, {"--checkpoint-steps", "1"})), killed, SIGKILL),
              1);
    for (const std::string name : {"ensemble.json", "genotype.json", "supernet/genotype.json"})
      EXPECT_EQ(bytes(whole + "/" + name), bytes(killed + "/" + name)) << name;
    const Json found = Json::parse(bytes(whole + "/result.json")), again = Json::parse(bytes(killed + "/result.json"));
    EXPECT_EQ(found.at("trace"), again.at("trace"));
    EXPECT_EQ(found.at("estimated"), again.at("estimated"));
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / whole / "predictions")) {
      const std::string name = "/predictions/" + entry.path().filename().string();
      EXPECT_EQ(bytes(whole + name), bytes(killed + name)) << name;
    }
  }
}

// What nothing makes use of was meant to say something.
TEST_F(EnsembleVerbTest, OptionsThatWouldBeIgnoredAreRefused) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
    const auto result = at_once(bare_search("x", more));
    EXPECT_EQ(result.exit_code, 2) << more[1];
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  for (const std::string method : {"mc", "svgd", "uniform", "nes-rs", "nes-re"})
    refused({"--method", method, "--genotype", "nasbench201:1"},
            "it belongs to the methods deep-ensemble, mc-droppath");
  refused({"--method", "nes-rs", "--rounds", "3"}, "--rounds (ensemble.rounds) is 3");
  refused({"--method", "nes-rs", "--tau", "3"}, "'nes-rs' draws from no posterior");
  refused({"--method", "nes-rs", "--posterior", "runs/x"}, "'nes-rs' draws from no posterior");
  refused({"--method", "nes-rs", "--beam", "3"}, "--selection beam");
  refused({"--method", "mc", "--delta", "0.5"}, "it belongs to the methods svgd");
  refused({"--method", "single", "--members", "5"}, "it belongs to the methods");
  refused({"--method", "mc", "--posterior", "runs/x", "--posterior-epochs", "3"}, "has been learnt");
  refused({"--method", "mc", "--when", "best-response", "--posterior-epochs", "3"}, "for its epochs");
  refused({"--method", "mc", "--supernet", "runs/x", "--fair", "strict"}, "has been trained");
  refused({"--method", "mc", "--when", "best-response", "--fair", "strict"}, "draws the supernet's paths");
  refused({"--method", "mc", "--when", "best-response", "--supernet", "runs/x"}, "--supernet runs/x has been trained");
  refused({"--method", "mc", "--when", "best-response", "--posterior", "runs/x"}, "a posterior of its own");
  refused({"--method", "uniform", "--judge", "train", "--epochs", "3"}, "needs no supernet");
  refused({"--method", "uniform", "--judge", "train", "--test-images", "3"}, "--judge shared");
  refused({"--method", "uniform", "--retrain", "retrain-gaea"}, "--judge train");
  refused({"--method", "uniform", "--seeds", "3"}, "has no stages");
  refused({"--method", "deep-ensemble", "--genotype", "nasbench201:1", "--pool", "9"}, "nothing is evaluated");
  refused({"--method", "deep-ensemble", "--genotype", "nasbench201:1", "--supernet", "runs/x"}, "nothing is evaluated");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

// All of it before a supernet is trained.
TEST_F(EnsembleVerbTest, WhatCannotBeDoneIsRefusedBeforeAnythingIsTrained) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
    check_refusal(small_search("x", more), text);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  };
  refused({"--method", "uniform", "--ensemble-images", "20"}, "asks for 20 held-out images; there are 19");
  refused({"--method", "uniform", "--test-images", "65"}, "asks for 65 test images; there are 64");
  refused({"--method", "mc", "--valid-fraction", "0.1"}, "in batches of 8, and there are 6");
  refused({"--method", "nes-rs", "--pool", "20000"}, "has only 15625 architectures");
  refused({"--method", "nes-rs", "--pool", "400", "--members", "5", "--selection", "exhaustive"}, "forward or beam");
  refused({"--method", "nes-rs", "--selection", "stacking", "--combine", "logits"}, "--combine probabilities");
  refused({"--method", "uniform", "--relaxation", "softmax", "--spread", "3", "--sampled-ops", "1"}, "sampled-ops");
  check_refusal(bare_search("x", {"--method", "uniform", "--judge", "train", "--retrain", "retrain-nothing"}),
                "retrain-nothing");
  check_refusal(bare_search("x", {"--method", "uniform", "--judge", "train", "--retrain-set", "train.epoch=3"}),
                "train.epoch");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST_F(EnsembleVerbTest, AGivenSupernetIsWhatIsAskedFor) {
  json_of(small_search("first", {"--method", "uniform", "--members", "2", "--rounds", "1"}));
  const auto again = [&](const std::vector<std::string>& more) {
    return joined(bare_search("x", {"--method", "uniform", "--members", "2", "--supernet", path("first")}), more);
  };
  check_refusal(again({"--epochs", "3"}), "--epochs (search.epochs) is 3, but the supernet");
  check_refusal(again({"--limit", "20"}), "--limit (data.limit) is 20");
  check_refusal(again({"--channels", "8"}), "was made with 4");
  check_refusal(again({"--method", "mc", "--posterior", path("nowhere")}), "holds no posterior");
  // A space of the same name is not the same space.
  const std::string small =
      "name = \"mine\"\nskeleton = \"nasbench201\"\nops = [\"skip_connect\", \"nor_conv_1x1\"]\n"
      "[[cell]]\ntype = \"cell\"\ninputs = 1\noutput = [2]\n";
  const std::string node = "[[cell.node]]\ninputs = [0]\nkeep = 1\n";
  write_file(path("one.toml"), small + node + "[[cell.node]]\ninputs = [1]\nkeep = 1\n");
  write_file(path("two.toml"), small + node + "[[cell.node]]\ninputs = [0, 1]\nkeep = 2\n");
  const std::vector<std::string> how = {"--method", "mc", "--members", "1", "--rounds", "1"};
  json_of(joined(search("one", how), {"--space", path("one.toml")}));
  check_refusal(joined(small_search("x", how), {"--space", path("two.toml"), "--posterior", path("one")}),
                "a space that is named mine too, but has other sites");
  check_refusal(joined(small_search("x", how), {"--posterior", path("one")}),
                "is of the space mine (skip_connect, nor_conv_1x1), but here it is nasbench201");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST_F(EnsembleVerbTest, MistakesAreRefusedWithTwo) {
  check_refusal(search("x", {"--members", "0"}), "1 to 1000");
  check_refusal(small_search("x", {"--method", "nes-rs", "--members", "5", "--pool", "4"}), "pool has only 4");
  check_refusal(search("x", {"--tau", "0"}), "tau");
  check_refusal(search("x", {"--valid-fraction", "0"}), "held-out images");
  check_refusal(search("x", {"--delta", "gird"}), "grid or bo");
  check_refusal(search("x", {"--supernet", path("nowhere")}), "is not a run folder");
  check_refusal(small_search("x", {"--method", "mc", "--posterior", path("nowhere")}), "holds no posterior");
  check_refusal(small_search("x", {"--method", "nes-re", "--members", "6", "--networks", "5"}), "raise --networks");
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
  check_refusal(small_search("sharp", {"--method", "mc", "--supernet", path("first"), "--posterior", path("first"),
                                       "--tau", "0.00001"}),
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
