// NATS-Bench's "simple" form: one pickle per architecture, a dict by schedule ("12", "200") of results by data set and
// seed.
#include <algorithm>
#include <map>

#include "nascent/core/error.h"
#include "nascent/core/pickle.h"
#include "nascent/core/progress.h"
#include "nascent/core/text.h"
#include "nascent/table/bzip2.h"
#include "nascent/table/import.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

constexpr const char* kEnding = ".pickle.pbz2";

// What a data set of the records gives to one of ours. "cifar10-valid" is trained on half of the training images and
// validated on the other half, "cifar10" on all of them and tested: together they are our "cifar10".
struct Source {
  std::string data, valid, test;  // names of the evaluations; "" where it gives none
  bool times = true;              // its training times are those of a validation
};

const std::map<std::string, Source>& sources() {
  static const std::map<std::string, Source> all = {
      {"cifar10-valid", {.data = "cifar10", .valid = "x-valid", .test = "", .times = true}},
      {"cifar10", {.data = "cifar10", .valid = "", .test = "ori-test", .times = false}},
      {"cifar100", {.data = "cifar100", .valid = "x-valid", .test = "x-test", .times = true}},
      {"ImageNet16-120", {.data = "imagenet16", .valid = "x-valid", .test = "x-test", .times = true}}};
  return all;
}

double sum_of(const PickleValue& dict) {
  double sum = 0;
  for (const auto& [key, value] : dict.entries()) sum += value->real();
  return sum;
}

// One training of one architecture.
class ResultImporter {
 public:
  ResultImporter(TableBuilder& builder, size_t row, const Source& source, const PickleValue& result, int64_t seed)
      : builder_(builder), row_(row), source_(source), result_(result), seed_(seed) {
    epochs_ = static_cast<int>(result.at("epochs").integer());
  }

  // `every_epoch`: also what lies between.
  void accuracies(bool every_epoch) {
    accuracy("valid", source_.valid, epochs_);
    accuracy("test", source_.test, epochs_);
    for (int epoch = 1; every_epoch && epoch < epochs_; ++epoch) accuracy("valid", source_.valid, epoch);
  }

  // The same for every seed.
  void costs() {
    if (!source_.times) return;
    set("train_seconds", Budget(epochs_), sum_of(result_.at("train_times")));
    if (const PickleValue* time = result_.at("eval_times").find(source_.valid + "@0")) {
      set("valid_seconds", {}, time->real());
    }
    set("flops_m", {}, result_.at("flop").real());
    set("params_m", {}, result_.at("params").real());
    const auto& latencies = result_.at("latency").items();
    if (!latencies.empty()) set("latency_ms_gpu", {}, 1000 * latencies.front()->real());
  }

 private:
  void set(const std::string& quantity, const Budget& budget, double value, int64_t seed = kMeanOfSeeds) {
    builder_.set(row_, {.data = source_.data, .quantity = quantity, .budget = budget, .seed = seed}, value);
  }

  void accuracy(const std::string& quantity, const std::string& evaluation, int epoch) {
    if (evaluation.empty()) return;
    const PickleValue* value = result_.at("eval_acc1es").find(fmt::format("{}@{}", evaluation, epoch - 1));
    if (value != nullptr) set(quantity, Budget(epoch, epochs_), value->real(), seed_);
  }

  TableBuilder& builder_;
  size_t row_;
  const Source& source_;
  const PickleValue& result_;
  int64_t seed_;
  int epochs_ = 0;
};

void import_schedule(TableBuilder& builder, size_t row, const PickleValue& schedule, bool every_epoch) {
  for (const auto& [key, result] : schedule.at("all_results").entries()) {
    const auto& [data, seed] = std::pair(key->items().at(0)->text(), key->items().at(1)->integer());
    const auto source = sources().find(data);
    if (source == sources().end()) continue;
    ResultImporter importer(builder, row, source->second, *result, seed);
    importer.accuracies(every_epoch);
    importer.costs();
  }
}

void import_record(TableBuilder& builder, const fs::path& file) {
  const std::string bytes = read_bzip2(file);
  const Pickle pickle = parse_pickle(bytes, file.string());
  try {
    const auto& schedules = pickle.root().entries();
    if (schedules.empty()) fail("it holds no training schedule.");
    const PickleValue& first = *schedules.front().second;
    const size_t row =
        builder.add(parse_genotype(first.at("arch_str").text(), "nasbench201"), first.at("arch_index").integer());
    for (const auto& [name, schedule] : schedules) import_schedule(builder, row, *schedule, schedule == &first);
  } catch (const Error& error) {
    fail("{} is not a NATS-Bench record: {}", file.string(), error.what());
  }
}

bool is_record(const fs::path& file) {
  const std::string name = file.filename().string();
  const bool digits = name.size() > 0 && std::isdigit(static_cast<unsigned char>(name[0])) != 0;
  return digits && name.ends_with(kEnding);
}

}  // namespace

TableBuilder import_nats(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_record(entry.path())) files.push_back(entry.path());
  }
  if (files.empty()) {
    fail("{} holds no NATS-Bench records; files such as 000011{} were expected.", folder.string(), kEnding);
  }
  std::sort(files.begin(), files.end());
  TableBuilder builder(find_space("nasbench201"), folder.filename().string());
  Progress progress("import", static_cast<int64_t>(files.size()));
  for (const fs::path& file : files) {
    import_record(builder, file);
    progress.advance(1);
  }
  return builder;
}

}  // namespace nascent
