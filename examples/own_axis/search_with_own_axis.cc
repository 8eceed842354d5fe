// A search with an axis of one's own: a regulariser that nobody has published, registered by name like those that are
// built in, so that it combines with every relaxation, update and gradient.
//
// It charges for pools. The search runs twice from the same start, without and with it, and prints how probable pools
// are in the end.
#include <ATen/ATen.h>
#include <nascent/core/error.h>
#include <nascent/core/log.h>
#include <nascent/data/image_data.h>
#include <nascent/nn/threads.h>
#include <nascent/search/one_shot/one_shot_search.h>
#include <nascent/train/loop.h>

#include <cstdio>

namespace {

// The mean probability of pools over all sites.
at::Tensor pool_probability(const nascent::Mixture& probabilities, const std::vector<std::string>& operations) {
  at::Tensor sum = at::zeros({});
  int64_t sites = 0;
  for (const auto& [type, cell] : probabilities) {
    sites += cell.ops.size(0);
    for (size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].find("pool") != std::string::npos)
        sum = sum + cell.ops.select(1, static_cast<int64_t>(i)).sum();
    }
  }
  return sum / static_cast<double>(sites);
}

class PoolPrice : public nascent::Regulariser {
 public:
  explicit PoolPrice(const nascent::RegulariserSetup& setup)
      : operations_(setup.space.ops()), strength_(setup.strength) {}

  at::Tensor penalty(const nascent::Mixture& probabilities) const override {
    return strength_ * pool_probability(probabilities, operations_);
  }

 private:
  std::vector<std::string> operations_;
  double strength_;
};

NASCENT_REGISTER(nascent::Regulariser, "pool-price", "mean probability of pools",
                 [](const nascent::RegulariserSetup& setup) { return std::make_unique<PoolPrice>(setup); });

// The mean probability of pools after a small search.
double search(const std::vector<std::string>& regularisers) {
  nascent::DataOptions data_options;
  data_options.name = "random";
  data_options.shape = {3, 8, 8};
  data_options.size = 128;
  data_options.batch = 16;
  const nascent::ImageData data(data_options, /*seed=*/1);

  const auto space = nascent::find_space("nasbench201");
  const nascent::NetworkOptions size = {.channels = 4, .cells = 1};
  const auto plan = nascent::plan_supernet(*space, size, data.shape(), data.classes());

  nascent::OneShotOptions options;
  options.epochs = 5;
  options.regularisers = regularisers;
  options.update.optimizer.lr = 0.05;
  const auto loaders = [&](nascent::SearchData part) {
    return part == nascent::SearchData::held_out ? data.training(data.split().valid, "architecture")
                                                 : data.training(data.split().train, "search");
  };
  nascent::OneShotSearch job(space, std::make_shared<nascent::Network>(plan, /*seed=*/1), loaders, options,
                             /*seed=*/1);
  nascent::run_job(job, {});
  return pool_probability(job.probabilities(), space->ops()).item<double>();
}

}  // namespace

int main() try {
  nascent::use_threads(0);
  nascent::log::set_level(nascent::log::Level::error);
  std::printf("pools_without %.4f\n", search({}));
  std::printf("pools_with %.4f\n", search({"pool-price 5"}));
} catch (const nascent::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
