// nascent eval: scores a trained model.
#include "nascent/cli/verb.h"
#include "nascent/data/image_data.h"
#include "nascent/nn/threads.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/model.h"

namespace nascent {
namespace {

class EvalVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL"; }

  void declare(OptionTable& table) override {
    table.section("eval", "Which images are scored.")
        .add("part", part_, "part of the data set")
        .one_of({"train", "test"});
    data_.declare(table);
    table.section("run", "Where and how a run happens.")
        .add("threads", threads_, "threads that compute; 0: one per core")
        .range(0, 1024);
  }

  Json run(const Invocation& invocation) override {
    use_threads(threads_);
    Model model = load_model(invocation.argument("model file"));
    // Images are prepared as the model was trained to see them, unless told otherwise.
    if (data_.eval_transforms.empty()) data_.eval_transforms = model.eval_transforms;
    const ImageData data(data_, 0, model.statistics);
    check(model, data);
    const auto loader = part_ == "test" ? data.testing() : data.evaluation(data.all());
    const Evaluation scores = evaluate(*model.network, *loader);
    invocation.print(fmt::format("{} images: accuracy {:.2f} %, top 5 {:.2f} %, loss {:.4f}", scores.images,
                                 scores.top1, scores.top5, scores.loss));
    return scores.to_json();
  }

 private:
  static void check(const Model& model, const ImageData& data) {
    const Shape& expected = model.input;
    const Shape found = data.shape();
    if (!(found == expected)) {
      fail(
          "The model takes images of {} x {} x {} (channels, height, width); the data has {} x {} x {}. Name the data "
          "set it was "
          "trained on with --data, or set --eval-transforms.",
          expected.channels, expected.height, expected.width, found.channels, found.height, found.width);
    }
    if (data.classes() != static_cast<int>(model.class_names.size())) {
      fail("The model knows {} classes; the data has {}.", model.class_names.size(), data.classes());
    }
  }

  std::string part_ = "test";
  DataOptions data_;
  int threads_ = 0;
};

NASCENT_REGISTER(Verb, "eval", "scores a trained model", [] { return std::make_unique<EvalVerb>(); });

}  // namespace
}  // namespace nascent
