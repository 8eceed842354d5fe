#include "nascent/export/export.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "export/samples.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/export/onnx_writer.h"
#include "nascent/export/pixels.h"
#include "nascent/export/safetensors.h"
#include "nascent/run/subprocess.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using testing_export::random_models;
using testing_export::Sample;
using testing_export::shipped_models;
using testing_export::small_model;

double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

std::unique_ptr<ExportFormat> format(const std::string& name) { return ExportFormat::Registry::instance().make(name); }

// Bytes of the first weight of the network's stem, as they stand in a file of floats.
std::string bytes_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().contiguous();
  return {static_cast<const char*>(dense.data_ptr()), dense.nbytes()};
}

TEST(Graph, IsTheNetworkOfEverySpace) {
  for (const auto& [what, model] : random_models()) {
    const at::Tensor pixels = random_pixels(model.input, 3), expected = logits_of(model, pixels);
    EXPECT_GT(expected.abs().max().item<double>(), 1e-3) << what;
    EXPECT_LE(difference(run(make_graph(model, true), pixels), expected), 1e-4) << what;
    EXPECT_LE(difference(run(make_graph(model, false), pixels), expected), 1e-4) << what;
  }
}

TEST(Graph, FoldsEveryBatchNormThatFollowsAConvolution) {
  const auto norms = [](const Graph& graph) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [](const GraphNode& node) { return node.op == GraphOp::batch_norm; });
  };
  EXPECT_GT(norms(make_graph(small_model(), false)), 3);
  EXPECT_EQ(norms(make_graph(small_model(), true)), 1) << "that of the head follows no convolution";
}

TEST(Graph, OfACellOfZerosAndOfASupernet) {
  const Model zeros = testing_export::sample_model(
      "nasbench201", find_genotype("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"), {3, 9, 9});
  const at::Tensor pixels = random_pixels(zeros.input, 2);
  EXPECT_LE(difference(run(make_graph(zeros, true), pixels), logits_of(zeros, pixels)), 1e-5);
  Model super = small_model();
  super.network = std::make_shared<Network>(
      plan_supernet(*find_space("nasbench201"), {.channels = 4, .cells = 1}, {3, 16, 16}, 5), 1);
  EXPECT_THAT([&] { make_graph(super, true); }, ThrowsMessage<Error>(HasSubstr("supernet")));
}

TEST(Normalisation, OfTheTransformsComesBeforeThatOfTheData) {
  Model model = small_model();
  model.eval_transforms = {"normalise 0.5 0.25"};
  const at::Tensor pixels = random_pixels(model.input, 2);
  const at::Tensor expected = model.network->forward((pixels - 0.5) / 0.25).logits;
  EXPECT_LE(difference(run(make_graph(model, true), pixels), expected), 1e-5);
}

#if defined(NASCENT_TEST_ONNX)
// Every shipped genotype and random cells of every space on all kinds of images, with and without batch norms.
std::vector<Sample> onnx_samples() {
  auto samples = random_models({{1, 28, 28}, {3, 28, 28}, {1, 32, 32}, {3, 32, 32}, {1, 33, 33}, {3, 33, 33}});
  for (auto& sample : shipped_models()) samples.push_back(std::move(sample));
  return samples;
}

TEST(Onnx, IsRunByOpenCvToTheSameLogitsAndPassesTheFullCheckInPython) {
  TemporaryFolder folder;
  std::vector<std::string> check = {
      "/usr/bin/python3", "-c",
      "import sys, onnx\nfor path in sys.argv[1:]: onnx.checker.check_model(path, full_check=True)"};
  bool fold = true;
  for (const auto& [what, model] : onnx_samples()) {
    const std::string bytes = format("onnx")->write(model, {.fold = fold});
    const CheckReport report = check_export(*format("onnx"), 1e-4, bytes, model, random_pixels(model.input, 2));
    EXPECT_TRUE(report.passed()) << what << ": " << report.difference << " of " << report.tolerance;
    EXPECT_EQ(report.agreement, 100) << what;
    fold = !fold;
    check.push_back((folder / fmt::format("{}.onnx", check.size())).string());
    write_file(check.back(), bytes);
  }
  const auto python = run_program({check[0], "-c", "import onnx"}, "");
  if (!python || python->exit_code != 0) GTEST_SKIP() << "python3-onnx is not installed: its checker was not asked";
  const auto checked = run_program(check, "", std::chrono::minutes(2));
  EXPECT_EQ(checked->exit_code, 0) << checked->err;
}

TEST(Onnx, ADamagedWeightFailsTheCheck) {
  const Model model = small_model();
  std::string bytes = format("onnx")->write(model, {.fold = false});
  at::Tensor weight;
  for (const auto& [name, tensor] : weights_of(*model.network)) {
    if (name == "stem0.0.weight") weight = tensor;
  }
  const size_t place = bytes.find(bytes_of(weight));
  ASSERT_NE(place, std::string::npos) << "weights stand in the file byte by byte";
  const at::Tensor pixels = random_pixels(model.input, 2);
  EXPECT_TRUE(check_export(*format("onnx"), 1e-4, bytes, model, pixels).passed());
  bytes[place + 3] = static_cast<char>(bytes[place + 3] ^ 0x80);  // one sign
  EXPECT_FALSE(check_export(*format("onnx"), 1e-4, bytes, model, pixels).passed());
  EXPECT_THAT([&] { format("onnx")->run(bytes.substr(0, 100), model, pixels); }, testing::Throws<Error>());
}

TEST(Onnx, Int8IsSmallAndClose) {
  Model model = testing_export::sample_model("darts", find_genotype("darts-v2"), {3, 16, 16}, {.channels = 16});
  const Graph graph = make_graph(model, true);
  const at::Tensor pixels = random_pixels(model.input, 16), expected = logits_of(model, pixels);
  Calibration calibration;
  calibration.watch(graph, pixels);
  const Quantisation scales = calibration.scales();
  const at::Tensor found = run_quantised(graph, scales, pixels);
  const double spread = (expected - expected.mean(0)).abs().max().item<double>();
  EXPECT_LE(difference(found, expected), 0.2 * spread);
  EXPECT_GT(difference(found, expected), 0);
  const std::string floats = format("onnx")->write(model, {});
  const std::string eight = format("onnx")->write(model, {.quantisation = &scales});
  EXPECT_LT(eight.size(), floats.size());
}
#endif

TEST(Quantise, WeightsComeBackWithinHalfAStepOfEachChannel) {
  const at::Tensor weight =
      at::stack({at::linspace(-1, 1, 9), at::linspace(-100, 50, 9), at::zeros({9})}).view({3, 1, 3, 3});
  const auto [stored, scale] = quantise_weight(weight);
  EXPECT_EQ(stored.scalar_type(), at::kByte);
  EXPECT_EQ(stored.amax().item<int>(), 255);
  EXPECT_EQ(stored.amin().item<int>(), 1);
  const at::Tensor back = (stored.to(at::kFloat) - kWeightZero) * scale.view({3, 1, 1, 1});
  EXPECT_TRUE(((back - weight).abs() <= 0.5001 * scale.view({3, 1, 1, 1})).all().item<bool>());
}

TEST(Torchscript, GivesTheSameLogitsAfterLoading) {
  for (const auto& [what, model] : random_models()) {
    const std::string bytes = format("torchscript")->write(model, {});
    const CheckReport check = check_export(*format("torchscript"), 1e-5, bytes, model, random_pixels(model.input, 5));
    EXPECT_TRUE(check.passed()) << what << ": " << check.difference;
  }
}

TEST(Safetensors, HoldsTheWeightsByteByByte) {
  const Model model = small_model();
  const std::string bytes = format("safetensors")->write(model, {});
  const Safetensors back = read_safetensors(bytes, "file");
  EXPECT_EQ(back.tensors.size(), weights_of(*model.network).size());
  for (const auto& [name, tensor] : weights_of(*model.network)) {
    EXPECT_EQ(bytes_of(back.tensors.at(name)), bytes_of(tensor)) << name;
    EXPECT_NE(bytes.find(bytes_of(tensor)), std::string::npos) << name;
  }
  EXPECT_EQ(Json::parse(back.metadata.at("class_names")).at(1), "sort 1");
  EXPECT_EQ(check_export(*format("safetensors"), 0, bytes, model, random_pixels(model.input, 2)).difference, 0);
}

TEST(Safetensors, DamagedFilesAreRefused) {
  const std::string good = format("safetensors")->write(small_model(), {});
  for (const size_t length : {size_t{0}, size_t{5}, size_t{100}, good.size() - 1}) {
    EXPECT_THROW(read_safetensors(good.substr(0, length), "cut"), Error) << length;
  }
  std::string wild = good;
  wild[7] = '\x7f';
  EXPECT_THROW(read_safetensors(wild, "wild"), Error);
  const std::string header = R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})";
  std::string huge(8, '\0');
  huge[0] = static_cast<char>(header.size());
  EXPECT_THROW(read_safetensors(huge + header, "huge"), Error);
}

TEST(ExportFormat, TheSameModelGivesTheSameBytes) {
  for (const auto& name : ExportFormat::Registry::instance().names()) {
#if !defined(NASCENT_TEST_ONNX)
    if (name == "onnx") continue;
#endif
    EXPECT_TRUE(format(name)->write(small_model(), {}) == format(name)->write(small_model(), {})) << name;
  }
}

TEST(ExportPixels, AreNoMoreThanWereAskedFor) {
  DataOptions data;
  data.name = "random";
  data.shape = {3, 16, 16};
  data.size = 40;
  data.classes = 5;
  const auto images = [&](int asked, int most) {
    data.limit_test = asked;
    const auto loader = test_pixels(small_model(), data, most);
    int64_t count = 0;
    loader->start(0);
    while (auto batch = loader->next()) count += batch->size;
    return count;
  };
  EXPECT_EQ(images(0, 30), 30);
  EXPECT_EQ(images(7, 30), 7) << "--limit-test";
  EXPECT_EQ(images(35, 30), 30);
}

TEST(ExportModel, UnknownFormatsAndWrongFormsAreRefused) {
  EXPECT_THAT([&] { export_model(small_model(), {.format = "onyx"}, {}, "x"); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("onyx"), HasSubstr("safetensors"))));
  EXPECT_THAT([&] { export_model(small_model(), {.format = "safetensors", .int8 = true}, {}, "x"); },
              ThrowsMessage<Error>(HasSubstr("use onnx")));
}

TEST(ExportModel, ChecksOnMadeUpImagesWhereTheDataIsUnknown) {
  const auto path = std::filesystem::temp_directory_path() / ("nascent-export-" + std::to_string(::getpid()));
  const ExportReport report =
      export_model(small_model(), {.format = "torchscript", .check = true, .images = 3}, unknown_data(), path);
  EXPECT_TRUE(report.check->made_up);
  EXPECT_EQ(report.check->images, 3);
  EXPECT_EQ(static_cast<int64_t>(read_file(path).size()), report.bytes);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace nascent
