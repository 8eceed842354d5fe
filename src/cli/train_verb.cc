// nascent train: trains the network of a genotype from scratch.
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/train/training.h"

namespace nascent {
namespace {

class TrainVerb : public Verb {
 public:
  std::string arguments() const override { return "[GENOTYPE]"; }
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  bool spreads() const override { return true; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    if (const std::string named = invocation.argument("genotype", false); !named.empty())
      name_genotype(named, invocation);
    options_.resolve(invocation.resume);
  }
  ScaleLimits scale_limits() const override { return options_.scale_limits(); }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.run);
    const TrainingResult result = train(options_, session);
    invocation.print(fmt::format("Test accuracy: {:.2f} % (top 5: {:.2f} %), {} parameters", result.test.top1,
                                 result.test.top5, engineering(result.parameters)));
    invocation.print(fmt::format("Model:  {}", result.model.string()));
    invocation.print(fmt::format("Report: {}", result.report.string()));
    Json json = result.to_json();
    json.update({{"model", result.model.string()},
                 {"directory", result.directory.string()},
                 {"report", result.report.string()}});
    return json;
  }

 private:
  void name_genotype(const std::string& named, const Invocation& invocation) {
    if (!invocation.resume.empty()) fail("'{}': a resumed run keeps its genotype.", named);
    if (!options_.genotype.empty() && options_.genotype != named) {
      fail("Two genotypes are named, '{}' and --genotype '{}'; one was expected.", named, options_.genotype);
    }
    options_.genotype = named;
  }

  TrainingOptions options_;
};

NASCENT_REGISTER(Verb, "train", "trains a genotype from scratch", [] { return std::make_unique<TrainVerb>(); });

}  // namespace
}  // namespace nascent
