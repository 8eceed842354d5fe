// nascent demo: a search and a training on Fashion-MNIST, in minutes.
#include "nascent/cli/search_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/core/log.h"
#include "nascent/core/progress.h"
#include "nascent/core/recipes.h"
#include "nascent/core/text.h"
#include "nascent/train/training.h"

namespace nascent {
namespace {

class DemoVerb : public Verb {
 public:
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  bool scales_itself() const override { return true; }
  void declare(OptionTable& table) override {
    run_.declare(table);
    table.section("demo", "").add("scale", scale_, "--scale for search and training").flag("demo-scale");
  }
  void resolve(const Invocation& invocation) override {
    if (!invocation.scale.empty()) scale_ = invocation.scale;
  }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, run_);
    session.begin("", {{"Data set", "fashion-mnist"}});
    Json result;
    session.run([&] {
      const Json found = search_part(invocation, session), trained = train_part(session);
      result = {{"search", found}, {"train", trained}, {"seconds", session.seconds()}};
      session.directory().write_genotype(find_genotype(folder(session, "search")));
      session.conclude(result);
    });
    const Json& trained = result["train"];
    invocation.print(fmt::format("Test accuracy: {:.2f} % (top 5: {:.2f} %), {} parameters",
                                 trained["test_top1"].get<double>(), trained["test_top5"].get<double>(),
                                 engineering(trained["parameters"].get<int64_t>())));
    invocation.print(fmt::format("\nDone in {}.", clock_text(result["seconds"].get<double>())));
    invocation.print(fmt::format("How the cell was found: {}", folder(session, "search") + "/report.html"));
    invocation.print(fmt::format("How it was trained:     {}", folder(session, "train") + "/report.html"));
    result["search"]["report"] = folder(session, "search") + "/report.html";
    result["train"]["report"] = folder(session, "train") + "/report.html";
    result["directory"] = session.directory().path().string();
    return result;
  }

 private:
  static std::string folder(Session& session, const std::string& part) {
    return (session.directory().path() / part).string();
  }

  // As --scale has it.
  template <class Options>
  void make_smaller(Options& options) const {
    if (scale_.empty()) return;
    OptionTable table;
    options.declare(table);
    options.resolve();
    apply_scale(Scale::parse(scale_), options.scale_limits(), {}, table);
  }

  Json search_part(const Invocation& invocation, Session& session) const {
    log::info("1. Search for a cell on Fashion-MNIST (nascent search --recipe demo-search)");
    auto options = options_of<SearchOptions>(find_recipe("demo-search"));
    options.run.seed = run_.seed;
    make_smaller(options);
    const Json found = session.part("search", start_of("search", "demo-search"), options,
                                    [](const SearchOptions& resolved, Session& part) { search(resolved, part); });
    print_search(invocation, search_result(folder(session, "search")));
    return found;
  }

  Json train_part(Session& session) const {
    log::info("2. Train the network made of it (nascent train --recipe demo-train)");
    auto options = options_of<TrainingOptions>(find_recipe("demo-train"));
    options.run.seed = run_.seed;
    options.genotype = folder(session, "search");
    make_smaller(options);
    SessionStart start = start_of("train", "demo-train");
    start.command.insert(start.command.end(), {"--genotype", options.genotype});
    return session.part("train", start, options,
                        [](const TrainingOptions& resolved, Session& part) { train(resolved, part); });
  }

  SessionStart start_of(const std::string& verb, const std::string& recipe) const {
    std::vector<std::string> command = {"--recipe", recipe, "--seed", std::to_string(run_.seed)};
    if (!scale_.empty()) command.insert(command.end(), {"--scale", scale_});
    return {.verb = verb, .command = command, .recipe = recipe};
  }

  RunOptions run_;
  std::string scale_;  // of both parts; "": the recipes as they are
};

NASCENT_REGISTER(Verb, "demo", "searches and trains on Fashion-MNIST in a few minutes",
                 [] { return std::make_unique<DemoVerb>(); });

}  // namespace
}  // namespace nascent
