// nascent ensemble soup: snapshots of one training averaged into one network.
#include "nascent/cli/verb.h"
#include "nascent/ensemble/soup.h"

namespace nascent {
namespace {

class EnsembleSoupVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN|SNAPSHOT..."; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    options_.models.insert(options_.models.end(), invocation.arguments.begin(), invocation.arguments.end());
  }

  Json run(const Invocation& invocation) override {
    Json result = make_soup(options_);
    std::string list;
    for (const Json& snapshot : result.at("ingredients"))
      list += fmt::format("{}{}", list.empty() ? "" : ", ", snapshot.get<int>());
    invocation.print(fmt::format("Snapshots in the soup: {} of {}", list, result.at("snapshots").get<size_t>()));
    for (const char* key : {"valid_top1", "best_valid_top1", "test_top1", "last_test_top1"}) {
      const std::string what = key;
      const std::string name = what == "valid_top1"        ? "accuracy of the soup on held-out images"
                               : what == "best_valid_top1" ? "of the best snapshot there"
                               : what == "test_top1"       ? "accuracy of the soup on test images"
                                                           : "of the last snapshot there";
      invocation.print(fmt::format("  {:<42} {:>6.2f} %", name, result.at(key).get<double>()));
    }
    invocation.print(fmt::format("Model: {}", result.at("model").get<std::string>()));
    return result;
  }

 private:
  SoupOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble soup", "averages the weights of snapshots of one training, as long as that helps",
                 [] { return std::make_unique<EnsembleSoupVerb>(); });

}  // namespace
}  // namespace nascent
