#include "nascent/analysis/trained_variants_analysis.h"

#include <cmath>

#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/picture_files.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

std::string training_setting(const TrainedVariantsOptions& options) {
  const TrainingOptions& training = options.training;
  return fmt::format("{} of {} cells, {} channels, {} epochs, {} seed(s)", training.data.name, training.network.cells,
                     training.network.channels, training.train.epochs, options.seeds);
}

// A picture per learning rate.
std::vector<ReportPicture> draw_convergence(const TrainedVariantsOptions& options,
                                            const std::vector<TrainedVariant>& trained, const std::string& base,
                                            const std::filesystem::path& folder) {
  std::vector<ReportPicture> pictures;
  for (const double rate : options.rates) {
    const std::string name = fmt::format("{}-rate{:g}", base, rate);
    if (!write_picture(folder / name, convergence_panels(trained, base, rate))) break;
    pictures.push_back(
        {base, name + ".svg",
         fmt::format("{} and its variants at learning rate {:g}, on {}: the mean of each curve's variants and seeds, "
                     "from the lowest to the highest shaded.",
                     base, rate, training_setting(options))});
  }
  return pictures;
}

std::vector<ReportPicture> draw_generalisation(const TrainedVariantsOptions& options,
                                               const std::vector<TrainedVariant>& trained, const std::string& base,
                                               const std::filesystem::path& folder) {
  const BarPlot plot = generalisation_bars(trained, base);
  const PicturePanel panel{base, "the original, then by width", "test accuracy (%)", script_of(plot)};
  if (!write_picture(folder / base, std::vector{panel})) return {};
  std::vector<std::string> names;
  for (size_t i = 0; i < plot.bars.size(); ++i) names.push_back(fmt::format("{} {}", i + 1, plot.bars[i].name));
  return {{base, base + ".svg",
           fmt::format("Test accuracy at the end, on {}, with the deviation over seeds: {}.", training_setting(options),
                       join(names, ", "))}};
}

}  // namespace

TrainedVariantsOptions usual_options(VariantsQuestion question) {
  TrainedVariantsOptions options;
  if (question == VariantsQuestion::generalisation) {
    options.variants.connections = 13;
    options.variants.adapted = true;
    options.seeds = 3;
  }
  return options;
}

Json analyse_trained_variants(const TrainedVariantsOptions& options, VariantsQuestion question, Session& session) {
  if (!session.resumed()) check_trainings(options);
  const bool convergence = question == VariantsQuestion::convergence;
  session.begin(convergence ? "convergence" : "generalisation",
                {{"Cells", join(options.genotypes, ", ")}, {"Data set", options.training.data.name}});
  Json result;
  session.run([&] {
    const std::vector<TrainedVariant> trained = train_variants(options, session);
    result = {{"trainings", trained_json(trained, options.accuracy)}};
    const std::filesystem::path folder = session.directory().path();
    write_file(folder / "trainings.csv", trained_csv(trained, options.accuracy));
    write_file(folder / "curves.csv", trained_curves_csv(trained));
    std::vector<ReportPicture> pictures;
    for (const std::string& genotype : options.genotypes) {
      const std::string base = std::filesystem::path(genotype).stem().string();
      for (ReportPicture& picture : convergence ? draw_convergence(options, trained, base, folder)
                                                : draw_generalisation(options, trained, base, folder)) {
        pictures.push_back(std::move(picture));
      }
    }
    write_pictures(folder, pictures);
    session.conclude(result);
  });
  return result;
}

std::vector<std::string> describe_trained_variants(const Json& result, double accuracy) {
  std::vector<std::string> lines;
  for (const Json& one : result["trainings"]) {
    const Json &epochs = one["epochs_to_accuracy"], &loss = one["mean_loss"];
    lines.push_back(fmt::format(
        "{:<32} rate {:<7g} seed {:<3} {:>6.2f} %, {:g} % {}, mean loss {:.4f}{}", one["variant"].get<std::string>(),
        one["rate"].get<double>(), one["seed"].get<int64_t>(), one["final_top1"].get<double>(), accuracy,
        epochs.is_null() ? "never reached" : fmt::format("after {:g} epochs", epochs.get<double>()),
        loss.is_null() ? NAN : loss.get<double>(), one["diverged"].get<bool>() ? ", diverged" : ""));
  }
  return lines;
}

}  // namespace nascent
