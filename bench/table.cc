// What looking an architecture up costs: a complete table of NAS-Bench-201 with made-up results, three seeds each.
#include <benchmark/benchmark.h>

#include <filesystem>

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

BENCHMARK(open_table)->Unit(benchmark::kMicrosecond);
BENCHMARK(query)->Unit(benchmark::kMicrosecond);
BENCHMARK(query_by_text)->Unit(benchmark::kMicrosecond);
BENCHMARK(value_by_row)->Unit(benchmark::kMicrosecond);
BENCHMARK(rank)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace nascent

BENCHMARK_MAIN();
