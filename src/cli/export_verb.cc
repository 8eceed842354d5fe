// nascent export: hands a trained model over in another program's format.
#include "nascent/cli/verb.h"
#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/export/export.h"
#include "nascent/nn/threads.h"

namespace nascent {
namespace {

// What eight bits should cost at most: points of accuracy, and part of the file's size.
constexpr double kMostLoss = 0.5, kMostSize = 0.3;

class ExportVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL|RUN"; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    table.section("export", "What is written.")
        .add("out", out_, "file to write; empty: beside the model, with the format's extension");
    data_.declare(table);
    table.section("run", "Where and how a run happens.")
        .add("threads", threads_, "number of compute threads; 0: one per core")
        .range(0, 1024);
  }

  Json run(const Invocation& invocation) override {
    use_threads(threads_);
    const std::string source = invocation.argument("model file or run folder");
    if (is_ensemble(source)) fail("{} is an ensemble, which no format holds. Export its members, one by one.", source);
    const Model model = load_model(source);
    const auto& facts = ExportFormat::Registry::instance().at(options_.format).facts;
    const auto path =
        out_.empty() ? model_file(source).replace_extension(facts.extension) : std::filesystem::path(out_);
    const ExportReport report = export_model(model, options_, data_, path);
    if (report.check) say(invocation, *report.check, facts.reader);
    if (report.int8) say(invocation, *report.int8, static_cast<double>(report.bytes));
    invocation.print(fmt::format("{}: {} bytes", report.path.string(), engineering(report.bytes)));
    return report.to_json();
  }

 private:
  static void say(const Invocation& invocation, const CheckReport& check, const std::string& reader) {
    invocation.print(fmt::format(
        "Checked by {} on {} {}images: logits differ by at most {:.2g}, the likeliest class agrees in {:.2f} %", reader,
        check.images, check.made_up ? "made-up " : "", check.difference, check.agreement));
  }

  static void say(const Invocation& invocation, const Int8Report& int8, double bytes) {
    const double loss = int8.top1 - int8.quantised_top1, size = bytes / int8.size;
    invocation.print(
        fmt::format("int8, calibrated on {} images: accuracy {:.2f} % where floats have {:.2f} % ({} test images), "
                    "{:.2f} times the size",
                    int8.calibrated, int8.quantised_top1, int8.top1, int8.images, size));
    if (loss > kMostLoss) {
      log::warning("Eight bits cost {:.2f} points of accuracy; more --calibrate images may help.", loss);
    }
    if (size > kMostSize) {
      log::warning("The file is {:.2f} times as large as with floats: a small network has few weights to shrink.",
                   size);
    }
  }

  ExportOptions options_;
  std::string out_;
  DataOptions data_ = unknown_data();  // without a name: the model's own
  int threads_ = 0;
};

NASCENT_REGISTER(Verb, "export", "writes a trained model as ONNX, TorchScript or safetensors",
                 [] { return std::make_unique<ExportVerb>(); });

}  // namespace
}  // namespace nascent
