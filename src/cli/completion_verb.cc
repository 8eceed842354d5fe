// nascent completion: the script that teaches a shell to complete verbs, flags and names.
#include "nascent/cli/completion.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class CompletionVerb : public Verb {
 public:
  std::string arguments() const override { return "SHELL"; }
  void declare(OptionTable&) override {}
  Json run(const Invocation& invocation) override {
    const std::string script = completion_script(invocation.argument("shell"));
    invocation.print(script);
    return {{"script", script}};
  }
};

NASCENT_REGISTER(Verb, "completion", "prints a completion script for bash, zsh or fish",
                 [] { return std::make_unique<CompletionVerb>(); });

}  // namespace
}  // namespace nascent
