// nascent demo: a search and a training on Fashion-MNIST, in minutes.
#include "nascent/cli/recipes.h"
#include "nascent/cli/run_session.h"
#include "nascent/cli/verb.h"
#include "nascent/core/log.h"
#include "nascent/core/progress.h"

namespace nascent {
namespace {

// A fresh folder runs/demo-N that both parts go into.
std::string demo_folder() {
  for (int n = 1;; ++n) {
    const std::string folder = fmt::format("runs/demo-{}", n);
    if (!std::filesystem::exists(folder)) return folder;
  }
}

class DemoVerb : public Verb {
 public:
  void declare(OptionTable& table) override {
    auto section = table.section("run", "Where and how a run happens.");
    section.add("seed", seed_, "of every random stream").at_least(0);
    section.add("threads", threads_, "threads that compute; 0: one per core").range(0, 1024);
    section.add("out", out_, "folder of the demo; empty: a new one under runs/");
  }

  Json run(const Invocation& invocation) override {
    const auto start = std::chrono::steady_clock::now();
    const std::string folder = out_.empty() ? demo_folder() : out_;
    log::info("1. Search for a cell on Fashion-MNIST (nascent search --recipe demo-search)");
    const Json found = call(invocation, "search", "demo-search", folder + "/search", {});
    log::info("2. Train the network made of it (nascent train --recipe demo-train)");
    const Json trained =
        call(invocation, "train", "demo-train", folder + "/train", {"train.genotype=" + folder + "/search"});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    invocation.print(fmt::format("\nDone in {}.", clock_text(seconds)));
    invocation.print(fmt::format("How the cell was found: {}", found.at("report").get<std::string>()));
    invocation.print(fmt::format("How it was trained:     {}", trained.at("report").get<std::string>()));
    return {{"search", found}, {"train", trained}, {"seconds", seconds}};
  }

 private:
  // Runs another verb as its command line would.
  Json call(const Invocation& invocation, const std::string& name, const std::string& recipe, const std::string& out,
            const std::vector<std::string>& assignments) const {
    const auto verb = Verb::Registry::instance().make(name);
    OptionTable table;
    verb->declare(table);
    table.read_toml(find_recipe(recipe).text, "recipe " + recipe);
    for (const auto& assignment : assignments) table.read_assignment(assignment);
    table.read_assignment(fmt::format("run.seed={}", seed_));
    table.read_assignment(fmt::format("run.threads={}", threads_));
    table.read_assignment("run.out=" + out);
    Invocation inner = invocation;
    inner.verb = name;
    inner.recipe = recipe;
    inner.options = &table;
    inner.command_line = {"--recipe", recipe, "--out", out, "--seed", std::to_string(seed_)};
    return verb->run(inner);
  }

  int64_t seed_ = 1;
  int threads_ = 0;
  std::string out_;
};

NASCENT_REGISTER(Verb, "demo", "searches and trains on Fashion-MNIST in a few minutes",
                 [] { return std::make_unique<DemoVerb>(); });

}  // namespace
}  // namespace nascent
