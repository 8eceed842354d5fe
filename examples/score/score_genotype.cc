// Scores one architecture without training it.
//
//   score_genotype                                                     a cell of NAS-Bench-201
//   score_genotype darts-v2                                            a published one, by name
//   score_genotype '|nor_conv_3x3~0|+|skip_connect~0|nor_conv_3x3~1|+|none~0|none~1|nor_conv_3x3~2|'
#include <nascent/core/error.h>
#include <nascent/nn/threads.h>
#include <nascent/score/scorer.h>
#include <nascent/space/space.h>

#include <cstdio>

int main(int argc, char** argv) try {
  nascent::use_threads(0);
  const nascent::Genotype genotype = nascent::find_genotype(argc > 1 ? argv[1] : "nasbench201:1462");

  // Any registered data set will do; random images need no download, and most metrics hardly look at the images.
  nascent::DataOptions data_options;
  data_options.name = "random";
  data_options.valid_fraction = 0;
  const nascent::ImageData data(data_options, /*seed=*/1);

  nascent::ScoreOptions options;
  options.metrics = {"grad", "snip", "trace", "kappa"};
  options.cache = "none";
  const nascent::ScorerSetup setup = {.space = nascent::find_space(genotype.space),
                                      .network = {.channels = 8, .cells = 3},
                                      .images = nascent::scoring_batch(data, 16, /*seed=*/1),
                                      .batch = 16,
                                      .classes = data.classes()};
  nascent::Scorer scorer(setup, options);
  for (const auto& [metric, value] : scorer.scores(genotype)) std::printf("%s %.6g\n", metric.c_str(), value);
} catch (const nascent::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
