#include <gmock/gmock.h>

#include "cli/program.h"
#include "nascent/space/space.h"
#include "nascent/table/csv.h"
#include "nascent/train/state.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AnalyzeTest : public ProgramTest {
 protected:
  using Words = std::vector<std::string>;

  static Words data() {
    return {"--data", "random", "--size", "48", "--shape", "3,8,8", "--classes", "4", "--batch", "16"};
  }
  static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string trained(const std::string& name, const Words& more = {}) const {
    json_of(with(with({"train", "--genotype", "darts-v2", "--channels", "4", "--cells", "3", "--epochs", "1",
                       "--threads", "1", "--out", path(name)},
                      data()),
                 more));
    return path(name);
  }
  // An analysis in the folder `out`, a checkpoint after every step.
  Words analysis(const std::string& verb, const Words& models, const std::string& out, const Words& more = {}) const {
    return with(
        with(with({"analyze", verb}, models), {"--out", path(out), "--checkpoint-steps", "1", "--threads", "1"}), more);
  }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }
  static size_t occurrences(const std::string& text, const std::string& what) {
    size_t found = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  }

  static void refused(const Words& words, const std::string& reason) {
    const ProgramOutput output = at_once(words);
    EXPECT_EQ(output.exit_code, 2) << output.err;
    EXPECT_THAT(output.err, HasSubstr(reason));
  }

  // Killed when there is a checkpoint and resumed, the analysis leaves the same files behind.
  void expect_same_bytes_after_kill(const std::string& verb, const Words& models, const Words& more, const Words& files,
                                    const std::string& part = "") {
    json_of(analysis(verb, models, "whole", more));
    const Words start = analysis(verb, models, "killed", more);
    EXPECT_EQ(signalled_when(start, folder_ / "killed" / part / "checkpoints", 1, SIGKILL), -SIGKILL) << said();
    const ProgramOutput resumed = nascent({"analyze", verb, "--resume", path("killed")});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    for (const std::string& file : files) EXPECT_EQ(bytes("killed/" + file), bytes("whole/" + file)) << file;
  }
};

TEST_F(AnalyzeTest, ListsItsAnalyses) {
  const ProgramOutput output = at_once({"analyze"});
  for (const char* verb : {"topology", "variants", "convergence", "generalisation", "landscape", "variance", "line",
                           "trajectory", "theory", "rank", "compare"}) {
    EXPECT_THAT(output.out + output.err, HasSubstr(std::string("analyze ") + verb));
    const ProgramOutput help = at_once({"analyze", verb, "--help"});
    EXPECT_EQ(help.exit_code, 0) << verb;
    EXPECT_THAT(help.out, HasSubstr(std::string("nascent analyze ") + verb));
  }
}

TEST_F(AnalyzeTest, TheCentreOfALandscapeIsWhatEvalSays) {
  const std::string model = trained("model");
  const Json result = json_of(analysis("landscape", {model}, "run", {"--points", "3", "--images", "20", "--vtk"}));
  const Json eval = json_of({"eval", model, "--limit-test", "20", "--threads", "1"});
  EXPECT_EQ(result["models"][0]["grids"][0]["centre"].get<double>(), eval["loss"].get<double>());
  EXPECT_EQ(result["models"][0]["topology"], "3.5c, 3");
  EXPECT_THAT(bytes("run/model-1.csv"), HasSubstr("alpha,beta,loss,top1\n-1,-1,"));
  EXPECT_THAT(bytes("run/model-1.vtk"), HasSubstr("DIMENSIONS 3 3 1"));
  const std::string report = bytes("run/report.html");
  EXPECT_THAT(report, AllOf(HasSubstr("data-grid=\"3;"), HasSubstr("of model (3.5c, 3) on 20 test images of random"),
                            HasSubstr("norms running, directions 1 of 1, filter-normalised, seed 1. In numbers: loss "),
                            HasSubstr(" % of the grid within 1 of it, convex for ")));
  // Whatever is taken out of the page: the norms are said on it.
  for (const char* picture : {"surface", "loss", "log-loss", "accuracy"}) {
    EXPECT_THAT(bytes(fmt::format("run/model-1-{}.svg", picture)), HasSubstr("norms running")) << picture;
    EXPECT_TRUE(std::filesystem::exists(path(fmt::format("run/model-1-{}.png", picture)))) << picture;
  }
  // Contours, heat map and surface of each; that of the log-loss is a picture of its own.
  for (const char* picture : {"loss-2", "loss-3", "log-loss-2", "accuracy-2", "accuracy-3"}) {
    EXPECT_TRUE(std::filesystem::exists(path(fmt::format("run/model-1-{}.png", picture)))) << picture;
  }
  // What the page draws is closed again.
  EXPECT_EQ(occurrences(report, "<svg"), occurrences(report, "</svg>"));
  EXPECT_GT(occurrences(report, "<svg"), 4u);
}

TEST_F(AnalyzeTest, AKilledLandscapeEndsInTheSameBytes) {
  expect_same_bytes_after_kill(
      "landscape", {trained("model")},
      {"--points", "3", "--images", "16", "--norms", "recalibrated", "--curvature", "--lanczos-steps", "4",
       "--trace-probes", "2", "--density-probes", "1", "--curvature-images", "16", "--curvature-points", "2"},
      {"model-1.csv", "model-1-loss.svg", "model-density.csv", "model-1-ratio.csv", "result.json"});
}

TEST_F(AnalyzeTest, AKilledVarianceEndsInTheSameBytes) {
  expect_same_bytes_after_kill("variance", {trained("model")}, {"--points", "3", "--images", "16"},
                               {"model-1.csv", "model-layers.csv", "model-1-map.svg", "result.json"});
}

// Weights moved by a thousand times their length give no finite gradients.
TEST_F(AnalyzeTest, VarianceSaysItsHoles) {
  const ProgramOutput output = nascent(
      analysis("variance", {trained("model")}, "run", {"--points", "3", "--range", "1000", "--images", "16", "--vtk"}));
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr(", 8 holes\n"));
  EXPECT_EQ(Json::parse(bytes("run/result.json"))["models"][0]["grids"][0]["holes"], 8);
  EXPECT_THAT(bytes("run/report.html"), HasSubstr(" at the centre, 8 holes."));
  EXPECT_THAT(bytes("run/model-1.vtk"), AllOf(HasSubstr("DIMENSIONS 3 3 1"), HasSubstr("SCALARS deviation double 1")));
  EXPECT_THAT(bytes("run/model-1-surface.svg"), HasSubstr("norms running"));
}

// Drawn each over its own range, two models could not be compared.
TEST_F(AnalyzeTest, ModelsSideBySideAreDrawnOverOneScale) {
  const std::string first = trained("first"), second = trained("second", {"--seed", "2", "--lr", "0.1"});
  json_of(analysis("landscape", {first, second}, "run", {"--points", "3", "--images", "16"}));
  // The numbers along the axes and beside the colours.
  const auto numbers = [&](const std::string& model) {
    const std::string svg = bytes("run/" + model + "-1-accuracy.svg"), begin = "<text>";
    std::vector<std::string> texts;
    for (size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) {
      texts.push_back(svg.substr(at, svg.find("</text>", at) - at));
    }
    return texts;
  };
  EXPECT_GT(numbers("first").size(), 10u);
  EXPECT_EQ(numbers("first"), numbers("second"));
}

TEST_F(AnalyzeTest, AKilledConvergenceEndsInTheSameBytes) {
  const Words more = with({"--connections", "1", "--channels", "4", "--cells", "3", "--epochs", "2", "--seeds", "2",
                           "--rates", "0.025,0.1", "--accuracy", "25"},
                          data());
  expect_same_bytes_after_kill("convergence", {"darts-v2"}, more,
                               {"trainings.csv", "curves.csv", "darts-v2-rate0.1.svg", "result.json"},
                               "darts-v2-rate0.1-seed1");
  const std::string table = bytes("whole/trainings.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 2 * 2 * 2);
  for (const Json& training : Json::parse(bytes("whole/result.json"))["trainings"]) {
    EXPECT_TRUE(training["diverged"] == true || training["mean_loss"].get<double>() > 0.1) << training;
    EXPECT_TRUE(training["diverged"] == true || training["final_top1"].get<double>() > 1) << training;
  }
}

// A rate at which nothing can be learnt stops its own training only.
TEST_F(AnalyzeTest, ADivergedTrainingStopsNoOther) {
  const Json result = json_of(analysis("convergence", {"darts-v2"}, "run",
                                       with({"--connections", "0", "--channels", "4", "--cells", "3", "--epochs", "1",
                                             "--rates", "1000,0.025", "--clip", "0"},
                                            data())));
  ASSERT_EQ(result["trainings"].size(), 2u);
  EXPECT_EQ(result["trainings"][0]["diverged"], true);
  EXPECT_EQ(result["trainings"][1]["diverged"], false);
  EXPECT_GT(result["trainings"][1]["mean_loss"].get<double>(), 0);
}

TEST_F(AnalyzeTest, AKilledLineEndsInTheSameBytes) {
  expect_same_bytes_after_kill("line", {trained("first"), trained("second", {"--seed", "2"})},
                               {"--points", "41", "--images", "16"}, {"line.csv", "line.svg", "result.json"});
}

TEST_F(AnalyzeTest, AKilledTrajectoryEndsInTheSameBytes) {
  expect_same_bytes_after_kill("trajectory", {trained("model", {"--snapshots", "1", "--epochs", "2"})},
                               {"--points", "7", "--images", "16"},
                               {"trajectory.csv", "plane.csv", "trajectory.svg", "losses.svg", "result.json"});
}

// With what Table 1 adds to the training; each part is a run that 'nascent eval' takes.
TEST_F(AnalyzeTest, GeneralisationTrainsTheCellItsVariantsAndItsAdaptedForm) {
  const Json result =
      json_of(analysis("generalisation", {"darts-v2"}, "run",
                       with({"--connections", "1", "--channels", "4", "--cells", "3", "--epochs", "1", "--seeds", "2",
                             "--drop-path", "0.2", "--train-transforms", "flip,normalise,cutout 2"},
                            data())));
  std::map<std::string, int> kinds;
  for (const Json& training : result["trainings"]) {
    ++kinds[training["kind"].get<std::string>()];
    const Json eval = json_of({"eval", path("run/" + training["folder"].get<std::string>()), "--threads", "1"});
    EXPECT_DOUBLE_EQ(training["final_top1"].get<double>(), eval["top1"].get<double>()) << training;
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"original", 2}, {"connections", 2}, {"adapted", 2}}));
  const std::string table = bytes("run/trainings.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 3 * 2);
  EXPECT_THAT(table, HasSubstr("darts-v2-4c-2-adapted,adapted,4,2,0.025,2,"));
  EXPECT_THAT(bytes("run/report.html"),
              AllOf(HasSubstr("with the deviation over seeds: 1 darts-v2"), HasSubstr("<svg")));
}

TEST_F(AnalyzeTest, AGridIsRefinedFromACoarserOne) {
  const std::string model = trained("model");
  json_of(analysis("landscape", {model}, "coarse", {"--points", "3", "--images", "16"}));
  json_of(analysis("landscape", {model}, "fine", {"--points", "5", "--images", "16", "--refine", path("coarse")}));
  json_of(analysis("landscape", {model}, "anew", {"--points", "5", "--images", "16"}));
  EXPECT_EQ(bytes("fine/model-1.csv"), bytes("anew/model-1.csv"));
  refused(analysis("landscape", {model}, "other",
                   {"--points", "5", "--images", "16", "--seed", "2", "--refine", path("coarse")}),
          "made with seed 1");
  refused(analysis("landscape", {model}, "none", {"--points", "5", "--images", "16", "--refine", path("nowhere")}),
          "there is no grid of these models");
}

// A coarse grid of an even number of points has none at the centre, so that other weights or images went unnoticed.
TEST_F(AnalyzeTest, AGridOfOtherWeightsOrImagesIsNotRefined) {
  const std::string model = trained("model"), other = trained("other/model", {"--lr", "0.1"});
  const auto refused_with = [&](const std::string& refined, const Words& more, const std::string& reason) {
    refused(analysis("landscape", {refined}, "fine", with({"--points", "3", "--refine", path("coarse")}, more)),
            reason);
  };
  json_of(analysis("landscape", {model}, "coarse",
                   {"--points", "2", "--images", "16", "--norms", "recalibrated", "--calibration", "16"}));
  const Words as_before = {"--images", "16", "--norms", "recalibrated", "--calibration", "16"};
  refused_with(other, as_before, "its grid of model is of other weights");
  refused_with(model, {"--images", "20", "--norms", "recalibrated", "--calibration", "16"}, "made with images 16");
  refused_with(model, {"--images", "16", "--norms", "recalibrated", "--calibration", "32"}, "made with calibration 16");
  refused_with(model, with(as_before, {"--eval-transforms", "resize 8 8,normalise"}), "made with images_digest");
  json_of(analysis("landscape", {model}, "fine", with({"--points", "3", "--refine", path("coarse")}, as_before)));
  // What an older run left without digests is told by its loss at the centre.
  Json result = Json::parse(bytes("coarse/result.json"));
  result["models"][0].erase("digest");
  result["settings"].erase("images_digest");
  result["models"][0]["grids"][0]["centre"] = 77;
  write_file(path("coarse/result.json"), result.dump());
  const ProgramOutput output =
      nascent(analysis("landscape", {model}, "older", with({"--points", "3", "--refine", path("coarse")}, as_before)));
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("the grid to refine has 77 at its centre"));
}

// The usual number of images is no demand; a number that was asked for is.
TEST_F(AnalyzeTest, FewerImagesThanUsualAreAllTaken) {
  const std::string model = trained("model");
  const Words curvature = {"--points", "2", "--curvature", "--lanczos-steps", "2", "--trace-probes", "2"};
  const ProgramOutput output =
      nascent(analysis("landscape", {model}, "all", with(curvature, {"--density-probes", "1"})));
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("random has 48 test images, fewer than the usual 1000 (--images)"),
                                HasSubstr("fewer than the usual 4096 (--curvature-images)")));
  // A point more for the centre; Lanczos, trace and density.
  EXPECT_THAT(output.err, HasSubstr("5 points of 48 images each and 6 products with the Hessian of 48 images"));
  EXPECT_THAT(bytes("all/report.html"), AllOf(HasSubstr("(3.5c, 3) on 48 test images of random"),
                                              HasSubstr("(3.5c, 3) over 48 test images of random")));
  refused(analysis("landscape", {model}, "x", with(curvature, {"--curvature-images", "5000"})),
          "Lower --curvature-images, or use 0 for all");
  json_of(analysis("line", {model, model}, "line", {"--points", "3"}));
  EXPECT_THAT(bytes("line/report.html"), HasSubstr("recalibrated norms saw 48 training images"));
}

TEST_F(AnalyzeTest, LineAndTrajectory) {
  const std::string first = trained("first", {"--snapshots", "1", "--epochs", "3"});
  const std::string second = trained("second", {"--seed", "2"});
  const Json line = json_of(analysis("line", {first, second}, "line", {"--points", "3", "--images", "16"}));
  EXPECT_EQ(line["curves"][1]["norms"], "running");
  EXPECT_EQ(line["curves"][1]["loss"][0], json_of({"eval", first, "--limit-test", "16", "--threads", "1"})["loss"]);
  EXPECT_THAT(bytes("line/line.csv"), HasSubstr("t,loss_recalibrated,top1_recalibrated,loss_running,top1_running\n0,"));
  const Json way = json_of(analysis("trajectory", {first}, "way", {"--points", "3", "--images", "16"}));
  ASSERT_EQ(way["models"].size(), 4u);  // the start, and three epochs
  EXPECT_LE(way["explained"][0].get<double>() + way["explained"][1].get<double>(), 1 + 1e-9);
  EXPECT_EQ(way["models"][3]["first"], 0.0);
  EXPECT_THAT(bytes("way/report.html"), HasSubstr("the ring is the last"));
  refused(analysis("trajectory", {second}, "kept", {}), "kept no snapshots");
  refused(analysis("line", {first}, "one", {}), "two models were expected");
  const std::string wider = trained("wider", {"--channels", "8"});
  refused(analysis("line", {first, wider}, "differ", {"--images", "16"}),
          "the first tensor that differs is 'stem0.0.weight'");
}

TEST_F(AnalyzeTest, MistakesAreExplained) {
  const std::string model = trained("model");
  refused(analysis("landscape", {model}, "x", {"--points", "0"}), "at least 2 points");
  refused(analysis("landscape", {model}, "x", {"--range", "0"}), "a grid needs an extent");
  refused(analysis("landscape", {model}, "x", {"--images", "5000"}), "Lower --images, or use 0 for all");
  refused(analysis("landscape", {}, "x", {}), "A trained model was expected");
  refused(analysis("landscape", {path("nowhere")}, "x", {}), "nowhere");
  refused(analysis("variance", {model}, "x", {"--norms", "batch"}), "need running statistics");
  refused({"analyze", "theory", "lipshitz"}, "Did you mean 'lipschitz'?");
  refused({"analyze", "topology"}, "either genotypes or --table TABLE");
  refused({"analyze", "variants", "nasbench101:1"}, "operations stand on nodes");
  refused({"analyze", "variants", "nasbench201:7"}, "cells have 1 input");
  refused({"analyze", "rank", path("nowhere.csv"), "--truth", "a"}, "nowhere.csv");
  refused({"analyze", "rank"}, "--truth COLUMN is missing");
  refused(analysis("convergence", {}, "x", {}), "A genotype was expected");
  refused(analysis("convergence", {"darts-v2"}, "x", {"--rates", "0.1,-0.1"}), "expected: 0 to 1000");
  refused(analysis("convergence", {"darts-v2"}, "x", {"--rates", "1e30"}), "expected: 0 to 1000");
  refused(analysis("convergence", {"darts-v2"}, "x", {"--rates", "0"}), "Give rates above 0");
  refused({"analyze", "variants", "darts-v2", "--shares", "0.5,1.5"}, "expected: 0 to 1");
  refused(analysis("convergence", {"darts-v2"}, "x", {"--data", "image-folder", "--path", path("nowhere")}), "nowhere");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

// A weight that is not of the network that the file says it holds.
TEST_F(AnalyzeTest, AFileOfAnotherNetworkNamesTheTensor) {
  const std::string model = trained("model"), wider = trained("wider", {"--channels", "8"});
  const State own = load_state(model + "/model.nascent"), other = load_state(wider + "/model.nascent");
  State mixed;
  mixed.values = own.values;
  for (const auto& [name, tensor] : other.tensors()) mixed.put(name, tensor);
  save_state(mixed, path("mixed.nascent"));
  const ProgramOutput output = nascent(analysis("landscape", {path("mixed.nascent")}, "x", {}));
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr(".weight"));
}

TEST_F(AnalyzeTest, TopologyDrawsAndCounts) {
  const Json result = json_of({"analyze", "topology", "darts-v2", "snas", "--csv", path("cells.csv")});
  EXPECT_EQ(result["cells"][0]["width"], 3.5);
  EXPECT_EQ(result["cells"][0]["wirings"], 180.0);
  EXPECT_NEAR(result["cells"][0]["share"].get<double>(), 13.0 / 180, 1e-12);
  EXPECT_THAT(bytes("cells.csv"), HasSubstr("darts-v2,normal,3.5,3,1.5,4.0,2,5,"));
  // The picture, with every cell under its own title, and the same numbers beside it.
  json_of({"analyze", "topology", "darts-v2", "snas", "--plot", path("drawn.svg")});
  for (const char* title : {"darts&#45;v2 normal: 3.5c, 3", "darts&#45;v2 reduce: 2.5c, 3", "snas normal: 4c, 2"}) {
    EXPECT_THAT(bytes("drawn.svg"), HasSubstr(title));
  }
  EXPECT_EQ(occurrences(bytes("drawn.svg"), "class=\"edge\""),
            48u);  // four cells of eight edges, and four to the output
  EXPECT_EQ(bytes("drawn.csv"), bytes("cells.csv"));
  json_of({"analyze", "topology", "darts-v2", "--plot", path("drawn.png")});
  EXPECT_TRUE(bytes("drawn.png").starts_with("\x89PNG"));
  refused({"analyze", "topology", "darts-v2", "--plot", path("drawn.jpg")}, "must end in .svg, .png or .pdf");
}

TEST_F(AnalyzeTest, VariantsAreGenotypesThatAreReadBack) {
  const Json result =
      json_of({"analyze", "variants", "amoebanet", "--connections", "3", "--out", path("variants"), "--auxiliary"});
  ASSERT_EQ(result["variants"].size(), 6u);  // the original, adapted, deepest and three drawn
  for (const Json& variant : result["variants"]) {
    const std::string file = path("variants/" + variant["name"].get<std::string>() + ".json");
    EXPECT_EQ(Json::parse(read_file(file))["space"], variant["space"]);
    EXPECT_EQ(at_once({"genotype", file}).exit_code, 0);
  }
  EXPECT_THAT(bytes("variants/variants.csv"),
              HasSubstr("name,kind,share,normal_width,normal_depth,reduce_width,reduce_depth,parameters"));
}

// As for topology, the answer may stand behind the flag; it was taken for a second genotype.
TEST_F(AnalyzeTest, RepeatIsAnsweredAlikeByEveryVerb) {
  const auto variants = [](const Words& more) {
    return at_once(with({"analyze", "variants", "darts-v2", "--connections", "3", "--json"}, more)).out;
  };
  const std::string no = variants({"--no-repeat"}), yes = variants({});
  EXPECT_THAT(yes, HasSubstr("\"space\": \"cells\""));
  EXPECT_THAT(no, AllOf(HasSubstr("\"space\": \"darts\""), Not(HasSubstr("\"cells\""))));
  EXPECT_EQ(variants({"--repeat", "no"}), no);
  EXPECT_EQ(variants({"--repeat=no"}), no);
  EXPECT_EQ(variants({"--variants.repeat", "off"}), no);
  EXPECT_EQ(variants({"--no-repeat", "--repeat", "yes"}), yes);
  for (const char* verb : {"convergence", "generalisation"}) {
    refused(analysis(verb, {}, "x", {"--repeat", "no"}), "A genotype was expected");
  }
  const Json wirings = Json::parse(at_once({"analyze", "topology", "nasnet", "--repeat", "no", "--json"}).out);
  EXPECT_EQ(wirings["cells"][0]["wirings"], 2700);
}

TEST_F(AnalyzeTest, RankReadsColumns) {
  write_file(path("scores.csv"), "name,truth,good,error\na,1,2,9\nb,2,3,7\nc,3,5,8\nd,4,9,1\ne,5,11,0\n");
  const Json result = json_of({"analyze", "rank", path("scores.csv"), "--truth", "truth", "--lower", "error", "--plot",
                               path("rank.svg"), "--csv", path("rank.csv")});
  ASSERT_EQ(result["agreement"].size(), 2u);
  EXPECT_NEAR(result["agreement"][0]["spearman"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(result["agreement"][1]["spearman"].get<double>(), 0.9, 1e-12);
  EXPECT_THAT(bytes("rank.csv"), HasSubstr("estimate,architectures,spearman"));
  EXPECT_THAT(bytes("rank-values.csv"), HasSubstr("name,truth,good,error\n"));
  for (const char* file : {"rank.svg", "rank.png", "rank-2.png"}) EXPECT_TRUE(std::filesystem::exists(path(file)));
  refused({"analyze", "rank", path("scores.csv"), "--truth", "truth", "--plot", path("rank.png")}, "must end in .svg");
  refused({"analyze", "rank", path("scores.csv"), "--truth", "truht"}, "Did you mean 'truth'?");
  refused({"analyze", "rank", path("scores.csv"), "--truth", "truth", "--lower", "eror"}, "Did you mean 'error'?");
  write_file(path("constant.csv"), "truth,flat\n1,5\n2,5\n3,5\n");
  const ProgramOutput flat = at_once({"analyze", "rank", path("constant.csv"), "--truth", "truth"});
  EXPECT_THAT(flat.out, HasSubstr("Spearman undefined, Pearson undefined, Kendall undefined,"));
}

// Numbers and a PNG beside every picture.
TEST_F(AnalyzeTest, TheoryLeavesTablesAndPictures) {
  json_of({"analyze", "theory", "sgd", "--draws", "20", "--out", path("theory")});
  for (const char* name : {"sgd", "sgd-curves"}) {
    for (const char* ending : {".csv", ".svg", ".png"}) {
      EXPECT_TRUE(std::filesystem::exists(path(fmt::format("theory/{}{}", name, ending)))) << name << ending;
    }
  }
  EXPECT_THAT(bytes("theory/sgd-curves.csv"), HasSubstr(",curve,"));
}

TEST_F(AnalyzeTest, ComparesRowsOfRuns) {
  write_file(path("runs.csv"), "row,seed,value\na,1,1\na,2,2\na,3,3\na,4,4\nb,1,2\nb,2,3.5\nb,3,4\nb,4,5\n");
  const Json result = json_of({"analyze", "compare", path("runs.csv"), "--reference", "a", "--plot", path("rows.svg")});
  EXPECT_EQ(result["rows"][1]["difference"], 1.125);
  EXPECT_EQ(result["rows"][1]["p"], 0.125);  // 2 of 16 ways
  EXPECT_EQ(result["rows"][1]["test"], "paired");
  EXPECT_THAT(bytes("rows.svg"), HasSubstr("</svg>"));
  EXPECT_THAT(bytes("rows-means.csv"), HasSubstr("\nb,4,3.625,"));
  refused({"analyze", "compare", path("runs.csv"), "--plot", path("rows.png")}, "must end in .svg");
  const ProgramOutput checked = at_once({"analyze", "compare", path("runs.csv"), "--check", path("runs.csv")});
  EXPECT_THAT(checked.out, HasSubstr("the same as before"));
  write_file(path("one.csv"), "row,seed,value\na,1,1\n");
  write_file(path("more.csv"), "row,seed,value\na,1,1\na,2,2\n");
  const ProgramOutput alone = at_once({"analyze", "compare", path("one.csv"), "--check", path("more.csv")});
  EXPECT_THAT(alone.out, AllOf(HasSubstr("seed 1: 1 (before: 1): the same as before"),
                               HasSubstr("seed 2: 2: one run gives nothing to expect"), Not(HasSubstr("OUTSIDE"))));
  refused({"analyze", "compare"}, "CSV file");
  refused({"analyze", "compare", path("runs.csv"), "--reference", "c"}, "There are: a, b.");
}

// Accuracies with the shared weights of a supernet, as any other column: of rows of a table, and of a file's cells.
TEST_F(AnalyzeTest, RankAsksASupernet) {
  const auto space = find_space("nasbench201");
  std::string table = "index,arch,toy_test12\n", cells = "arch,guess\n";
  for (int i = 0; i < 8; ++i) {
    const std::string text = to_text(space->at(1900.0 * i + 7), "nasbench201");
    table += fmt::format("{},{},{}\n", i, text, 50 + i);
    if (i % 2 == 0) cells += fmt::format("{},{}\n", text, i);
  }
  write_file(path("toy.csv"), table);
  write_file(path("cells.csv"), cells);
  json_of({"table", "import", path("toy.csv"), "--out", path("toy.table")});
  json_of(with({"search", "--recipe", "rs-ws", "--space", "nasbench201", "--channels", "4", "--cells", "1", "--epochs",
                "1", "--threads", "1", "--out", path("supernet")},
               data()));
  const auto ranked = [&](const Words& more) {
    return json_of(with({"analyze", "rank", "--table", path("toy.table"), "--truth", "toy_test12", "--supernet",
                         path("supernet"), "--values", path("values.csv")},
                        more))["agreement"];
  };
  const auto shared_of = [&] {  // by the architecture's name
    std::map<std::string, std::string> values;
    const std::vector<CsvRow> rows = parse_csv(bytes("values.csv"), "values.csv");
    const auto& names = rows[0].fields;
    const auto place = std::find(names.begin(), names.end(), "shared_weights") - names.begin();
    for (size_t r = 1; r < rows.size(); ++r) values[rows[r].fields[0]] = rows[r].fields[place];
    return values;
  };
  const Json all = ranked({});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["estimate"], "shared_weights");
  EXPECT_EQ(all[0]["architectures"], 8);
  const auto by_name = shared_of();
  EXPECT_EQ(by_name.size(), 8u);
  for (const auto& [name, value] : by_name) {
    EXPECT_GE(std::stod(value), 0) << name;
    EXPECT_LE(std::stod(value), 100) << name;
  }
  const Json some = ranked({path("cells.csv")});
  ASSERT_EQ(some.size(), 2u);
  EXPECT_NEAR(some[0]["spearman"].get<double>(), 1, 1e-12);  // the guess
  EXPECT_EQ(some[1]["architectures"], 4);
  for (const auto& [name, value] : shared_of()) EXPECT_EQ(value, by_name.at(name)) << name;
  // Without a table, the file says which architectures there are.
  const Json alone = json_of({"analyze", "rank", path("cells.csv"), "--truth", "guess", "--supernet", path("supernet"),
                              "--values", path("values.csv")})["agreement"];
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0], [&] {
    write_file(path("known.csv"), bytes("values.csv"));
    return json_of({"analyze", "rank", path("known.csv"), "--truth", "guess"})["agreement"][0];
  }());
  EXPECT_EQ(shared_of().size(), 4u);
  for (const auto& [name, value] : shared_of()) EXPECT_EQ(value, by_name.at(name)) << name;
  // Files beside the CSV file are named from there.
  std::string files = "arch,guess\n";
  for (int i = 0; i < 8; i += 2) {
    const std::string file = fmt::format("cell{}.json", i);
    write_file(path(file), to_text(space->at(1900.0 * i + 7), "json"));
    files += fmt::format("{},{}\n", file, i);
  }
  write_file(path("files.csv"), files);
  EXPECT_EQ(json_of({"analyze", "rank", path("files.csv"), "--truth", "guess", "--supernet",
                     path("supernet")})["agreement"][0],
            alone[0]);
  // What is missing is said at once.
  const Words ask = {"--truth", "guess", "--supernet", path("supernet")};
  refused(with({"analyze", "rank"}, ask), "a CSV file with a line for each, or --table TABLE");
  refused(with({"analyze", "rank", path("cells.csv"), "--architecture", "cell"}, ask), "name it with --architecture");
  refused(with({"analyze", "rank", path("cells.csv"), "--estimates", "gess"}, ask), "There is no column 'gess'");
  refused({"analyze", "rank", path("cells.csv"), "--truth", "guess", "--estimates", "shared_weights"},
          "--supernet RUN");
  write_file(path("mixed.csv"), cells + "darts-v2,9\n");
  refused(with({"analyze", "rank", path("mixed.csv")}, ask), "a supernet has one space");
  refused({"analyze", "rank", "--table", path("toy.table"), "--truth", "toy_test12", "--supernet", path("nowhere")},
          "nowhere");
}

}  // namespace
}  // namespace nascent
