// nascent data: what is known of a data set, and what would be done with it.
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/run/sample_page.h"

namespace nascent {
namespace {

class DataVerb : public Verb {
 public:
  std::string arguments() const override { return "[NAME]"; }
  void declare(OptionTable& table) override {
    data_.declare(table);
    table.section("data", "")
        .add("page", page_,
             "write an HTML page with the classes and samples of their pictures, as they are stored "
             "and as networks see them");
  }

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("data set", false);
    if (name.empty() && !invocation.options->at("data.name", "").was_set()) return list(invocation);
    if (!name.empty()) data_.name = name;
    const ImageData data(data_, 0);
    print(invocation, data);
    Json result = to_json(data);
    if (!page_.empty()) {
      write_file(page_, sample_page(data, data_.path.empty() ? data_.name : data_.path));
      invocation.print(fmt::format("page       {}", page_));
      result["page"] = page_;
    }
    return result;
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

  static void print(const Invocation& invocation, const ImageData& data) {
    const auto& statistics = data.statistics();
    const Shape stored = data.train().shape();
    invocation.print(data.describe());
    invocation.print(fmt::format("stored     {}", stored.fixed() ? stored.text() + " (channels x height x width)"
                                                                 : "pictures of different sizes"));
    invocation.print(fmt::format("seen as    {}", data.shape().text()));
    invocation.print(fmt::format("training   {}", transforms_text(data.train_transforms())));
    invocation.print(fmt::format("evaluation {}", transforms_text(data.eval_transforms())));
    invocation.print(fmt::format("mean       {:.4f}", fmt::join(statistics.mean, ", ")));
    invocation.print(fmt::format("deviation  {:.4f}", fmt::join(statistics.deviation, ", ")));
    const auto train = counts_by_class(data.train()), test = counts_by_class(data.test());
    for (size_t i = 0; i < train.size(); ++i) {
      invocation.print(fmt::format("{} {:<20} {} training, {} test", i == 0 ? "classes   " : "          ",
                                   data.class_names()[i], train[i], test[i]));
    }
  }

  Json to_json(const ImageData& data) const {
    const Shape shape = data.shape();
    return {{"name", data_.name},
            {"train", data.all().size()},
            {"test", data.test_size()},
            {"shape", {shape.channels, shape.height, shape.width}},
            {"classes", data.class_names()},
            {"train_counts", counts_by_class(data.train())},
            {"test_counts", counts_by_class(data.test())},
            {"train_transforms", data.train_transforms()},
            {"eval_transforms", data.eval_transforms()},
            {"notes", data.train().notes()},
            {"mean", data.statistics().mean},
            {"deviation", data.statistics().deviation}};
  }

  DataOptions data_;
  std::string page_;
};

NASCENT_REGISTER(Verb, "data", "lists the data sets, or describes one", [] { return std::make_unique<DataVerb>(); });

}  // namespace
}  // namespace nascent
