// nascent ensemble posterior: learns a distribution over the architectures of a trained supernet.
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/ensemble/posterior_training.h"

namespace nascent {
namespace {

class EnsemblePosteriorVerb : public Verb {
 public:
  bool resumable() const override { return true; }
  void declare(OptionTable& table) override { options_.declare(table); }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.run);
    train_posterior(options_, session);
    Json result = session.directory().result();
    invocation.print(fmt::format("Divergence from uniform: {:.3f} nats", result.at("divergence").get<double>()));
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = session.directory().path().string();
    return result;
  }

 private:
  PosteriorOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble posterior", "learns a distribution over the architectures of a trained supernet",
                 [] { return std::make_unique<EnsemblePosteriorVerb>(); });

}  // namespace
}  // namespace nascent
