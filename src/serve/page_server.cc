#include "nascent/serve/page_server.h"

#include <mutex>

#include "nascent/core/error.h"
#include "nascent/serve/gate.h"
#include "nascent/serve/http_server.h"
#include "nascent/serve/site.h"

namespace nascent {
namespace {

// Names that a request may call the server by.
std::vector<std::string> names_of(const ServeOptions& options) {
  std::vector<std::string> names = options.allow_hosts;
  names.push_back(options.host);
  if (serve::is_loopback(options.host)) {
    for (const char* name : {"127.0.0.1", "localhost", "::1"}) names.emplace_back(name);
  }
  return names;
}

// Whoever reads the network reads the token too, so nobody should end up there by mistake.
void require_intent(const ServeOptions& options) {
  if (serve::is_loopback(options.host) || !options.allow_hosts.empty()) return;
  fail(
      "--host {} lets other machines in, over a connection that is not encrypted. If that is what you want, say by "
      "which names they will call this one: --allow-host NAME. Otherwise stay at 127.0.0.1 and reach it through "
      "'ssh -L {}:127.0.0.1:{} THIS_MACHINE'.",
      options.host, options.port, options.port);
}

}  // namespace

void ServeOptions::declare(OptionTable& table) {
  auto section = table.section("serve", "Where the page is, and who may look at it.");
  section.add("port", port, "port to listen on; 0: any free port").range(0, 65535);
  section.add("host", host, "address to listen on; other than loopback only together with --allow-host");
  section.add("allow-host", allow_hosts, "additional host names under which browsers may reach this server");
}

struct PageServer::Parts {
  Parts(const ServeOptions& options)
      : site(options.folder),
        server(options.host, static_cast<uint16_t>(options.port)),
        gate(serve::random_token(), names_of(options), server.port()) {}

  serve::Response answer(const serve::Request& request) {
    if (auto refusal = gate.answer(request)) return std::move(*refusal);
    // The page itself is there at once; what it asks for waits for the first look at the runs.
    const bool of_runs = request.path.starts_with("/api/") || request.path.starts_with("/runs/");
    const auto lock = of_runs ? std::unique_lock(looking) : std::unique_lock<std::mutex>();
    return site.answer(request);
  }

  size_t look() {
    const std::lock_guard lock(looking);
    return site.runs().entries().size();
  }

  serve::Site site;
  serve::HttpServer server;
  serve::Gate gate;
  std::mutex looking;  // of whoever uses the runs: the answering thread, and the one that looks at them first
};

PageServer::PageServer(const ServeOptions& options) : host_(options.host) {
  require_intent(options);
  parts_ = std::make_unique<Parts>(options);
  parts_->server.start([parts = parts_.get()](const serve::Request& request) { return parts->answer(request); });
  runs_ = std::async(std::launch::async, [parts = parts_.get()] { return parts->look(); });
}

PageServer::~PageServer() = default;

std::string PageServer::address() const {
  const std::string host = host_.find(':') == std::string::npos ? host_ : "[" + host_ + "]";
  return fmt::format("http://{}:{}/?token={}", host, port(), token());
}

size_t PageServer::runs() const { return runs_.get(); }
uint16_t PageServer::port() const { return parts_->server.port(); }
const std::string& PageServer::token() const { return parts_->gate.token(); }

}  // namespace nascent
