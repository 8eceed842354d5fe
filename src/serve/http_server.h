// The network side: an address to listen at, and a bound on what strangers can make it hold.
//
// One thread answers, and only when asked. A connection gets 16 KB for its headers; of connections there are a few
// hundred, and where more come, those that have waited longest without a whole request make room. So neither endless
// headers nor thousands of idle connections keep others out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "nascent/serve/exchange.h"

namespace nascent::serve {

class HttpServer {
 public:
  using Handler = std::function<Response(const Request&)>;

  // Listens at once and answers from start() on. Port 0: any that is free. An Error where the address cannot be had, or
  // where the program was built without libmicrohttpd.
  HttpServer(const std::string& host, uint16_t port);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  void start(Handler handler);

 private:
  struct Daemon;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace nascent::serve
