// nascent serve: a live page of the runs in a folder.
#include <signal.h>

#include "nascent/cli/verb.h"
#include "nascent/core/log.h"
#include "nascent/serve/page_server.h"

namespace nascent {
namespace {

// Until Ctrl-C or a request to end; the thread sleeps meanwhile.
void wait_for_the_end(const sigset_t& signals) {
  int signal = 0;
  sigwait(&signals, &signal);
}

class ServeVerb : public Verb {
 public:
  std::string arguments() const override { return "[FOLDER]"; }
  void declare(OptionTable& table) override { options_.declare(table); }

  Json run(const Invocation& invocation) override {
    if (const std::string folder = invocation.argument("folder", false); !folder.empty()) options_.folder = folder;
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before there are threads, which inherit it
    const PageServer server(options_);
    announce(invocation, server);
    wait_for_the_end(signals);
    return {{"address", server.address()}, {"folder", options_.folder}};
  }

 private:
  void announce(const Invocation& invocation, const PageServer& server) const {
    invocation.print(server.address());
    if (invocation.json) log::info("{}", server.address());
    log::info("Open this address in a browser; Ctrl-C ends the server.");
    if (server.runs() == 0) {
      log::info("There are no runs in {} yet; they appear on the page by themselves.", options_.folder);
    }
  }

  ServeOptions options_;
};

NASCENT_REGISTER(Verb, "serve", "shows the runs of a folder on a live page in the browser",
                 [] { return std::make_unique<ServeVerb>(); });

}  // namespace
}  // namespace nascent
