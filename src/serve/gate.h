// Who may ask, and how: every request passes here before anything of a run is looked at.
//
// Any page in a browser can send requests to 127.0.0.1, and a name that its owner points at 127.0.0.1 even makes such a
// page count as ours. So a request needs a secret that only the printed address has (a cookie afterwards), and a Host
// header that names us.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nascent/serve/exchange.h"

namespace nascent::serve {

class Gate {
 public:
  // `hosts`: names by which the server may be called, without ports.
  Gate(std::string token, std::vector<std::string> hosts, uint16_t port);

  // The answer to a request that may not pass, or that brings the token and gets the cookie; nothing where it may.
  std::optional<Response> answer(const Request& request) const;

  const std::string& token() const { return token_; }

 private:
  bool names_us(const std::string& host) const;
  bool has_cookie(const std::string& cookies) const;

  std::string token_, cookie_;
  std::vector<std::string> hosts_;
};

// 128 random bits from the system, in hexadecimal.
std::string random_token();

// True for 127.0.0.0/8, ::1 and localhost.
bool is_loopback(const std::string& host);

// Headers that every answer has: nothing may be framed, sniffed, kept or sent on; scripts and styles are our files
// alone, never lines within a page.
std::vector<std::pair<std::string, std::string>> protective_headers();

}  // namespace nascent::serve
