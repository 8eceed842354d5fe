// What looking an architecture up costs: in a complete table of NAS-Bench-201 with made-up results, three seeds each;
// in a table of a million architectures of DARTS, which are known by hashes; among a million lines of scores. The
// counter anonymous_mb is the memory that opening takes beside pages of the files.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>

#include "nascent/score/score_cache.h"
#include "nascent/table/benchmark_table.h"
#include "nascent/table/table_builder.h"

namespace nascent {
namespace {

std::filesystem::path made_up_file() {
  TableBuilder builder(find_space("nasbench201"), "made up");
  RandomStream random(1, "bench");
  for (double i = 0; i < builder.space().count(); ++i) {
    const size_t row = builder.add(builder.space().at(i), static_cast<int64_t>(i));
    for (const std::string data : {"cifar10", "cifar100", "imagenet16"}) {
      for (const std::string seed : {"777", "888", "999"}) {
        builder.set(row, parse_measure(data + "_valid12_seed" + seed), random.uniform(0, 100));
        builder.set(row, parse_measure(data + "_test200_seed" + seed), random.uniform(0, 100));
      }
      builder.set(row, parse_measure(data + "_train_seconds200"), random.uniform(1000, 3000));
    }
  }
  const auto path = std::filesystem::temp_directory_path() / "nascent-bench.table";
  builder.write(path);
  return path;
}

const std::filesystem::path& file() {
  static const std::filesystem::path path = made_up_file();
  return path;
}

std::vector<Genotype> some_architectures(const BenchmarkTable& table) {
  RandomStream random(2, "bench");
  std::vector<Genotype> genotypes;
  for (int i = 0; i < 1024; ++i) genotypes.push_back(table.space()->sample(random));
  return genotypes;
}

void open_table(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(BenchmarkTable(file()).rows());
}

// From a genotype to its mean accuracy over three seeds.
void query(benchmark::State& state) {
  const BenchmarkTable table(file());
  const TableSeries series = table.series(parse_measure("cifar10_test200"));
  const auto genotypes = some_architectures(table);
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(series.at(table.row(genotypes[i++ % genotypes.size()])));
}

// The same, from its text and with the column looked for each time.
void query_by_text(benchmark::State& state) {
  const BenchmarkTable table(file());
  const Measure measure = parse_measure("cifar10_test200");
  std::vector<std::string> texts;
  for (const auto& genotype : some_architectures(table)) texts.push_back(to_text(genotype, "nasbench201"));
  size_t i = 0;
  for (auto _ : state) {
    const Genotype genotype = parse_genotype(texts[i++ % texts.size()], "nasbench201");
    benchmark::DoNotOptimize(table.series(measure).at(table.row(genotype)));
  }
}

void value_by_row(benchmark::State& state) {
  const BenchmarkTable table(file());
  const TableSeries series = table.series(parse_measure("cifar10_test200"));
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(series.at(i++ * 7919 % table.rows()));
}

void rank(benchmark::State& state) {
  const BenchmarkTable table(file());
  const TableSeries series = table.series(parse_measure("cifar10_test200"));
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(series.rank(i++ * 7919 % table.rows()));
}

constexpr int kMillion = 1'000'000;

Genotype numbered(const Space& space, int i) {
  RandomStream random(3, "bench", {static_cast<uint64_t>(i)});
  return space.sample(random);
}

const std::filesystem::path& million_rows() {
  static const std::filesystem::path path = [] {
    TableBuilder builder(find_space("darts"), "made up");
    RandomStream random(4, "bench");
    for (int i = 0; i < kMillion; ++i) {
      const size_t row = builder.add(numbered(builder.space(), i), -1);
      builder.set(row, parse_measure("cifar10_valid12"), random.uniform(0, 100));
      builder.set(row, parse_measure("cifar10_test600"), random.uniform(0, 100));
    }
    auto file = std::filesystem::temp_directory_path() / "nascent-bench-million.table";
    builder.write(file);
    return file;
  }();
  return path;
}

const Json kSettings = {{"space", "darts"}};

std::filesystem::path scores_folder() { return std::filesystem::temp_directory_path() / "nascent-bench-scores"; }

Scores scores_of(int i) {
  return {
      {"grad", 7.339541 + i}, {"grasp", 0.364625 * i}, {"kappa", 8.67015}, {"snip", 13.9217}, {"trace", 14.6532 - i}};
}

// A million architectures of DARTS with five scores each.
const std::filesystem::path& million_scores() {
  static const std::filesystem::path path = [] {
    std::filesystem::remove_all(scores_folder());
    const auto space = find_space("darts");
    ScoreCache cache(scores_folder(), "darts", kSettings);
    for (int i = 0; i < kMillion; ++i) cache.add(numbered(*space, i), scores_of(i));
    return cache.path();
  }();
  return path;
}

double anonymous_megabytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kilobytes = 0;
  while (status >> word && word != "RssAnon:") continue;
  status >> kilobytes;
  return kilobytes / 1024;
}

void open_million_rows(benchmark::State& state) {
  const auto& path = million_rows();
  const double before = anonymous_megabytes();
  std::optional<BenchmarkTable> table;
  for (auto _ : state) benchmark::DoNotOptimize(table.emplace(path).rows());
  state.counters["anonymous_mb"] = anonymous_megabytes() - before;
  state.counters["file_mb"] = static_cast<double>(table->bytes()) / 1e6;
}

void query_million_rows(benchmark::State& state) {
  const BenchmarkTable table(million_rows());
  const TableSeries series = table.series(parse_measure("cifar10_test600"));
  std::vector<Genotype> genotypes;
  for (int i = 0; i < 1024; ++i) genotypes.push_back(numbered(*table.space(), i * 971));
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(series.at(table.row(genotypes[i++ % genotypes.size()])));
}

// The first time, when all lines are read.
void index_million_scores(benchmark::State& state) {
  const auto& path = million_scores();
  for (auto _ : state) {
    std::filesystem::remove(path.string() + ".index");
    benchmark::DoNotOptimize(ScoreCache(scores_folder(), "darts", kSettings).path());
  }
}

void open_million_scores(benchmark::State& state) {
  const auto& path = million_scores();
  const double before = anonymous_megabytes();
  std::optional<ScoreCache> cache;
  for (auto _ : state) cache.emplace(scores_folder(), "darts", kSettings);
  state.counters["anonymous_mb"] = anonymous_megabytes() - before;
  state.counters["file_mb"] = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
}

void find_million_scores(benchmark::State& state) {
  million_scores();
  const ScoreCache cache(scores_folder(), "darts", kSettings);
  std::vector<Genotype> genotypes;
  for (int i = 0; i < 1024; ++i) genotypes.push_back(numbered(*find_space("darts"), i * 971));
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(cache.find(genotypes[i++ % genotypes.size()]));
}

// What rank 0 does with a result that is done before its turn.
void keep_and_add_score(benchmark::State& state) {
  const auto folder = std::filesystem::temp_directory_path() / "nascent-bench-ahead";
  std::filesystem::remove_all(folder);
  {
    const auto space = find_space("darts");
    ScoreCache cache(folder, "darts", kSettings);
    int i = 0;
    for (auto _ : state) {
      const Genotype genotype = numbered(*space, i++);
      cache.keep_ahead(genotype, scores_of(i));
      cache.add(genotype, scores_of(i));
    }
  }
  std::filesystem::remove_all(folder);
}

BENCHMARK(open_million_rows)->Unit(benchmark::kMillisecond);
BENCHMARK(query_million_rows)->Unit(benchmark::kMicrosecond);
BENCHMARK(index_million_scores)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(open_million_scores)->Unit(benchmark::kMillisecond);
BENCHMARK(find_million_scores)->Unit(benchmark::kMicrosecond);
BENCHMARK(keep_and_add_score)->Unit(benchmark::kMicrosecond);
BENCHMARK(open_table)->Unit(benchmark::kMicrosecond);
BENCHMARK(query)->Unit(benchmark::kMicrosecond);
BENCHMARK(query_by_text)->Unit(benchmark::kMicrosecond);
BENCHMARK(value_by_row)->Unit(benchmark::kMicrosecond);
BENCHMARK(rank)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace nascent

BENCHMARK_MAIN();
