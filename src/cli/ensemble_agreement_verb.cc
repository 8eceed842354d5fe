// nascent ensemble agreement: what shared weights say of ensembles beside what training makes of them.
#include "nascent/cli/verb.h"
#include "nascent/ensemble/agreement.h"

namespace nascent {
namespace {

class EnsembleAgreementVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN|MODEL..."; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    options_.models.insert(options_.models.end(), invocation.arguments.begin(), invocation.arguments.end());
  }

  Json run(const Invocation& invocation) override {
    const Json result = measure_agreement(options_);
    const std::string share = fmt::format("best {:g} %", 100 * result.at("share").get<double>());
    invocation.print(fmt::format("{:<13} {:<6} {:>2} {:>9}  {:>16}  {:>16}  {:>16}  {:>6}", "norms", "by", "n",
                                 "ensembles", "Spearman (p)", "Pearson (p)", share + " (p)", "chance"));
    for (const Json& row : result.at("rows")) {
      const auto value = [&](const char* key) {
        const Json& found = row.at(key);
        return found.is_number() ? found.get<double>() : 0.0;
      };
      invocation.print(fmt::format(
          "{:<13} {:<6} {:>2} {:>9}  {:>8.2f} ({:.3f})  {:>8.2f} ({:.3f})  {:>8.2f} ({:.3f})  "
          "{:>6.2f}",
          row.at("norms").get<std::string>(), row.at("figure").get<std::string>(), row.at("size").get<int>(),
          row.at("ensembles").get<int64_t>(), value("spearman"), value("spearman_p"), value("pearson"),
          value("pearson_p"), value("agreement"), value("agreement_p"), value("chance")));
    }
    return result;
  }

 private:
  AgreementOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble agreement", "measures how well shared weights rank trained ensembles",
                 [] { return std::make_unique<EnsembleAgreementVerb>(); });

}  // namespace
}  // namespace nascent
