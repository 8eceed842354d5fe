// nascent import: weights of DARTS and PC-DARTS in PyTorch, made into a model file.
#include "nascent/cli/verb.h"
#include "nascent/core/text.h"
#include "nascent/export/import_darts.h"

namespace nascent {
namespace {

class ImportVerb : public Verb {
 public:
  std::string arguments() const override { return "FILE"; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    table.section("import", "Whose weights are read.")
        .add("out", out_, "model file to write; empty: beside FILE, ending in .nascent");
  }

  Json run(const Invocation& invocation) override {
    const std::string file = invocation.argument("file of weights");
    const Model model = import_darts(read_state_dict(file), options_, file);
    const auto path =
        out_.empty() ? std::filesystem::path(file).replace_extension(".nascent") : std::filesystem::path(out_);
    save_model(model, path);
    const int64_t parameters = count_parameters(model.network->plan());
    invocation.print(fmt::format("{}: {} parameters, {} cells, images of {}, {} classes", path.string(),
                                 engineering(parameters), model.network_options.cells, model.input.text(),
                                 model.class_names.size()));
    return {{"model", path.string()}, {"parameters", parameters}, {"classes", model.class_names.size()}};
  }

 private:
  ImportOptions options_;
  std::string out_;
};

NASCENT_REGISTER(Verb, "import", "reads weights of DARTS and PC-DARTS from PyTorch into a model file",
                 [] { return std::make_unique<ImportVerb>(); });

}  // namespace
}  // namespace nascent
