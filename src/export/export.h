// Hands a trained model over in another program's format, and checks that it is still the same network.
//
//   const ExportReport report = export_model(load_model("runs/train-1"), {.format = "onnx", .check = true}, {},
//   "net.onnx");
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "nascent/export/export_format.h"

namespace nascent {

struct ExportOptions {
  std::string format = "onnx";
  bool fold = true;
  bool check = false;
  int images = 64;  // of a check
  bool int8 = false;
  int calibrate = 256;  // images that set the scales of activations
  void declare(OptionTable& table);
};

// What an independent reader made of the file.
struct CheckReport {
  int64_t images = 0;
  bool made_up = false;                  // random pixels, as the data was not there
  double difference = 0, tolerance = 0;  // of logits, the largest, and what is accepted
  double agreement = 0;                  // of the likeliest class, in per cent
  bool passed() const { return difference <= tolerance; }
};

// What eight bits cost.
struct Int8Report {
  int64_t calibrated = 0, images = 0;
  double top1 = 0, quantised_top1 = 0;  // in per cent, on test images
  double size = 0;                      // of the float file
};

struct ExportReport {
  std::filesystem::path path{};
  int64_t bytes = 0;
  std::optional<CheckReport> check{};
  std::optional<Int8Report> int8{};
  Json to_json() const;
};

// Writes the file. `data` names the images of --check and --int8; without a name they are of the model's own data. A
// check that fails is an Error, and the file is then not written.
ExportReport export_model(const Model& model, const ExportOptions& options, const DataOptions& data,
                          const std::filesystem::path& path);

CheckReport check_export(const ExportFormat& format, double tolerance, const std::string& bytes, const Model& model,
                         const at::Tensor& pixels);

}  // namespace nascent
