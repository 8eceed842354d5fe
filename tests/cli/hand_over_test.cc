// What leaves the house: eval on a model's own data, predict, export and import, as a user runs them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "cli/program.h"
#include "data/fixtures.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/export/import_darts.h"
#include "nascent/export/pixels.h"
#include "nascent/export/quantise.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/model.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kPython = "/usr/bin/python3";

class HandOver : public ProgramTest {
 protected:
  // A tiny network trained for a moment; its folder.
  std::string trained(const std::string& out, std::vector<std::string> more) const {
    std::vector<std::string> all = {
        "train",   "--genotype", "nasbench201:4321", "--channels", "4",     "--cells", "1", "--epochs", "1",
        "--batch", "16",         "--threads",        "1",          "--out", path(out)};
    all.insert(all.end(), more.begin(), more.end());
    json_of(all);
    return path(out);
  }
  std::string clothes(const std::string& out = "clothes") const {
    return trained(out, {"--data", "fashion-mnist", "--limit", "512", "--limit-test", "200"});
  }
  std::string noise(const std::string& out = "noise") const {
    return trained(out, {"--data", "random", "--size", "48", "--shape", "3,12,12", "--classes", "4"});
  }

  // train/CLASS/ and val/CLASS/ with pictures whose brightness tells the class.
  void write_pictures(const std::string& folder, const std::vector<std::string>& classes) const {
    for (const std::string part : {"train", "val"}) {
      for (size_t c = 0; c < classes.size(); ++c) {
        for (int i = 0; i < 8; ++i) {
          const auto shade = static_cast<uint8_t>(100 * c + 5 * i);
          write_png(folder_ / folder / part / classes[c] / fmt::format("{}.png", i),
                    solid_image(12 + i, 14, shade, 255 - shade, 40));
        }
      }
    }
  }

  // Pixels of the model's test images and its own logits, for another program to repeat.
  struct Known {
    Shape shape;
    int64_t images = 0;
    at::Tensor logits, labels;
    std::string pixels;
  };
  Known known(const std::string& model_path, int images) const {
    const Model model = load_model(model_path);
    const auto loader = test_pixels(model, unknown_data(), images);
    loader->start(0);
    std::vector<at::Tensor> parts, labels;
    while (auto batch = loader->next()) {
      TensorBatch tensors = to_tensors(std::move(*batch));
      parts.push_back(tensors.images);
      labels.push_back(tensors.labels);
    }
    const at::Tensor pixels = at::cat(parts).contiguous();
    Known known{model.input, pixels.size(0), logits_of(model, pixels), at::cat(labels), path("pixels.raw")};
    EXPECT_EQ(known.images, images);
    write_file(known.pixels, {static_cast<const char*>(pixels.data_ptr()), pixels.nbytes()});
    return known;
  }
  static std::vector<std::string> sizes(const Known& known) {
    return {std::to_string(known.images), std::to_string(known.shape.channels), std::to_string(known.shape.height),
            std::to_string(known.shape.width)};
  }
  static at::Tensor logits_in(const std::string& text, int64_t images) {
    const auto values = Json::parse(text).get<std::vector<float>>();
    return at::tensor(values).view({images, -1});
  }
  static double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }
  static std::string script(const std::string& name) { return std::string(NASCENT_SOURCE) + "/tests/export/" + name; }

  at::Tensor logits_by_onnx_runtime(const std::string& runtime, const std::string& file, const Known& images) const {
    std::vector<std::string> command = {"node", script("run_onnx.js"), runtime, path(file), images.pixels};
    for (const auto& size : sizes(images)) command.push_back(size);
    const auto out = run_program(command, "", std::chrono::minutes(2));
    // Complete logits tell success: the script ends by SIGKILL.
    EXPECT_THAT(out->out, testing::EndsWith("]")) << out->err;
    return logits_in(out->out, images.images);
  }
  // What an export to int8 takes the file to compute.
  static at::Tensor quantised_logits(const std::string& model_path, const Known& images, int calibrate) {
    const Model model = load_model(model_path);
    const Graph graph = make_graph(model, /*fold=*/true);
    Calibration calibration;
    const auto loader = training_pixels(model, unknown_data(), calibrate);
    loader->start(0);
    while (auto batch = loader->next()) calibration.watch(graph, to_tensors(std::move(*batch)).images);
    const std::string raw = read_file(images.pixels);
    const at::Tensor pixels =
        at::empty({images.images, images.shape.channels, images.shape.height, images.shape.width});
    std::memcpy(pixels.data_ptr(), raw.data(), pixels.nbytes());
    return run_quantised(graph, calibration.scales(), pixels);
  }

  static bool has_python_torch() {
    const auto tried = run_program({kPython, "-c", "import torch"}, "", std::chrono::minutes(1));
    return tried && tried->exit_code == 0;
  }

  // A network in PyTorch: its weights, pixels and logits, in the test's folder.
  void write_darts_weights(const std::string& genotype, const std::string& stem = "") const {
    std::vector<std::string> command = {kPython, script("darts_network.py"), path(""),
                                        to_text(find_genotype(genotype), "darts")};
    if (!stem.empty()) command.push_back(stem);
    const auto made = run_program(command, "", std::chrono::minutes(2));
    ASSERT_EQ(made->exit_code, 0) << made->err;
  }
  // Between the logits that PyTorch gave and those of an imported model.
  double import_difference(const std::string& file) const {
    const Model model = load_model(path(file));
    const std::string raw = read_file(path("pixels.raw"));
    const at::Tensor pixels = at::empty({4, model.input.channels, model.input.height, model.input.width});
    EXPECT_EQ(raw.size(), pixels.nbytes());
    std::memcpy(pixels.data_ptr(), raw.data(), std::min(raw.size(), pixels.nbytes()));
    return difference(logits_of(model, pixels), logits_in(read_file(path("logits.json")), 4));
  }

  // The folder of ONNX Runtime, fetched once into the build folder; "" where that is not possible.
  static std::string onnx_runtime() {
    const std::filesystem::path folder = std::filesystem::path(NASCENT_BUILD) / "onnxruntime";
    if (!std::filesystem::exists(folder / "node_modules" / "onnxruntime-node")) {
      std::filesystem::create_directories(folder);
      const auto fetched = run_program({"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
                                        folder.string(), "onnxruntime-node@1.30.0"},
                                       "", std::chrono::minutes(3));
      if (!fetched || fetched->exit_code != 0) return "";
    }
    // What it prints tells: its exit is not to be trusted (run_onnx.js).
    const std::string load = fmt::format("require('{}'); process.stdout.write('loaded')",
                                         (folder / "node_modules/onnxruntime-node").string());
    const auto loaded = run_program({"node", "-e", load}, "", std::chrono::minutes(1));
    return loaded && loaded->out == "loaded" ? folder.string() : "";
  }
};

TEST_F(HandOver, EvalScoresTheModelsOwnDataAndSaysSo) {
  const Json trained_to = Json::parse(read_file(clothes() + "/result.json"));
  const Json scored = json_of({"eval", path("clothes"), "--threads", "1"});
  EXPECT_EQ(scored.at("top1"), trained_to.at("test_top1"));
  EXPECT_EQ(scored.at("images"), 200);
  EXPECT_EQ(scored.at("data").at("name"), "fashion-mnist");
  EXPECT_THAT(nascent({"eval", path("clothes/model.nascent"), "--threads", "1"}).out,
              AllOf(HasSubstr("fashion-mnist"), HasSubstr("test")));
  // The data of 'random' is made from the seed, so it too comes back.
  const Json noise_to = Json::parse(read_file(noise() + "/result.json"));
  EXPECT_EQ(json_of({"eval", path("noise"), "--threads", "1"}).at("top1"), noise_to.at("test_top1"));
}

TEST_F(HandOver, EvalRefusesWhatDoesNotFit) {
  const auto other = nascent({"eval", noise(), "--data", "fashion-mnist"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("3x12x12"), HasSubstr("1x28x28")));
  const auto folder = nascent({"eval", path("")});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.err, HasSubstr("model.nascent"));
}

TEST_F(HandOver, EvalRefusesARenamedClassAndKeepsItsTransforms) {
  write_pictures("zoo", {"cat", "dog"});
  trained("model", {"--data", "image-folder", "--path", path("zoo"), "--train-transforms", "resize 12 12",
                    "--eval-transforms", "resize 12 12", "--batch", "8"});
  EXPECT_EQ(json_of({"eval", path("model"), "--threads", "1"}).at("images"), 16);
  for (const std::string part : {"train", "val"}) {
    std::filesystem::rename(folder_ / "zoo" / part / "cat", folder_ / "zoo" / part / "zebra");
  }
  const auto refused = nascent({"eval", path("model")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("'cat'"), HasSubstr("'dog'")));
}

TEST_F(HandOver, PredictLabelsEveryKindOfPicture) {
  const std::string model = clothes();
  write_png(folder_ / "pictures" / "a.png", solid_image(60, 40, 10, 200, 30));
  write_jpeg(folder_ / "pictures" / "b.jpg", solid_image(28, 28, 250, 250, 250));
  const Json labelled = json_of({"predict", model, path("pictures"), "--top", "3", "--threads", "1"});
  ASSERT_EQ(labelled.size(), 2U);
  EXPECT_EQ(labelled[0].at("picture"), path("pictures/a.png"));
  EXPECT_EQ(labelled[0].at("predictions").size(), 3U);
  double sum = 0;
  const Json every = json_of({"predict", model, path("pictures/a.png"), "--top", "99", "--threads", "1"});
  for (const auto& guess : every[0].at("predictions")) {
    sum += guess.at("probability").get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-5);

  // Records: as many right as eval counts.
  const Json all = json_of({"predict", model, "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz", "--top",
                            "1", "--threads", "1"});
  const std::string labels = read_maybe_gzip("/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz").substr(8);
  const std::vector<std::string> names = load_model(model).class_names;
  int right = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    right += all[i].at("predictions")[0].at("class") == names[labels[i]] ? 1 : 0;
  }
  const Json scored = json_of({"eval", model, "--limit-test", "10000", "--threads", "1"});
  EXPECT_EQ(all.size(), 10000U);
  EXPECT_NEAR(right / 100.0, scored.at("top1").get<double>(), 1e-9);
}

// Every member sees each picture prepared in its own way; what is told is the mean of their probabilities.
TEST_F(HandOver, PredictAndEvalTakeAnEnsemble) {
  const std::vector<std::string> data = {"--data", "random", "--size", "48", "--shape", "3,12,12", "--classes", "4"};
  EnsembleModel both;
  for (const std::string seed : {"1", "2"}) {
    std::vector<std::string> options = data;
    options.insert(options.end(), {"--seed", seed});
    both.members.push_back(load_model(trained("member-" + seed, options)));
  }
  both.members[1].data_seed = both.members[0].data_seed;  // the same made-up images
  save_ensemble(both, path("ensemble.nascent"));
  write_png(folder_ / "a.png", solid_image(12, 12, 200, 20, 3));
  const auto probabilities = [&](const std::string& model) {
    std::map<std::string, double> found;
    const Json labelled = json_of({"predict", path(model), path("a.png")});
    for (const auto& guess : labelled[0].at("predictions")) found[guess.at("class")] = guess.at("probability");
    return found;
  };
  auto first = probabilities("member-1"), second = probabilities("member-2"), mean = probabilities("ensemble.nascent");
  ASSERT_EQ(mean.size(), 4U);
  for (const auto& [name, probability] : mean) EXPECT_NEAR(probability, (first[name] + second[name]) / 2, 1e-6) << name;
  EXPECT_NE(first, second);
  const Json scored = json_of({"eval", path("ensemble.nascent"), "--threads", "1"});
  EXPECT_EQ(scored.at("images"), json_of({"eval", path("member-1"), "--threads", "1"}).at("images"));
  EXPECT_EQ(scored.at("data").at("name"), "random");
  const auto whole = nascent({"export", path("ensemble.nascent")});
  EXPECT_EQ(whole.exit_code, 2);
  EXPECT_THAT(whole.err, HasSubstr("members"));
}

TEST_F(HandOver, PredictPrintsTablesCsvAndJsonLines) {
  const std::string model = noise();
  write_png(folder_ / "a,b.png", solid_image(12, 12, 1, 2, 3));
  EXPECT_THAT(nascent({"predict", model, path("a,b.png")}).out, AllOf(HasSubstr("class "), HasSubstr(" %")));
  EXPECT_THAT(nascent({"predict", model, path("a,b.png"), "--form", "csv", "--top", "1"}).out,
              AllOf(testing::StartsWith("picture,rank,class,probability\n\""), HasSubstr("a,b.png\",1,class ")));
  const std::string lines = nascent({"predict", model, path("a,b.png"), path("a,b.png"), "--form", "jsonl"}).out;
  EXPECT_EQ(Json::parse(lines.substr(0, lines.find('\n'))).at("predictions").size(), 4U);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

TEST_F(HandOver, PredictReadsCifarRecordsAndStandardInput) {
  const std::string model = noise();
  std::string records;
  for (int i = 0; i < 2; ++i) records += std::string(1, '\7') + std::string(3072, static_cast<char>(40 * i));
  write_file(path("batch.bin"), records);
  EXPECT_EQ(json_of({"predict", model, path("batch.bin")})[1].at("picture"), path("batch.bin") + "#1");
  write_png(folder_ / "a.png", solid_image(12, 12, 1, 2, 3));
  const Json named = json_of({"predict", model, path("a.png")});
  for (const std::string& input : {path("a.png") + "\n", read_file(path("a.png"))}) {
    const auto piped = run_program({NASCENT_PROGRAM, "predict", model, "-", "--json"}, input, std::chrono::minutes(1));
    ASSERT_EQ(piped->exit_code, 0) << piped->err;
    EXPECT_EQ(Json::parse(piped->out)[0].at("predictions"), named[0].at("predictions"));
  }
}

TEST_F(HandOver, PredictNamesWhatItCannotReadAndGoesOn) {
  const std::string model = noise();
  write_png(folder_ / "a.png", solid_image(12, 12, 1, 2, 3));
  write_file(path("torn.png"), read_file(path("a.png")).substr(0, 40));
  write_file(path("text.txt"), "hello");
  const auto result = nascent(
      {"predict", model, path("torn.png"), path("a.png"), path("nothere.jpg"), path("text.txt"), "--form", "jsonl"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("torn.png"), HasSubstr("nothere.jpg"), HasSubstr("text.txt"), HasSubstr("3 of 4")));
  EXPECT_THAT(result.out, HasSubstr("\"predictions\""));
  EXPECT_EQ(nascent({"predict", model, path("text.txt")}).exit_code, 2);
  EXPECT_EQ(nascent({"predict", model}).exit_code, 2);
}

TEST_F(HandOver, ModelsOfNewerFormatsAndTornFilesAreRefusedEverywhere) {
  const std::string model = noise() + "/model.nascent";
  State state = load_state(model);
  state.values["model"]["version"] = 99;
  save_state(state, path("newer.nascent"));
  write_file(path("torn.nascent"), read_file(model).substr(0, 3000));
  write_png(folder_ / "a.png", solid_image(12, 12, 1, 2, 3));
  for (const std::string bad : {"newer.nascent", "torn.nascent"}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"eval", path(bad)}, {"predict", path(bad), path("a.png")}, {"export", path(bad)}}) {
      const auto result = nascent(command);
      EXPECT_EQ(result.exit_code, 2) << command[0] << " " << bad;
      EXPECT_THAT(result.err, HasSubstr(bad));
    }
  }
  const auto unknown = nascent({"export", model, "--format", "tflite"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("safetensors"));
}

#if defined(NASCENT_TEST_ONNX)
TEST_F(HandOver, OnnxAgreesWithOnnxRuntimeImageByImage) {
  const std::string model = clothes();
  const Json report =
      json_of({"export", model, "--check", "--images", "64", "--threads", "1", "--out", path("a.onnx")});
  EXPECT_EQ(report.at("check").at("agreement"), 100);
  EXPECT_FALSE(report.at("check").at("made_up").get<bool>());
  json_of({"export", model, "--threads", "1", "--out", path("b.onnx")});
  EXPECT_TRUE(read_file(path("a.onnx")) == read_file(path("b.onnx")));
  const std::string runtime = onnx_runtime();
  if (runtime.empty()) GTEST_SKIP() << "ONNX Runtime (npm's onnxruntime-node) could not be fetched: not compared";
  const Known images = known(model, 100);
  const at::Tensor found = logits_by_onnx_runtime(runtime, "a.onnx", images);
  EXPECT_LE(difference(found, images.logits), 1e-4);
  EXPECT_TRUE(found.argmax(1).equal(images.logits.argmax(1)));
}

// Integer kernels compute what the export said they would, and the same classes as floats. Separable convolutions:
// their weights are spread so widely that kernels of 16 bits would show.
TEST_F(HandOver, Int8AgreesWithOnnxRuntime) {
  const std::string runtime = onnx_runtime();
  if (runtime.empty()) GTEST_SKIP() << "ONNX Runtime (npm's onnxruntime-node) could not be fetched: not compared";
  const std::string model = path("darts");
  json_of({"train",         "--genotype", "darts-v2", "--channels",   "8",         "--cells", "3",
           "--epochs",      "1",          "--batch",  "16",           "--threads", "1",       "--data",
           "fashion-mnist", "--limit",    "1024",     "--limit-test", "200",       "--out",   model});
  const Json eight =
      json_of({"export", model, "--int8", "--calibrate", "128", "--threads", "1", "--out", path("8.onnx")});
  EXPECT_EQ(eight.at("int8").at("calibrated"), 128);
  const Known images = known(model, 200);
  const at::Tensor found = logits_by_onnx_runtime(runtime, "8.onnx", images);
  const at::Tensor expected = quantised_logits(model, images, 128);
  const double spread = (expected - expected.mean(0)).abs().max().item<double>();
  EXPECT_LE((found - expected).abs().mean().item<double>(), 0.02 * spread);
  EXPECT_LE(difference(found, expected), 0.2 * spread) << "of " << spread;
  const auto right = [&](const at::Tensor& logits) { return count_top(logits, images.labels, 1); };
  EXPECT_NEAR(static_cast<double>(right(found)), static_cast<double>(right(images.logits)), 0.02 * 200);
}
#endif

TEST_F(HandOver, TorchscriptLoadsInPython) {
  const std::string model = clothes();
  json_of({"export", model, "--format", "torchscript", "--check", "--threads", "1", "--out", path("a.pt")});
  json_of({"export", model, "--format", "torchscript", "--threads", "1", "--out", path("b.pt")});
  EXPECT_TRUE(read_file(path("a.pt")) == read_file(path("b.pt")));
  if (!has_python_torch()) GTEST_SKIP() << "python3-torch is not installed: torch.jit.load was not tried in Python";
  const Known images = known(model, 50);
  std::vector<std::string> command = {kPython, script("run_torchscript.py"), path("a.pt"), images.pixels};
  for (const auto& size : sizes(images)) command.push_back(size);
  const auto out = run_program(command, "", std::chrono::minutes(2));
  ASSERT_EQ(out->exit_code, 0) << out->err;
  EXPECT_LE(difference(logits_in(out->out, images.images), images.logits), 1e-5);
}

TEST_F(HandOver, ImportedDartsWeightsGiveTheLogitsOfPython) {
  if (!has_python_torch()) GTEST_SKIP() << "python3-torch is not installed: there are no weights to import";
  write_darts_weights("darts-v2");
  json_of({"import", path("weights.pt"), "--genotype", "darts-v2", "--out", path("a.nascent")});
  json_of({"import", path("wrapped.pt"), "--genotype", "darts-v2", "--out", path("b.nascent")});
  EXPECT_TRUE(read_file(path("a.nascent")) == read_file(path("b.nascent")));
  EXPECT_LE(import_difference("a.nascent"), 1e-4);

  const auto other = nascent({"import", path("weights.pt"), "--genotype", "darts-v1"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("genotype"));
  write_file(path("torn.pt"), read_file(path("weights.pt")).substr(0, 5000));
  EXPECT_EQ(nascent({"import", path("torn.pt"), "--genotype", "darts-v2"}).exit_code, 2);
  write_file(path("text.pt"), "hello");
  EXPECT_EQ(nascent({"import", path("text.pt"), "--genotype", "darts-v2"}).exit_code, 2);
}

TEST_F(HandOver, ImportedWeightsOfPcDartsAndOfImagenetNetworks) {
  if (!has_python_torch()) GTEST_SKIP() << "python3-torch is not installed: there are no weights to import";
  const std::string pc_darts =
      "Genotype(normal=[('sep_conv_3x3', 1), ('skip_connect', 0), ('sep_conv_3x3', 0), ('dil_conv_3x3', 1), "
      "('sep_conv_5x5', 0), ('sep_conv_3x3', 1), ('avg_pool_3x3', 0), ('dil_conv_3x3', 1)], normal_concat=range(2, 6), "
      "reduce=[('sep_conv_5x5', 1), ('max_pool_3x3', 0), ('sep_conv_5x5', 1), ('sep_conv_5x5', 2), "
      "('sep_conv_3x3', 0), ('sep_conv_3x3', 3), ('sep_conv_3x3', 1), ('sep_conv_3x3', 2)], reduce_concat=range(2, 6))";
  write_darts_weights(pc_darts);
  json_of({"import", path("weights.pt"), "--genotype", pc_darts, "--out", path("a.nascent")});
  EXPECT_LE(import_difference("a.nascent"), 1e-4);
  write_darts_weights(pc_darts, "imagenet");
  json_of({"import", path("weights.pt"), "--genotype", pc_darts, "--side", "64", "--out", path("b.nascent")});
  EXPECT_LE(import_difference("b.nascent"), 1e-4);
}

TEST_F(HandOver, RunsAreListedComparedAndRemoved) {
  for (const std::string seed : {"1", "2", "3"}) {
    trained("runs/a-" + seed,
            {"--data", "random", "--size", "48", "--shape", "3,12,12", "--classes", "4", "--seed", seed});
    trained("runs/b-" + seed, {"--data", "random", "--size", "48", "--shape", "3,12,12", "--classes", "4", "--seed",
                               seed, "--lr", "0.5"});
  }
  const Json runs = json_of({"runs", path("runs")});
  ASSERT_EQ(runs.at("runs").size(), 6U);
  EXPECT_EQ(runs.at("runs")[0].at("state"), "done");
  EXPECT_EQ(json_of({"runs", path("runs"), "--match", "b-", "--state", "done"}).at("runs").size(), 3U);

  std::vector<std::string> command = {"compare"};
  for (const std::string name : {"a-1", "a-2", "a-3", "b-1", "b-2", "b-3"}) command.push_back(path("runs/" + name));
  command.insert(command.end(), {"--page", path("page.html")});
  const Json compared = json_of(command);
  EXPECT_TRUE(compared.at("options").contains("train.lr"));
  EXPECT_FALSE(compared.at("options").contains("run.out"));
  ASSERT_EQ(compared.at("groups").size(), 2U);
  EXPECT_EQ(compared.at("groups")[0].at("seeds"), Json({1, 2, 3}));
  ASSERT_EQ(compared.at("pairs").size(), 1U);
  EXPECT_EQ(compared.at("pairs")[0].at("pairs"), 3);
  EXPECT_THAT(read_file(path("page.html")), AllOf(HasSubstr("<svg"), HasSubstr("train.lr")));
  EXPECT_THAT(nascent(command).out, AllOf(HasSubstr("train.lr"), HasSubstr("±"), HasSubstr("p = ")));

  // A run that was killed.
  Json info = Json::parse(read_file(path("runs/b-3/run.json")));
  info["status"] = "running";
  write_file(path("runs/b-3/run.json"), info.dump());
  const auto asked = nascent({"runs", path("runs"), "--rm"});
  EXPECT_EQ(asked.exit_code, 2) << "there is nobody to ask";
  EXPECT_TRUE(std::filesystem::exists(path("runs/b-3/run.json")));
  EXPECT_EQ(json_of({"runs", path("runs"), "--rm", "--yes"}).at("removed").size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(path("runs/b-3")));
  EXPECT_EQ(json_of({"runs", path("runs")}).at("runs").size(), 5U);
  EXPECT_EQ(nascent({"runs", path("nothere")}).exit_code, 2);
  EXPECT_EQ(nascent({"compare", path("runs/a-1")}).exit_code, 2);
}

}  // namespace
}  // namespace nascent
