// TE-NAS as a search method.
#include <algorithm>

#include "nascent/score/scorer.h"
#include "nascent/search/method.h"

namespace nascent {
namespace {

class TeNasMethod : public Method {
 public:
  explicit TeNasMethod(const Problem& problem) {
    const SearchOptions& options = problem.options();
    const ImageData& data = problem.images();
    const auto most = static_cast<int64_t>(data.all().size());
    const int64_t wanted = std::max(options.te_nas.batch, options.te_nas.regions);
    te_nas_ =
        std::make_unique<TeNas>(TeNasSetup{.space = problem.space(),
                                           .images = scoring_batch(data, std::min(most, wanted), problem.seed()).images,
                                           .classes = data.classes(),
                                           .ntk = options.score.kernel_gradients(),
                                           .seed = problem.seed()},
                                options.te_nas);
  }

  Found run(Session& session) override {
    session.run(*te_nas_);
    return {.genotype = te_nas_->genotype()};
  }

 private:
  std::unique_ptr<TeNas> te_nas_;
};

NASCENT_REGISTER(
    Method, "te-nas", "at initialisation: prunes by condition number and linear regions (Chen et al. 2021)",
    [](const Problem& problem) { return std::make_unique<TeNasMethod>(problem); },
    MethodFacts{.recipe = "te-nas", .sections = {"te-nas", "score"}});

}  // namespace
}  // namespace nascent
