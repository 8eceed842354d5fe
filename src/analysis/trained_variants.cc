#include "nascent/analysis/trained_variants.h"

#include <cmath>
#include <map>
#include <set>

#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/data/image_data.h"
#include "nascent/run/event_store.h"
#include "nascent/train/parts_ahead.h"

namespace nascent {
namespace {

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::string part_name(const std::string& variant, double rate, int64_t seed) {
  return fmt::format("{}-rate{:g}-seed{}", variant, rate, seed);
}

void read_curves(const std::filesystem::path& folder, TrainedVariant& trained) {
  const EventStore events(folder / "events.sqlite", EventStore::Access::read);
  // Where images are held out, a training watches those instead of the test part.
  const auto series = [&](const std::string& what) {
    const Points test = events.series("epoch", "test_" + what);
    return test.empty() ? events.series("epoch", "valid_" + what) : test;
  };
  trained.loss = series("loss");
  trained.top1 = series("top1");
  if (!trained.top1.empty()) trained.final_top1 = trained.top1.back().second;
  // Weights can be finite and the test loss not; an epoch then has an accuracy, and no loss.
  if (trained.loss.size() < trained.top1.size()) trained.diverged = true;
}

// How run_job() ends where a loss or gradient is not finite.
bool is_divergence(const Error& error) {
  const std::string text = error.what();
  return text.find("the loss is") != std::string::npos || text.find("the gradient norm is") != std::string::npos;
}

struct NamedVariant {
  std::string base;
  Variant variant;
};

std::vector<NamedVariant> variants_of(const TrainedVariantsOptions& options) {
  std::vector<NamedVariant> all;
  std::set<std::string> names;
  for (const std::string& genotype : options.genotypes) {
    const std::string base = std::filesystem::path(genotype).stem().string();
    for (Variant& variant :
         make_variants(base, find_genotype(genotype), options.variants, static_cast<uint64_t>(options.variant_seed))) {
      if (!names.insert(variant.name).second)
        fail("Two variants are called '{}'; name each genotype once.", variant.name);
      all.push_back({base, std::move(variant)});
    }
  }
  return all;
}

TrainingOptions training_of_variant(const TrainedVariantsOptions& options, const Variant& variant, double rate,
                                    int64_t seed, const Session& session) {
  TrainingOptions training = options.training;
  training.genotype = (session.directory().path() / "genotypes" / (variant.name + ".json")).string();
  training.train.optimizer.lr = rate;
  training.run.seed = seed;
  return training;
}

TrainedVariant train_one(const TrainedVariantsOptions& options, const std::string& base, const Variant& variant,
                         double rate, int64_t seed, Session& session) {
  TrainedVariant trained{base, variant, rate, seed};
  trained.folder = part_name(variant.name, rate, seed);
  try {
    session.part(trained.folder, {.verb = "train"}, training_of_variant(options, variant, rate, seed, session),
                 [](const TrainingOptions& own, Session& part) { train(own, part); });
  } catch (const Error& error) {
    // A rate that is too high for a cell is a finding, not a failure; anything else is one.
    if (!is_divergence(error)) throw;
    log::warning("{}: {}", trained.folder, error.what());
    trained.diverged = true;
  }
  const auto folder = session.directory().path() / trained.folder;
  if (std::filesystem::exists(folder / "events.sqlite")) read_curves(folder, trained);
  return trained;
}

struct Band {
  double sum = 0, low = INFINITY, high = -INFINITY;
  int count = 0;
  void add(double value) {
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
    ++count;
  }
};

// What trainings are told apart by: width or, where that is the same for all of them by construction, the share of
// operations that were replaced, or whose operations they are.
struct CurveGroup {
  double order = 0;
  std::string name{};
  auto operator<=>(const CurveGroup&) const = default;
};

CurveGroup group_of(const Variant& variant, const std::set<std::string>& kinds) {
  if (kinds == std::set<std::string>{"replaced"}) {
    return {variant.share, fmt::format("{:g} % replaced", 100 * variant.share)};
  }
  if (kinds == std::set<std::string>{"operations"}) {
    return variant.kind == "original" ? CurveGroup{0, "original"} : CurveGroup{1, "other operations"};
  }
  return {-variant.topology.width, fmt::format("{:.4g}c", variant.topology.width)};
}

std::vector<Curve> grouped_curves(const std::vector<const TrainedVariant*>& chosen, Points TrainedVariant::*which) {
  std::set<std::string> kinds;
  for (const TrainedVariant* trained : chosen) kinds.insert(trained->variant.kind);
  kinds.erase("original");
  std::map<CurveGroup, std::map<double, Band>> groups;
  for (const TrainedVariant* trained : chosen) {
    for (const auto& [epoch, value] : trained->*which) {
      if (std::isfinite(value)) groups[group_of(trained->variant, kinds)][epoch].add(value);
    }
  }
  std::vector<Curve> curves;
  for (const auto& [group, epochs] : groups) {
    Curve& curve = curves.emplace_back(Curve{group.name, {}});
    for (const auto& [epoch, band] : epochs) {
      curve.points.emplace_back(epoch, band.sum / band.count);
      curve.band.emplace_back(band.low, band.high);
    }
  }
  return curves;
}

}  // namespace

TrainedVariantsOptions::TrainedVariantsOptions() {
  variants.connections = 4;
  variants.adapted = variants.deepest = false;
  training.network.cells = 20;
  training.network.channels = 36;
  training.data.name = "cifar10";
  training.data.batch = 80;
  training.train.epochs = 600;
}

void TrainedVariantsOptions::declare(OptionTable& table, const std::string& name) {
  auto section = table.section(name, "Which cells are trained, how often, and what is counted.");
  section.add("cells-of", genotypes, "genotypes whose variants are trained; also accepted as arguments");
  section.add("variant-seed", variant_seed, "random seed for drawing variants").at_least(0);
  section.add("rates", rates, "learning rates above 0; one training for each").range(0, 1000);
  section.add("seeds", seeds, "trainings per variant, with consecutive seeds starting at run.seed").range(1, 1000);
  section.add("accuracy", accuracy, "report the number of epochs needed to reach this test accuracy (percent)")
      .range(0, 100);
  variants.declare(table);
  training.declare(table);
}

void TrainedVariantsOptions::check() const {
  if (genotypes.empty()) fail("A genotype was expected, as in 'nascent analyze convergence darts-v2'.");
  if (rates.empty()) fail("--rates is empty; at least one learning rate is needed.");
  for (const double rate : rates) {
    if (!(rate > 0))
      fail("--rates {}: nothing is learnt at such a rate. Give rates above 0, as in --rates 0.025.", rate);
  }
}

void check_trainings(const TrainedVariantsOptions& options) {
  options.check();
  const ImageData data(options.training.data, static_cast<uint64_t>(options.training.run.seed));
  const std::vector<NamedVariant> variants = variants_of(options);
  cluster::require_work(static_cast<int64_t>(variants.size() * options.rates.size()) * options.seeds, "trainings");
  for (const auto& [base, variant] : variants) {
    plan_network(*find_space(variant.genotype.space), variant.genotype, options.training.network, data.shape(),
                 data.classes());
  }
}

std::vector<TrainedVariant> train_variants(const TrainedVariantsOptions& options, Session& session) {
  options.check();
  const auto folder = session.directory().path() / "genotypes";
  std::filesystem::create_directories(folder);
  const std::vector<NamedVariant> variants = variants_of(options);
  const auto for_each = [&](const auto& act) {
    for (const NamedVariant& named : variants) {
      for (const double rate : options.rates) {
        for (int64_t seed = 0; seed < options.seeds; ++seed) act(named, rate, options.training.run.seed + seed);
      }
    }
  };
  // Where there are several ranks, they are trained side by side.
  PartsAhead ahead(session, options.training.run, options.training.data);
  for (const auto& [base, variant] : variants) {
    write_file(folder / (variant.name + ".json"), to_text(variant.genotype, "json"));
  }
  for_each([&](const NamedVariant& named, double rate, int64_t seed) {
    ahead.add(part_name(named.variant.name, rate, seed), {.verb = "train"},
              training_of_variant(options, named.variant, rate, seed, session));
  });
  ahead.run();
  std::vector<TrainedVariant> all;
  for_each([&](const NamedVariant& named, double rate, int64_t seed) {
    all.push_back(train_one(options, named.base, named.variant, rate, seed, session));
  });
  return all;
}

double TrainedVariant::epochs_to(double accuracy) const {
  for (const auto& [epoch, value] : top1) {
    if (value >= accuracy) return epoch;
  }
  return NAN;
}

double TrainedVariant::loss_area() const {
  double sum = 0;
  for (const auto& [epoch, value] : loss) sum += value;
  return loss.empty() ? NAN : sum / static_cast<double>(loss.size());
}

namespace {

// The end of the loss axis. In the first epochs running statistics lag behind the weights, and losses are tens of times
// what they become; drawn whole, they would leave nothing to be seen of the rest. 0: all of it is drawn.
double loss_to_show(const std::vector<const TrainedVariant*>& trained) {
  double late = 0, all = 0;
  for (const TrainedVariant* one : trained) {
    for (const auto& [epoch, value] : one->loss) {
      if (!std::isfinite(value)) continue;
      all = std::max(all, value);
      if (2 * epoch > one->loss.back().first) late = std::max(late, value);
    }
  }
  return all > 3 * late ? 1.5 * late : 0;
}

}  // namespace

std::vector<FigurePanel> convergence_panels(const std::vector<TrainedVariant>& trained, const std::string& base,
                                            double rate) {
  std::vector<const TrainedVariant*> chosen;
  for (const TrainedVariant& one : trained) {
    if (one.base == base && one.rate == rate) chosen.push_back(&one);
  }
  FigurePanel loss{fmt::format("{}, learning rate {:g}", base, rate), "epoch", "test loss", {}};
  FigurePanel top1{"", "epoch", "test accuracy (%)", {}};
  loss.plot.curves = grouped_curves(chosen, &TrainedVariant::loss);
  loss.plot.top = loss_to_show(chosen);
  top1.plot.curves = grouped_curves(chosen, &TrainedVariant::top1);
  for (FigurePanel* panel : {&loss, &top1}) panel->plot.width = 420, panel->plot.height = 260;
  return {loss, top1};
}

BarPlot generalisation_bars(const std::vector<TrainedVariant>& trained, const std::string& base) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const TrainedVariant*>> groups;
  std::map<double, size_t> widths;
  for (const TrainedVariant& one : trained) {
    if (one.base != base || one.diverged) continue;
    if (groups[one.variant.name].empty()) order.push_back(one.variant.name);
    groups[one.variant.name].push_back(&one);
    widths[one.variant.topology.width] = 0;
  }
  size_t next = 0;
  for (auto& [width, place] : widths) place = next++;
  BarPlot plot;
  for (const std::string& name : order) {
    double sum = 0, squares = 0;
    const auto count = static_cast<double>(groups[name].size());
    for (const TrainedVariant* one : groups[name]) sum += one->final_top1, squares += one->final_top1 * one->final_top1;
    const double mean = sum / count;
    const double deviation = count > 1 ? std::sqrt(std::max(0.0, (squares - count * mean * mean) / (count - 1))) : 0;
    plot.bars.push_back({name, mean, deviation, widths[groups[name][0]->variant.topology.width]});
  }
  return plot;
}

std::string trained_csv(const std::vector<TrainedVariant>& trained, double accuracy) {
  std::string text =
      "base,variant,kind,width,depth,rate,seed,final_top1,epochs_to_accuracy,mean_loss,diverged,folder\n";
  const auto known = [](double number) { return std::isnan(number) ? "" : fmt::format("{:.6g}", number); };
  for (const TrainedVariant& one : trained) {
    text += fmt::format("{},{},{},{},{},{:g},{},{:.4f},{},{},{},{}\n", one.base, one.variant.name, one.variant.kind,
                        one.variant.topology.width, one.variant.topology.depth, one.rate, one.seed, one.final_top1,
                        known(one.epochs_to(accuracy)), known(one.loss_area()), one.diverged ? 1 : 0, one.folder);
  }
  return text;
}

std::string trained_curves_csv(const std::vector<TrainedVariant>& trained) {
  std::string text = "variant,rate,seed,epoch,loss,top1\n";
  for (const TrainedVariant& one : trained) {
    const std::map<double, double> top1(one.top1.begin(), one.top1.end());
    for (const auto& [epoch, loss] : one.loss) {
      const auto found = top1.find(epoch);
      text += fmt::format("{},{:g},{},{:g},{:.6g},{}\n", one.variant.name, one.rate, one.seed, epoch, loss,
                          found == top1.end() ? "" : fmt::format("{:.4f}", found->second));
    }
  }
  return text;
}

Json trained_json(const std::vector<TrainedVariant>& trained, double accuracy) {
  Json rows = Json::array();
  for (const TrainedVariant& one : trained) {
    rows.push_back({{"base", one.base},
                    {"variant", one.variant.name},
                    {"kind", one.variant.kind},
                    {"width", one.variant.topology.width},
                    {"depth", one.variant.topology.depth},
                    {"share", one.variant.share},
                    {"rate", one.rate},
                    {"seed", one.seed},
                    {"final_top1", one.final_top1},
                    {"epochs_to_accuracy", json_number(one.epochs_to(accuracy))},
                    {"mean_loss", json_number(one.loss_area())},
                    {"diverged", one.diverged},
                    {"folder", one.folder}});
  }
  return rows;
}

}  // namespace nascent
