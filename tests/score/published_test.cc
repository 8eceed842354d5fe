// Metrics beside published values of some cells of NAS-Bench-201 (CIFAR-10, the benchmark's own networks), from the
// table of zero-cost scores that NASLib holds (naslib/data/zc_nasbench201.json; Krishnakumar et al. 2022). Facts, for
// comparison. The table's weights and images were others, so ranks are compared, not values.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "nascent/core/correlation.h"
#include "nascent/core/text.h"
#include "nascent/score/probe.h"
#include "score/samples.h"

namespace nascent {
namespace {

struct Published {
  const char* ops;  // of edges 0-1, 0-2, 0-3, 1-2, 1-3, 2-3: 0 skip, 1 none, 2 3x3, 3 1x1, 4 average pooling
  double parameters, snip, grad, fisher, synflow;
};

constexpr Published kCells[] = {
    {"144210", 0.316346, 7.134345531463623, 3.5713751316070557, 0.020770197734236717, 25.15499669855069},
    {"344202", 0.587386, 55.24277114868164, 28.590450286865234, 0.2332950085401535, 96.49753199627878},
    {"201413", 0.344346, 91.46123504638672, 50.12377166748047, 0.7382426857948303, 65.22688590964282},
    {"222210", 1.045466, 191.41712951660156, 99.87764739990234, 1.631332516670227, 82.7134090851087},
    {"134232", 0.615386, 56.29978942871094, 23.05821418762207, 0.3814334273338318, 64.07593509530243},
    {"001324", 0.344346, 50.69269561767578, 21.51778793334961, 0.23430341482162476, 53.14001619945298},
    {"221014", 0.559386, 137.5866241455078, 70.85114288330078, 1.741587519645691, 57.72656562028926},
    {"132210", 0.587386, 53.61841583251953, 26.418949127197266, 0.27019813656806946, 51.860386507906476},
    {"211100", 0.316346, 52.150169372558594, 25.76412582397461, 0.3657299280166626, 47.43019621488335},
    {"424200", 0.559386, 9.21805477142334, 5.828557014465332, 0.028217816725373268, 59.44621884769522},
    {"001021", 0.316346, 53.86920928955078, 29.9954891204834, 0.32243579626083374, 47.438235343069515},
    {"124133", 0.372346, 66.61782836914062, 32.810123443603516, 0.5195115208625793, 64.14410284242567},
    {"301133", 0.157306, 107.80709075927734, 66.32533264160156, 1.3732056617736816, 52.1096275601826},
    {"304241", 0.344346, 30.684492111206055, 15.139254570007324, 0.21609540283679962, 36.03628608292723},
};

Genotype genotype_of(const std::string& ops) {
  const char* names[] = {"skip_connect", "none", "nor_conv_3x3", "nor_conv_1x1", "avg_pool_3x3"};
  const auto op = [&](int edge) { return names[ops[edge] - '0']; };
  return find_genotype(fmt::format("|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|", op(0), op(1), op(3), op(2), op(4), op(5)));
}

// The cells whose published values are a quarter apart: the table holds one draw of weights, and nearer ones change
// places with the next.
std::vector<size_t> told_apart(const std::vector<double>& published) {
  std::vector<size_t> order(published.size()), chosen;
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return published[a] < published[b]; });
  for (const size_t i : order) {
    if (chosen.empty() || published[i] > 1.25 * published[chosen.back()]) chosen.push_back(i);
  }
  return chosen;
}

TEST(Metrics, RankCellsAsPublished) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> ranks;  // found, published
  const auto space = find_space("nasbench201");
  const ProbeSource source{*space, {.channels = 16, .cells = 5}, {3, 32, 32}, 10};
  at::Tensor labels = at::empty({16}, at::kLong);
  for (int64_t i = 0; i < 16; ++i) labels[i] = i % 10;
  // Neighbouring pixels of pictures are alike: after average pooling white noise is gone, and a picture is still there.
  const at::Tensor images =
      at::upsample_bilinear2d(testing_score::sample_images({3, 8, 8}, 16, 3), {32, 32}, /*align_corners=*/false) +
      0.2 * testing_score::sample_images(source.input, 16, 4);
  const TensorBatch batch{images.contiguous(), labels};
  for (const Published& cell : kCells) {
    Probe probe(source, genotype_of(cell.ops), {.initialiser = "torch"}, batch);
    EXPECT_NEAR(static_cast<double>(count_parameters(probe.plan())) / 1e6, cell.parameters, 1e-6) << cell.ops;
    for (const auto& [metric, value] : {std::pair{"snip", cell.snip}, std::pair{"grad", cell.grad},
                                        std::pair{"fisher", cell.fisher}, std::pair{"synflow", cell.synflow}}) {
      ranks[metric].first.push_back(Metric::Registry::instance().make(metric, probe));
      ranks[metric].second.push_back(value);
    }
  }
  for (const auto& [metric, values] : ranks) {
    std::vector<double> found, published;
    for (const size_t i : told_apart(values.second)) {
      found.push_back(values.first[i]);
      published.push_back(values.second[i]);
    }
    EXPECT_GE(found.size(), 5u) << metric;
    EXPECT_GT(spearman(found, published), 0.95) << metric << ": " << testing::PrintToString(values);
  }
}

}  // namespace
}  // namespace nascent
