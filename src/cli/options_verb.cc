// nascent options: the reference of every option of every verb.
#include "nascent/cli/help.h"
#include "nascent/cli/manual.h"

namespace nascent {
namespace {

class OptionsVerb : public Verb {
 public:
  std::string arguments() const override { return "[VERB]"; }
  void declare(OptionTable& table) override {
    auto section = table.section("options", "What is printed.");
    section.add("markdown", markdown_, "the whole reference as Markdown, as in docs/options.md");
    section.add("man", man_, "the whole reference as a manual page");
  }

  Json run(const Invocation& invocation) override {
    const std::string only = invocation.argument("verb", false);
    if (!only.empty()) Verb::Registry::instance().at(only);
    if (markdown_) {
      invocation.print(options_reference());
      return {{"markdown", options_reference()}};
    }
    if (man_) {
      invocation.print(manual_page());
      return {{"man", manual_page()}};
    }
    Json all = Json::object();
    for (const auto& [name, entry] : Verb::Registry::instance().entries()) {
      if (!only.empty() && name != only) continue;
      const auto verb = entry.make();
      OptionTable table;
      verb->declare(table);
      if (!table.options().empty()) invocation.print(fmt::format("# nascent {}\n\n{}", name, table.to_toml()));
      all[name] = table.to_json();
    }
    return all;
  }

 private:
  bool markdown_ = false, man_ = false;
};

NASCENT_REGISTER(Verb, "options", "prints every option with its default and meaning, as an option file",
                 [] { return std::make_unique<OptionsVerb>(); });

}  // namespace
}  // namespace nascent
