// The format "onnx": for ONNX Runtime, OpenCV and whatever else reads it. Checked by OpenCV's dnn module.
#include "nascent/core/error.h"
#include "nascent/export/export_format.h"
#include "nascent/export/onnx_writer.h"

#ifdef NASCENT_HAS_OPENCV
#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>

#include <opencv2/dnn.hpp>
#endif

namespace nascent {
namespace {

#ifdef NASCENT_HAS_OPENCV
at::Tensor run_opencv(const std::string& bytes, const at::Tensor& pixels) {
  try {
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    const at::Tensor dense = pixels.contiguous();
    const std::vector<int> sides(dense.sizes().begin(), dense.sizes().end());
    cv::setNumThreads(at::get_num_threads());
    net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    net.setInput(cv::Mat(sides, CV_32F, dense.data_ptr()));
    cv::Mat logits = net.forward();
    return at::from_blob(logits.data, {logits.size[0], logits.size[1]}, at::kFloat).clone();
  } catch (const cv::Exception& error) {
    fail("OpenCV cannot run the ONNX file: {}", error.what());
  }
}
#endif

class OnnxFormat : public ExportFormat {
 public:
  std::string write([[maybe_unused]] const Model& model, [[maybe_unused]] const FormatRequest& request) const override {
#ifdef NASCENT_HAS_ONNX
    // Quantised layers hold their batch norms: the checks' figures would otherwise be of another network.
    return write_onnx(make_graph(model, request.fold || request.quantisation), request.quantisation,
                      metadata_of(model));
#else
    fail(
        "This program was built without ONNX. Install libonnx-dev and libprotobuf-dev (scripts/setup does) and build "
        "it again; --format torchscript and safetensors work without.");
#endif
  }

  at::Tensor run([[maybe_unused]] const std::string& bytes, const Model&,
                 [[maybe_unused]] const at::Tensor& pixels) const override {
#ifdef NASCENT_HAS_OPENCV
    return run_opencv(bytes, pixels);
#else
    fail(
        "This program was built without OpenCV, which --check runs ONNX files by. Install libopencv-dnn-dev "
        "(scripts/setup does) and build it again.");
#endif
  }
};

NASCENT_REGISTER(
    ExportFormat, "onnx", "for ONNX Runtime, OpenCV and others; also in int8",
    [] { return std::make_unique<OnnxFormat>(); },
    FormatFacts{.extension = ".onnx", .reader = "OpenCV's dnn module", .tolerance = 1e-4, .has_int8 = true});

}  // namespace

std::string export_libraries() { return NASCENT_OPTIONAL; }

}  // namespace nascent
