#include "nascent/serve/http_server.h"

#include "nascent/core/error.h"

#ifdef NASCENT_HAS_MICROHTTPD

#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstring>
#include <exception>
#include <list>

#include "nascent/core/log.h"
#include "nascent/serve/gate.h"

namespace nascent::serve {
namespace {

constexpr size_t kConnectionMemory = 16 << 10;
constexpr unsigned kMostConnections = 512;  // the library's own limit, above ours
constexpr size_t kComfortable = 384;        // beyond that, the one that has waited longest goes
constexpr unsigned kIdleSeconds = 30;

// The connections there are, in the order in which they may have to go: first those that never sent a whole request.
class Crowd {
 public:
  struct Guest {
    int socket = -1;
    bool answered = false;
    std::list<Guest*>::iterator place;
  };

  Guest* enter(int socket) {
    if (strangers_.size() + guests_.size() >= kComfortable) make_room();
    auto* guest = new Guest{socket, false, {}};
    guest->place = strangers_.insert(strangers_.end(), guest);
    return guest;
  }

  // It has sent a request: others go before it.
  void answer(Guest* guest) {
    if (guest == nullptr || guest->socket < 0) return;
    guests_.splice(guests_.end(), guest->answered ? guests_ : strangers_, guest->place);
    guest->answered = true;
  }

  void leave(Guest* guest) {
    if (guest == nullptr) return;
    if (guest->socket >= 0) (guest->answered ? guests_ : strangers_).erase(guest->place);
    delete guest;
  }

 private:
  void make_room() {
    auto& from = strangers_.empty() ? guests_ : strangers_;
    Guest* oldest = from.front();
    from.pop_front();
    ::shutdown(oldest->socket, SHUT_RDWR);  // the library sees the end of the connection and closes it
    oldest->socket = -1;
  }

  std::list<Guest*> strangers_, guests_;
};

std::string header_of(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

Request request_of(MHD_Connection* connection, const char* method, const char* path) {
  Request request{.method = method, .path = path};
  request.host = header_of(connection, MHD_HTTP_HEADER_HOST);
  request.cookie = header_of(connection, MHD_HTTP_HEADER_COOKIE);
  request.fetch_site = header_of(connection, "Sec-Fetch-Site");
  MHD_get_connection_values(
      connection, MHD_GET_ARGUMENT_KIND,
      [](void* query, MHD_ValueKind, const char* key, const char* value) {
        static_cast<decltype(request.query)*>(query)->emplace(key, value == nullptr ? "" : value);
        return MHD_YES;
      },
      &request.query);
  return request;
}

struct Pieces {
  std::function<std::string()> next;
  std::string rest;
};

ssize_t next_piece(void* state, uint64_t, char* buffer, size_t most) {
  auto& pieces = *static_cast<Pieces*>(state);
  try {
    if (pieces.rest.empty()) pieces.rest = pieces.next();
  } catch (const std::exception& error) {
    log::warning("{}", error.what());
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
  if (pieces.rest.empty()) return MHD_CONTENT_READER_END_OF_STREAM;
  const size_t count = std::min(most, pieces.rest.size());
  std::memcpy(buffer, pieces.rest.data(), count);
  pieces.rest.erase(0, count);
  return static_cast<ssize_t>(count);
}

MHD_Response* library_response(Response& response) {
  if (response.file) return MHD_create_response_from_fd64(response.file_size, response.file.release());
  if (response.pieces) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 << 10, next_piece,
                                             new Pieces{std::move(response.pieces), ""},
                                             [](void* state) { delete static_cast<Pieces*>(state); });
  }
  auto* body = new std::string(std::move(response.body));
  return MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), body->data(), [](void* text) { delete static_cast<std::string*>(text); }, body);
}

MHD_Result send(MHD_Connection* connection, Response response) {
  MHD_Response* made = library_response(response);
  if (made == nullptr) return MHD_NO;
  MHD_add_response_header(made, MHD_HTTP_HEADER_CONTENT_TYPE, response.type.c_str());
  for (const auto& [name, value] : response.headers) MHD_add_response_header(made, name.c_str(), value.c_str());
  for (const auto& [name, value] : protective_headers()) {
    // A page may set its own, stricter ones.
    if (MHD_get_response_header(made, name.c_str()) == nullptr) {
      MHD_add_response_header(made, name.c_str(), value.c_str());
    }
  }
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(response.status), made);
  MHD_destroy_response(made);
  return queued;
}

std::string address_text(const std::string& host, uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

struct FreeAddress {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

OpenFile listening_socket(const std::string& host, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0) {
    fail("--host {}: no such address on this machine ({}).", host, gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, FreeAddress> list(found);
  OpenFile opened(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!opened) fail("Cannot create a socket: {}.", strerror(errno));
  const int yes = 1;
  ::setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(opened.get(), list->ai_addr, list->ai_addrlen) != 0 || ::listen(opened.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE) {
      fail(
          "{} is in use, perhaps by another 'nascent serve'. Choose another port with --port, or --port 0 for any that "
          "is free.",
          address_text(host, port));
    }
    fail("Cannot listen at {}: {}.", address_text(host, port), strerror(errno));
  }
  return opened;
}

uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  const bool six = address.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

struct HttpServer::Daemon {
  OpenFile socket;
  uint16_t port = 0;
  Handler handler;
  Crowd crowd;  // only the answering thread knows it
  MHD_Daemon* daemon = nullptr;

  static MHD_Result answer(void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                           const char*, size_t*, void**) {
    auto& daemon = *static_cast<Daemon*>(self);
    const auto* context = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (context != nullptr) daemon.crowd.answer(static_cast<Crowd::Guest*>(context->socket_context));
    try {
      return send(connection, daemon.handler(request_of(connection, method, path)));
    } catch (const Error& error) {  // a damaged run, say
      return send(connection, {.status = 500, .body = fmt::format("{}\n", error.what())});
    } catch (const std::exception& error) {
      log::warning("{} {}: {}", method, path, error.what());
      return send(connection, {.status = 500, .body = "This cannot be shown; the terminal says why.\n"});
    }
  }

  static void come_or_go(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode code) {
    auto& crowd = static_cast<Daemon*>(self)->crowd;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      crowd.leave(static_cast<Crowd::Guest*>(*context));
      *context = nullptr;
      return;
    }
    const auto* socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = socket == nullptr ? nullptr : crowd.enter(socket->connect_fd);
  }
};

HttpServer::HttpServer(const std::string& host, uint16_t port) : daemon_(std::make_unique<Daemon>()) {
  daemon_->socket = listening_socket(host, port);
  daemon_->port = port_of(daemon_->socket.get());
}

HttpServer::~HttpServer() {
  if (daemon_->daemon != nullptr) MHD_stop_daemon(daemon_->daemon);
}

uint16_t HttpServer::port() const { return daemon_->port; }

void HttpServer::start(Handler handler) {
  daemon_->handler = std::move(handler);
  // Signals are for the thread that waits for them; one that hangs up is no reason to end.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Addresses are taken as they are sent: nothing has to be decoded, so nothing can be decoded twice.
  const auto as_sent = +[](void*, MHD_Connection*, char* text) { return std::strlen(text); };
  // The listening socket belongs to the library from here on.
  daemon_->daemon = MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr, nullptr,
                                     Daemon::answer, daemon_.get(), MHD_OPTION_LISTEN_SOCKET, daemon_->socket.get(),
                                     MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory, MHD_OPTION_CONNECTION_LIMIT,
                                     kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
                                     MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, as_sent, nullptr,
                                     MHD_OPTION_NOTIFY_CONNECTION, Daemon::come_or_go, daemon_.get(), MHD_OPTION_END);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (daemon_->daemon == nullptr) fail("The server cannot be started.");
  daemon_->socket.release();
}

}  // namespace nascent::serve

#else

namespace nascent::serve {

struct HttpServer::Daemon {};

HttpServer::HttpServer(const std::string&, uint16_t) {
  fail(
      "This nascent was built without libmicrohttpd, which 'nascent serve' needs. Install it (apt-get install "
      "libmicrohttpd-dev, or scripts/setup) and build again.");
}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return 0; }
void HttpServer::start(Handler) {}

}  // namespace nascent::serve

#endif
