// Requests byte by byte, as no browser would send them.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "nascent/core/options.h"
#include "nascent/serve/exchange.h"

namespace nascent::serve {

// Whether there is a server to ask.
#ifdef NASCENT_HAS_MICROHTTPD
constexpr bool kHasServer = true;
#else
constexpr bool kHasServer = false;
#endif
constexpr const char* kNoServer =
    "THE SERVER IS NOT TESTED: this build has no libmicrohttpd (apt-get install libmicrohttpd-dev).";

struct Answer {
  int status = 0;  // 0: the connection was closed without an answer
  std::string head{}, body{};
  std::string header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
};

inline OpenFile connect_to(uint16_t port, int seconds = 10) {
  OpenFile connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{seconds, 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return OpenFile();
  return connection;
}

// False once the other side has closed.
inline bool send_all(const OpenFile& connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

inline std::string receive_all(const OpenFile& connection) {
  std::string all;
  char buffer[65536];
  for (ssize_t count = 0; (count = ::recv(connection.get(), buffer, sizeof(buffer), 0)) > 0;) {
    all.append(buffer, static_cast<size_t>(count));
  }
  return all;
}

inline Answer parse_answer(const std::string& text) {
  Answer answer;
  const size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.") || end == std::string::npos) return answer;
  answer.status = std::atoi(text.c_str() + 9);
  answer.head = text.substr(0, end + 2);
  answer.body = text.substr(end + 4);
  return answer;
}

// What comes back for these bytes; the connection ends with it.
inline Answer exchange(uint16_t port, const std::string& bytes) {
  const OpenFile connection = connect_to(port);
  if (!connection) return {};
  send_all(connection, bytes);
  return parse_answer(receive_all(connection));
}

inline std::string request_text(const std::string& method, const std::string& path, const std::string& headers) {
  return fmt::format("{} {} HTTP/1.1\r\nConnection: close\r\n{}\r\n", method, path, headers);
}

}  // namespace nascent::serve
