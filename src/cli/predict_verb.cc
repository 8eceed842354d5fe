// nascent predict: labels pictures with a trained model.
#include "nascent/cli/partly_done.h"
#include "nascent/cli/verb.h"
#include "nascent/core/csv_field.h"
#include "nascent/core/log.h"
#include "nascent/data/pictures.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/nn/threads.h"
#include "nascent/train/predict.h"

namespace nascent {
namespace {

class PredictVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL|RUN PICTURE...|FOLDER|-"; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    table.section("predict", "How pictures are labelled.")
        .add("form", form_, "how predictions are printed; jsonl: one JSON object per line")
        .one_of({"table", "csv", "jsonl"});
    table.section("run", "Where and how a run happens.")
        .add("threads", threads_, "number of compute threads; 0: one per core")
        .range(0, 1024);
  }

  Json run(const Invocation& invocation) override {
    if (invocation.arguments.size() < 2) {
      fail(
          "nascent predict: a model and at least one picture are needed, as in 'nascent predict model.nascent "
          "cat.jpg'.");
    }
    use_threads(threads_);
    const EnsembleModel model = load_ensemble(invocation.arguments[0]);
    const std::vector<std::string>& names = model.first().class_names;
    const std::vector<std::string> sources(invocation.arguments.begin() + 1, invocation.arguments.end());
    const auto pictures = std::make_shared<Pictures>(
        sources, Pictures::Wanted{model.first().input.channels, static_cast<int64_t>(names.size())});
    Json all = Json::array();
    if (form_ == "csv") invocation.print("picture,rank,class,probability");
    label(model, pictures, [&](const Prediction& prediction) {
      Json result = to_json(names, *pictures, prediction);
      print(invocation, result);
      if (invocation.json) all.push_back(std::move(result));
    });
    if (unreadable_ == pictures->size()) fail("None of the {} pictures could be read.", unreadable_);
    if (unreadable_ > 0) {
      throw PartlyDone{
          all, fmt::format("{} of {} pictures could not be read and were left out.", unreadable_, pictures->size())};
    }
    return all;
  }

 private:
  // A single network answers batch by batch; of an ensemble, every member sees all the pictures first.
  void label(const EnsembleModel& model, const std::shared_ptr<const Pictures>& pictures,
             const std::function<void(const Prediction&)>& each) const {
    const bool alone = model.members.size() == 1 && model.passes == 1 && model.temperature == 1;
    if (alone) return predict(model.first(), pictures, options_, each);
    const MemberPredictions found =
        predict_members(model, [&](const Model& member) { return picture_loader(member, pictures, options_); });
    const Probabilities answer = combine(found.members, model.combine, model.weights);
    for (int64_t i = 0; i < answer.images; ++i) each(likeliest(i, answer.row(i), options_.top));
  }

  Json to_json(const std::vector<std::string>& class_names, const Pictures& pictures, const Prediction& prediction) {
    Json result = {{"picture", pictures.picture_name(prediction.picture)}};
    if (const auto reason = pictures.failure(prediction.picture)) {
      ++unreadable_;
      log::warning("{}: {}", pictures.picture_name(prediction.picture), *reason);
      result["error"] = *reason;
      return result;
    }
    for (const auto& [index, probability] : prediction.top) {
      result["predictions"].push_back({{"class", class_names.at(index)}, {"probability", probability}});
    }
    return result;
  }

  void print(const Invocation& invocation, const Json& result) const {
    if (form_ == "jsonl") return invocation.print(result.dump(-1, ' ', false, Json::error_handler_t::replace));
    int rank = 0;
    std::string picture = result.at("picture").get<std::string>();
    for (const Json& guess : result.value("predictions", Json::array())) {
      const auto name = guess.at("class").get<std::string>();
      const double probability = guess.at("probability").get<double>();
      ++rank;
      if (form_ == "csv") {
        invocation.print(fmt::format("{},{},{},{:.6g}", csv_field(picture), rank, csv_field(name), probability));
      } else {
        invocation.print(fmt::format("{:<32} {:<20} {:6.2f} %", rank == 1 ? picture : "", name, 100 * probability));
      }
    }
  }

  PredictOptions options_;
  std::string form_ = "table";
  int threads_ = 0;
  int64_t unreadable_ = 0;
};

NASCENT_REGISTER(Verb, "predict", "labels pictures with a trained model",
                 [] { return std::make_unique<PredictVerb>(); });

}  // namespace
}  // namespace nascent
