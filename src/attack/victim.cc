#include "nascent/attack/victim.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"

namespace nascent {
namespace {

class NetworkVictim : public Victim {
 public:
  NetworkVictim(std::shared_ptr<Network> network, const ChannelStatistics& statistics, std::string name,
                const DroppedPaths& dropped)
      : Victim(std::move(name)),
        network_(std::move(network)),
        mean_(by_channel(statistics.mean)),
        deviation_(by_channel(statistics.deviation)),
        dropped_(dropped) {
    network_->eval();
    if (dropped_.probability > 0) drop_in_evaluation();
    for (at::Tensor parameter : network_->parameters()) parameter.requires_grad_(false);
  }

  at::Tensor forward(const at::Tensor& images) const override {
    const ForwardContext context{.drop_path = dropped_.probability, .seed = dropped_.seed, .drop_together = true};
    return network_->forward((images - mean_) / deviation_, context).logits;
  }
  int64_t classes() const override { return network_->plan().classes; }

 private:
  // A network drops paths in training mode; the modes of its parts are what norms go by.
  void drop_in_evaluation() {
    network_->train();
    for (const auto& part : network_->children()) part->eval();
  }

  std::shared_ptr<Network> network_;
  at::Tensor mean_, deviation_;
  DroppedPaths dropped_;
};

class EnsembleVictim : public Victim {
 public:
  EnsembleVictim(std::vector<VictimPointer> members, std::string name, Averaging averaging)
      : Victim(std::move(name)), members_(std::move(members)), averaging_(std::move(averaging)) {
    std::vector<double> weights = averaging_.weights;
    if (weights.empty()) weights.assign(members_.size(), 1);
    shares_ = at::tensor(weights, at::kDouble);
    shares_ = (shares_ / shares_.sum()).to(at::kFloat).view({-1, 1, 1});
  }

  at::Tensor forward(const at::Tensor& images) const override {
    std::vector<at::Tensor> answers;
    for (const auto& member : members_) {
      answers.push_back(at::log_softmax(member->forward(images) / averaging_.temperature, 1));
    }
    if (answers.size() == 1) return answers[0];
    const at::Tensor all = at::stack(answers);
    return averaging_.of_logits ? (all * shares_).sum(0) : at::logsumexp(all + shares_.log(), 0);
  }
  int64_t classes() const override { return members_.front()->classes(); }

 private:
  std::vector<VictimPointer> members_;
  Averaging averaging_;
  at::Tensor shares_;  // [members, 1, 1]
};

class ScaledVictim : public Victim {
 public:
  ScaledVictim(VictimPointer victim, const std::vector<double>& scale)
      : Victim(victim->name()), victim_(std::move(victim)), scale_(by_channel(scale)) {}

  at::Tensor forward(const at::Tensor& images) const override { return victim_->forward(images * scale_); }
  int64_t classes() const override { return victim_->classes(); }

 private:
  VictimPointer victim_;
  at::Tensor scale_;
};

// An attack on one batch can take minutes; Ctrl-C does not wait for it.
void stop_if_asked() {
  if (interrupt_requested()) throw Interrupted();
}

}  // namespace

at::Tensor by_channel(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).to(at::kFloat).view({1, -1, 1, 1});
}

at::Tensor Victim::logits(const at::Tensor& images) const {
  stop_if_asked();
  const at::NoGradGuard no_grad;
  return forward(images);
}

Victim::Gradient Victim::one_gradient(const at::Tensor& images, const Loss& loss) const {
  stop_if_asked();
  const at::AutoGradMode enabled(true);
  const at::Tensor x = images.detach().requires_grad_();
  const at::Tensor answers = forward(x), values = loss(answers);
  at::Tensor gradient;
  if (values.requires_grad()) {
    gradient = torch::autograd::grad({values.sum()}, {x}, {}, {}, /*create_graph=*/false, /*allow_unused=*/true)[0];
  }
  if (!gradient.defined()) {
    fail(
        "'{}' gives no gradient with respect to its images, which this attack needs. Use --attack square: it asks for "
        "answers only.",
        name_);
  }
  return {answers.detach(), values.detach(), gradient};
}

Victim::Gradient Victim::gradient(const at::Tensor& images, const Loss& loss, int passes) const {
  Gradient sum = one_gradient(images, loss);
  for (int pass = 1; pass < passes; ++pass) {
    const Gradient next = one_gradient(images, loss);
    sum = {next.logits, sum.loss + next.loss, sum.images + next.images};
  }
  if (passes <= 1) return sum;
  return {sum.logits, sum.loss / passes, sum.images / passes};
}

VictimPointer network_victim(std::shared_ptr<Network> network, const ChannelStatistics& statistics, std::string name,
                             const DroppedPaths& dropped) {
  return std::make_shared<NetworkVictim>(std::move(network), statistics, std::move(name), dropped);
}

VictimPointer ensemble_victim(std::vector<VictimPointer> members, std::string name, Averaging averaging) {
  return std::make_shared<EnsembleVictim>(std::move(members), std::move(name), std::move(averaging));
}

VictimPointer scaled_victim(VictimPointer victim, const std::vector<double>& scale) {
  return std::make_shared<ScaledVictim>(std::move(victim), scale);
}

}  // namespace nascent
