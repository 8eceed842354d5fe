// nascent ensemble select: the best ensemble of some trained models.
#include "nascent/cli/ensemble_output.h"
#include "nascent/cli/verb.h"
#include "nascent/core/text.h"
#include "nascent/ensemble/model_selection.h"

namespace nascent {
namespace {

class EnsembleSelectVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN|MODEL..."; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    options_.models.insert(options_.models.end(), invocation.arguments.begin(), invocation.arguments.end());
  }

  Json run(const Invocation& invocation) override {
    const Json result = select_models(options_);
    std::vector<std::string> members;
    for (const Json& member : result.at("members")) members.push_back(member.dump());
    invocation.print(fmt::format("Members: {} of {}", join(members, ", "), result.at("pool").get<size_t>()));
    invocation.print("Held-out images:");
    print_figures(invocation, result.at("valid"));
    invocation.print("Test images:");
    print_figures(invocation, result.at("test"));
    invocation.print(fmt::format("Model: {}", result.at("model").get<std::string>()));
    return result;
  }

 private:
  ModelSelectionOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble select", "selects the best ensemble of trained models on held-out images",
                 [] { return std::make_unique<EnsembleSelectVerb>(); });

}  // namespace
}  // namespace nascent
