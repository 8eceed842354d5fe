// nascent eval: scores a trained model, or an ensemble of them.
#include "nascent/cli/verb.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/ensemble/ensemble_evaluation.h"
#include "nascent/run/judgement_section.h"
#include "nascent/train/model_evaluation.h"

namespace nascent {
namespace {

class EvalVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL|RUN"; }
  void declare(OptionTable& table) override {
    options_.declare(table);
    table.section("eval", "")
        .add("page", page_,
             "write an HTML page with per-class accuracy, confusion matrix, calibration and worst mistakes");
  }

  Json run(const Invocation& invocation) override {
    options_.model = invocation.argument("model file or run folder");
    if (is_ensemble(options_.model)) {
      if (!page_.empty())
        fail("--page is for single models. 'nascent ensemble eval --out DIR' makes an ensemble's report.");
      return score_ensemble(invocation);
    }
    options_.pictures = !page_.empty();
    const ModelJudgement found = judge(options_);
    const Judgement& judgement = found.judgement;
    const Evaluation& scores = judgement.scores;
    const std::string text = fmt::format(
        "{}, {} part, {} images: accuracy {:.2f} %, top 5 {:.2f} %, loss {:.4f}, calibration error {:.2f} %",
        data_text(found.data), options_.part, scores.images, scores.top1, scores.top5, scores.loss,
        judgement.calibration_error);
    invocation.print(text);
    if (options_.details) print_details(invocation, found.class_names, judgement);
    Json result = options_.details ? judgement.to_json(found.class_names) : scores.to_json();
    result["calibration_error"] = judgement.calibration_error;
    result["data"] = data_json(found.data);
    if (!page_.empty()) {
      write_file(page_, judgement_page(found.details, options_.model, text));
      invocation.print(fmt::format("Page: {}", page_));
      result["page"] = page_;
    }
    return result;
  }

 private:
  Json score_ensemble(const Invocation& invocation) const {
    const EnsembleModel model = load_ensemble(options_.model);
    const DataOptions data = data_of(model.first(), options_.data);
    const Evaluation scores = evaluate_whole(options_);
    invocation.print(fmt::format("{}, {} part, {} images, {} members: accuracy {:.2f} %, top 5 {:.2f} %, loss {:.4f}",
                                 data_text(data), options_.part, scores.images, model.members.size(), scores.top1,
                                 scores.top5, scores.loss));
    Json result = scores.to_json();
    result["members"] = model.members.size();
    result["data"] = data_json(data);
    return result;
  }

  Json data_json(const DataOptions& data) const {
    return {{"name", data.name}, {"path", data.path}, {"part", options_.part}};
  }

  static void print_details(const Invocation& invocation, const std::vector<std::string>& names,
                            const Judgement& judgement) {
    for (size_t label = 0; label < names.size(); ++label) {
      const std::vector<int64_t>& row = judgement.confusion[label];
      std::string others;
      for (size_t other = 0; other < names.size(); ++other) {
        if (other != label && row[other] > 0) others += fmt::format("  {} {}", names[other], row[other]);
      }
      invocation.print(fmt::format("{:<20} {:6.2f} %{}{}", names[label],
                                   judgement.class_accuracy(static_cast<int>(label)),
                                   others.empty() ? "" : "  predicted as:", others));
    }
    for (const Mistake& mistake : judgement.worst) {
      invocation.print(fmt::format("image {:<8} is {}, predicted as {} ({:.2f} %)", mistake.image, names[mistake.label],
                                   names[mistake.predicted], 100 * mistake.probability));
    }
  }

  EvaluationOptions options_;
  std::string page_;
};

NASCENT_REGISTER(Verb, "eval", "evaluates a trained model", [] { return std::make_unique<EvalVerb>(); });

}  // namespace
}  // namespace nascent
