// nascent data: what is known of a data set.
#include "nascent/cli/verb.h"
#include "nascent/data/image_data.h"

namespace nascent {
namespace {

class DataVerb : public Verb {
 public:
  std::string arguments() const override { return "[NAME]"; }
  void declare(OptionTable& table) override { data_.declare(table); }

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("data set", false);
    if (name.empty() && !invocation.options->at("data.name", "").was_set()) return list(invocation);
    if (!name.empty()) data_.name = name;
    const ImageData data(data_, 0);
    const auto& statistics = data.statistics();
    const Shape shape = data.shape();
    invocation.print(data.describe());
    invocation.print(
        fmt::format("images    {} x {} x {} (channels, height, width)", shape.channels, shape.height, shape.width));
    invocation.print(fmt::format("classes   {}", join(data.class_names(), ", ")));
    invocation.print(fmt::format("mean      {:.4f}", fmt::join(statistics.mean, ", ")));
    invocation.print(fmt::format("deviation {:.4f}", fmt::join(statistics.deviation, ", ")));
    return {{"name", data_.name},
            {"train", data.all().size()},
            {"test", data.test_size()},
            {"shape", {shape.channels, shape.height, shape.width}},
            {"classes", data.class_names()},
            {"mean", statistics.mean},
            {"deviation", statistics.deviation}};
  }

 private:
  static Json list(const Invocation& invocation) {
    Json all = Json::array();
    for (const auto& [name, entry] : Dataset::Registry::instance().entries()) {
      invocation.print(fmt::format("{:<14} {}", name, entry.description));
      all.push_back({{"name", name}, {"description", entry.description}});
    }
    return all;
  }

  DataOptions data_;
};

NASCENT_REGISTER(Verb, "data", "lists the data sets, or describes one", [] { return std::make_unique<DataVerb>(); });

}  // namespace
}  // namespace nascent
