// A fused cell as a module of one's own LibTorch network, in one's own training loop: stem and classifier are plain
// LibTorch, the cell between them (that of DARTS, second order) runs on the engine, forward and backward. Learns to
// tell which quarter of an image is bright, and prints the loss and the accuracy.
#include <nascent/nn/cell.h>
#include <nascent/nn/initialiser.h>
#include <nascent/nn/threads.h>
#include <nascent/space/cell_plan.h>
#include <nascent/space/space.h>
#include <torch/torch.h>

#include <cstdio>

namespace {

constexpr int kChannels = 8, kSide = 12;

class MyNetwork : public torch::nn::Module {
 public:
  MyNetwork() {
    const nascent::Genotype genotype = nascent::find_genotype("darts-v2");
    const auto space = nascent::find_space(genotype.space);
    const nascent::Shape shape = {kChannels, kSide, kSide};
    const nascent::CellPlan plan = nascent::plan_cell(
        *space, &genotype, "normal", {.inputs = {shape, shape}, .channels = kChannels, .project_always = true});
    stem_ = register_module("stem", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, kChannels, 3).padding(1)));
    cell_ = register_module("cell", std::make_shared<nascent::Cell>(plan));
    nascent::initialise(*cell_, /*seed=*/1, "torch");
    classifier_ = register_module("classifier", torch::nn::Linear(plan.output_shape.channels, 4));
  }

  at::Tensor forward(const at::Tensor& images) {
    const at::Tensor x = stem_(images);
    return classifier_(cell_->forward({x, x}, {}).mul(position_).mean({2, 3}));
  }

 private:
  // A smooth weight that differs from corner to corner, so that a mean over the image can tell them apart.
  at::Tensor position_ =
      torch::linspace(0, 1, kSide).view({1, 1, kSide, 1}) + 2 * torch::linspace(0, 1, kSide).view({1, 1, 1, kSide});
  torch::nn::Conv2d stem_ = nullptr;
  std::shared_ptr<nascent::Cell> cell_;
  torch::nn::Linear classifier_ = nullptr;
};

struct Examples {
  at::Tensor images, labels;
};

Examples bright_quarters(int64_t count) {
  Examples examples = {0.3 * torch::randn({count, 1, kSide, kSide}), torch::randint(4, {count}, torch::kLong)};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = examples.labels[i].item<int64_t>(), half = kSide / 2;
    examples.images[i][0].narrow(0, label / 2 * half, half).narrow(1, label % 2 * half, half) += 1;
  }
  return examples;
}

}  // namespace

int main() {
  nascent::use_threads(0);
  torch::manual_seed(1);
  MyNetwork network;
  torch::optim::Adam optimizer(network.parameters(), torch::optim::AdamOptions(1e-2));
  for (int step = 0; step < 60; ++step) {
    const Examples batch = bright_quarters(32);
    const at::Tensor loss = torch::nn::functional::cross_entropy(network.forward(batch.images), batch.labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 20 == 19) std::printf("step %d loss %.4f\n", step + 1, loss.item<double>());
  }
  network.eval();
  torch::NoGradGuard no_grad;
  const Examples test = bright_quarters(256);
  const at::Tensor right = network.forward(test.images).argmax(1) == test.labels;
  std::printf("accuracy %.1f\n", 100 * right.to(torch::kFloat).mean().item<double>());
}
