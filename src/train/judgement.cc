#include "nascent/train/judgement.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "nascent/run/thumbnail.h"
#include "nascent/train/loss.h"

namespace nascent {
namespace {

class Tally {
 public:
  Tally(int classes, int worst) : worst_(worst) {
    judgement_.confusion.assign(classes, std::vector<int64_t>(classes, 0));
  }

  void add(const at::Tensor& logits, const at::Tensor& labels, const std::vector<int64_t>& images) {
    Evaluation& scores = judgement_.scores;
    const int64_t size = labels.size(0);
    scores.images += size;
    scores.loss += classification_loss(logits, labels).item<double>() * static_cast<double>(size);
    scores.top1 += static_cast<double>(count_top(logits, labels, 1));
    scores.top5 += static_cast<double>(count_top(logits, labels, 5));
    const auto [probability, predicted] = at::softmax(logits.to(at::kDouble), 1).max(1);
    for (int64_t i = 0; i < size; ++i) {
      add({images[i], static_cast<int>(labels[i].item<int64_t>()), static_cast<int>(predicted[i].item<int64_t>()),
           probability[i].item<double>()});
    }
  }

  Judgement conclude() {
    Evaluation& scores = judgement_.scores;
    const auto n = static_cast<double>(std::max<int64_t>(scores.images, 1));
    scores.loss /= n;
    scores.top1 = 100 * scores.top1 / n;
    scores.top5 = 100 * scores.top5 / n;
    judgement_.reliability = reliability_.bins();
    judgement_.calibration_error = 100 * calibration_error(judgement_.reliability);
    keep_worst();
    return std::move(judgement_);
  }

 private:
  void add(const Mistake& seen) {
    ++judgement_.confusion.at(seen.label).at(seen.predicted);
    reliability_.add(seen.probability, seen.label == seen.predicted);
    if (seen.label == seen.predicted) return;
    judgement_.worst.push_back(seen);
    if (judgement_.worst.size() > 4096 + 2 * static_cast<size_t>(worst_)) keep_worst();
  }

  void keep_worst() {
    auto& worst = judgement_.worst;
    std::sort(worst.begin(), worst.end(), [](const Mistake& a, const Mistake& b) {
      return a.probability != b.probability ? a.probability > b.probability : a.image < b.image;
    });
    worst.resize(std::min<size_t>(worst.size(), worst_));
  }

  int worst_;
  Judgement judgement_;
  Reliability reliability_;
};

}  // namespace

double Judgement::class_accuracy(int label) const {
  const auto& row = confusion.at(label);
  const int64_t images = std::accumulate(row.begin(), row.end(), int64_t{0});
  return images == 0 ? 0 : 100 * static_cast<double>(row[label]) / static_cast<double>(images);
}

Json Judgement::to_json(const std::vector<std::string>& class_names) const {
  Json json = scores.to_json();
  json["calibration_error"] = calibration_error;
  json["reliability"] = nascent::to_json(reliability);
  json["classes"] = class_names;
  for (size_t i = 0; i < confusion.size(); ++i)
    json["class_accuracy"][class_names.at(i)] = class_accuracy(static_cast<int>(i));
  json["confusion"] = confusion;
  json["worst"] = Json::array();
  for (const Mistake& mistake : worst) {
    json["worst"].push_back({{"image", mistake.image},
                             {"label", class_names.at(mistake.label)},
                             {"predicted", class_names.at(mistake.predicted)},
                             {"probability", mistake.probability}});
  }
  return json;
}

void add_pictures(Json& judgement, const Dataset& images) {
  for (Json& mistake : judgement.at("worst")) {
    Image image;
    images.read(mistake.at("image").get<int64_t>(), image);
    if (image.channels == 1 || image.channels == 3) mistake["picture"] = thumbnail(std::move(image));
  }
}

Judgement judge(Network& network, Loader& loader, int classes, int worst) {
  at::NoGradGuard no_grad;
  const bool training = network.is_training();
  network.eval();
  Tally tally(classes, worst);
  loader.start(0);
  while (auto batch = loader.next()) {
    const std::vector<int64_t> images = batch->indices;
    const TensorBatch tensors = to_tensors(std::move(*batch), network);
    tally.add(network.forward(tensors.images).logits.cpu(), tensors.labels.cpu(), images);
  }
  network.train(training);
  return tally.conclude();
}

}  // namespace nascent
