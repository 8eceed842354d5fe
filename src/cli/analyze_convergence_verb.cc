// nascent analyze convergence, nascent analyze generalisation: a cell and its variants trained side by side.
#include "nascent/analysis/trained_variants.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

class TrainedVariantsVerb : public Verb {
 public:
  explicit TrainedVariantsVerb(std::string section) : section_(std::move(section)) {}
  std::string arguments() const override { return "GENOTYPE..."; }
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  ScaleLimits scale_limits() const override { return options_.training.scale_limits(); }
  void declare(OptionTable& table) override { options_.declare(table, section_); }

  void resolve(const Invocation& invocation) override {
    options_.genotypes.insert(options_.genotypes.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.check();
    options_.training.genotype = options_.genotypes.front();
    options_.training.resolve(invocation.resume);
  }

  Json run(const Invocation& invocation) override {
    if (invocation.resume.empty()) check_trainings(options_);
    Session session(session_start(invocation), *invocation.options, options_.training.run);
    session.begin(section_, {{"Cells", join(options_.genotypes, ", ")}, {"Data set", options_.training.data.name}});
    Json result;
    session.run([&] {
      const std::vector<TrainedVariant> trained = train_variants(options_, session);
      result = {{"trainings", trained_json(trained, options_.accuracy)}};
      const auto folder = session.directory().path();
      write_file(folder / "trainings.csv", trained_csv(trained, options_.accuracy));
      std::vector<ReportPicture> pictures;
      for (const std::string& genotype : options_.genotypes) {
        draw(trained, std::filesystem::path(genotype).stem().string(), folder, pictures);
      }
      write_pictures(folder, pictures);
      print(invocation, trained);
      session.conclude(result);
    });
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = session.directory().path().string();
    return result;
  }

 protected:
  virtual void draw(const std::vector<TrainedVariant>& trained, const std::string& base,
                    const std::filesystem::path& folder, std::vector<ReportPicture>& pictures) const = 0;

  std::string setting() const {
    const TrainingOptions& t = options_.training;
    return fmt::format("{} of {} cells, {} channels, {} epochs, {} seed(s)", t.data.name, t.network.cells,
                       t.network.channels, t.train.epochs, options_.seeds);
  }

  TrainedVariantsOptions options_;

 private:
  void print(const Invocation& invocation, const std::vector<TrainedVariant>& trained) const {
    for (const TrainedVariant& one : trained) {
      const double epochs = one.epochs_to(options_.accuracy);
      invocation.print(fmt::format("{:<32} rate {:<7g} seed {:<3} {:>6.2f} %, {} to {:g} %, mean loss {:.4f}{}",
                                   one.variant.name, one.rate, one.seed, one.final_top1,
                                   std::isnan(epochs) ? "never" : fmt::format("{:g} epochs", epochs), options_.accuracy,
                                   one.loss_area(), one.diverged ? ", diverged" : ""));
    }
  }

  std::string section_;
};

class AnalyzeConvergenceVerb : public TrainedVariantsVerb {
 public:
  AnalyzeConvergenceVerb() : TrainedVariantsVerb("convergence") {}

 private:
  void draw(const std::vector<TrainedVariant>& trained, const std::string& base, const std::filesystem::path& folder,
            std::vector<ReportPicture>& pictures) const override {
    for (double rate : options_.rates) {
      const auto picture = draw_figure(convergence_panels(trained, base, rate));
      if (!picture) return;
      const std::string file = fmt::format("{}-rate{:g}.svg", base, rate);
      write_file(folder / file, *picture);
      pictures.push_back(
          {base, file,
           fmt::format(
               "{} and its variants at learning rate {:g}, on {}: the mean of each curve's variants and seeds, from "
               "the lowest to the highest shaded.",
               base, rate, setting())});
    }
  }
};

class AnalyzeGeneralisationVerb : public TrainedVariantsVerb {
 public:
  AnalyzeGeneralisationVerb() : TrainedVariantsVerb("generalisation") {
    options_.variants.connections = 13;
    options_.variants.adapted = true;
    options_.seeds = 3;
  }

 private:
  void draw(const std::vector<TrainedVariant>& trained, const std::string& base, const std::filesystem::path& folder,
            std::vector<ReportPicture>& pictures) const override {
    const BarPlot plot = generalisation_bars(trained, base);
    const auto picture = draw_picture({{base, "the original, then by width", "test accuracy (%)", script_of(plot)}});
    if (!picture) return;
    const std::string file = base + ".svg";
    write_file(folder / file, *picture);
    std::vector<std::string> names;
    for (size_t i = 0; i < plot.bars.size(); ++i) names.push_back(fmt::format("{} {}", i + 1, plot.bars[i].name));
    pictures.push_back({base, file,
                        fmt::format("Test accuracy at the end, on {}, with the deviation over seeds: {}.", setting(),
                                    join(names, ", "))});
  }
};

NASCENT_REGISTER(Verb, "analyze convergence", "trains a cell and its variants side by side: who converges first",
                 [] { return std::make_unique<AnalyzeConvergenceVerb>(); });
NASCENT_REGISTER(Verb, "analyze generalisation", "trains a cell and its variants side by side: who ends best",
                 [] { return std::make_unique<AnalyzeGeneralisationVerb>(); });

}  // namespace
}  // namespace nascent
