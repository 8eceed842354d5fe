// NASI as a search method.
#include "nascent/search/method.h"

namespace nascent {
namespace {

class NasiMethod : public Method {
 public:
  explicit NasiMethod(const Problem& problem) {
    const SearchOptions& options = problem.options();
    const ImageData& data = problem.images();
    const auto supernet =
        std::make_shared<Network>(plan_supernet(*problem.space(), options.network, data.shape(), data.classes()),
                                  problem.seed(), options.score.initialiser);
    nasi_ = std::make_unique<Nasi>(problem.space(), supernet, data.training(data.all(), "nasi"), options.nasi,
                                   problem.seed());
  }

  Found run(Session& session) override {
    session.run(*nasi_);
    return {.genotype = nasi_->genotype()};
  }

 private:
  std::unique_ptr<Nasi> nasi_;
};

NASCENT_REGISTER(
    Method, "nasi", "at initialisation: one step up the expected trace of the tangent kernel (Shu 2022)",
    [](const Problem& problem) { return std::make_unique<NasiMethod>(problem); },
    MethodFacts{.recipe = "nasi-fix", .sections = {"nasi", "score"}});

}  // namespace
}  // namespace nascent
