#include "nascent/export/export.h"

#include <ATen/ATen.h>

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/export/pixels.h"
#include "nascent/train/evaluate.h"

namespace nascent {
namespace {

at::Tensor all_images(Loader& loader) {
  std::vector<at::Tensor> batches;
  loader.start(0);
  while (auto batch = loader.next()) batches.push_back(to_tensors(std::move(*batch)).images.contiguous());
  return at::cat(batches);
}

// Where the data is not there, made-up images check the arithmetic just as well.
std::pair<at::Tensor, bool> check_pixels(const Model& model, const ExportOptions& options, const DataOptions& data) {
  if (data.name.empty() && model.data.name.empty()) return {random_pixels(model.input, options.images), true};
  try {
    return {all_images(*test_pixels(model, data, options.images)), false};
  } catch (const Error& error) {
    if (!data.name.empty()) throw;
    log::warning("The model's data is not used for the check, but made-up images: {}", error.what());
    return {random_pixels(model.input, options.images), true};
  }
}

Quantisation calibrated(const Model& model, const Graph& graph, const ExportOptions& options, const DataOptions& data,
                        Int8Report& report) {
  const auto loader = training_pixels(model, data, options.calibrate);
  Calibration calibration;
  loader->start(0);
  while (auto batch = loader->next()) {
    report.calibrated += batch->size;
    calibration.watch(graph, to_tensors(std::move(*batch)).images);
  }
  return calibration.scales();
}

// Both networks on the same test images.
void score(const Model& model, const Graph& graph, const Quantisation& quantisation, const DataOptions& data,
           Int8Report& report) {
  constexpr int kImages = 2000;
  const auto loader = test_pixels(model, data, kImages);
  int64_t right = 0, quantised_right = 0;
  if (data.limit_test == 0)
    log::info("Scoring the 8-bit network on up to {} test images; --limit-test N takes fewer.", kImages);
  loader->start(0);
  while (auto batch = loader->next()) {
    const TensorBatch tensors = to_tensors(std::move(*batch));
    report.images += tensors.labels.size(0);
    // The floats by the model itself, which is quicker than its graph and the same.
    right += count_top(logits_of(model, tensors.images), tensors.labels, 1);
    quantised_right += count_top(run_quantised(graph, quantisation, tensors.images), tensors.labels, 1);
  }
  report.top1 = 100.0 * static_cast<double>(right) / static_cast<double>(report.images);
  report.quantised_top1 = 100.0 * static_cast<double>(quantised_right) / static_cast<double>(report.images);
}

void require(const CheckReport& check, const std::string& reader) {
  if (check.passed()) return;
  fail(
      "The exported network is not the model's: {} gives logits that differ by {:.3g}; at most {:.3g} was expected "
      "({:.1f} % of {} images have the same likeliest class). The file is not written.",
      reader, check.difference, check.tolerance, check.agreement, check.images);
}

}  // namespace

void ExportOptions::declare(OptionTable& table) {
  auto section = table.section("export", "What is written.");
  section.add("format", format, "file format").one_of(ExportFormat::Registry::instance().names());
  section.add("fold", fold, "fold batch norms into the preceding convolutions");
  section.add("check", check, "run images through an independent runtime and compare the logits");
  section.add("images", images, "number of images for --check").range(1, 1000000);
  section.add("int8", int8, "ONNX: quantise weights and activations to 8 bits (quantise/dequantise nodes)");
  section.add("calibrate", calibrate, "training images used to calibrate the 8-bit activations").range(1, 1000000);
}

CheckReport check_export(const ExportFormat& format, double tolerance, const std::string& bytes, const Model& model,
                         const at::Tensor& pixels) {
  const at::Tensor expected = logits_of(model, pixels), found = format.run(bytes, model, pixels);
  if (found.sizes() != expected.sizes()) {
    fail("The exported network gives a tensor of [{}]; expected [{}].", fmt::join(found.sizes(), ", "),
         fmt::join(expected.sizes(), ", "));
  }
  CheckReport report{.images = pixels.size(0), .tolerance = tolerance};
  report.difference = (found - expected).abs().max().item<double>();
  if (!std::isfinite(report.difference)) report.difference = INFINITY;
  // Logits far from 1 carry fewer digits behind the point.
  report.tolerance = tolerance * std::max(1.0, expected.abs().max().item<double>());
  report.agreement = 100 * found.argmax(1).eq(expected.argmax(1)).to(at::kDouble).mean().item<double>();
  return report;
}

Json ExportReport::to_json() const {
  Json json = {{"file", path.string()}, {"bytes", bytes}};
  if (check) {
    json["check"] = {{"images", check->images},
                     {"made_up", check->made_up},
                     {"difference", check->difference},
                     {"tolerance", check->tolerance},
                     {"agreement", check->agreement}};
  }
  if (int8) {
    json["int8"] = {{"calibrated", int8->calibrated},
                    {"images", int8->images},
                    {"top1", int8->top1},
                    {"quantised_top1", int8->quantised_top1},
                    {"size_ratio", static_cast<double>(bytes) / int8->size}};
  }
  return json;
}

ExportReport export_model(const Model& model, const ExportOptions& options, const DataOptions& data,
                          const std::filesystem::path& path) {
  const auto& entry = ExportFormat::Registry::instance().at(options.format);
  const auto format = entry.make();
  if (options.int8 && !entry.facts.has_int8)
    fail("--int8: the format '{}' has no 8-bit form; use onnx.", options.format);
  FormatRequest request{.fold = options.fold};
  std::string bytes = format->write(model, request);
  ExportReport report{.path = path};
  // The check is of the floats: eight bits differ by more than a check allows, and are scored instead.
  if (options.check) {
    const auto [pixels, made_up] = check_pixels(model, options, data);
    report.check = check_export(*format, entry.facts.tolerance, bytes, model, pixels);
    report.check->made_up = made_up;
    require(*report.check, entry.facts.reader);
  }
  if (options.int8) {
    report.int8 = Int8Report{.size = static_cast<double>(bytes.size())};
    const Graph graph = make_graph(model, /*fold=*/true);
    const Quantisation quantisation = calibrated(model, graph, options, data, *report.int8);
    score(model, graph, quantisation, data, *report.int8);
    request.quantisation = &quantisation;
    bytes = format->write(model, request);
  }
  report.bytes = static_cast<int64_t>(bytes.size());
  write_file(path, bytes);
  return report;
}

}  // namespace nascent
