#include "nascent/serve/gate.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent::serve {
namespace {

// Takes as long for a token that is nearly right as for any other of its length.
bool same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "[::1]:80" → "::1", "localhost:80" → "localhost"; nothing where it is neither.
std::optional<std::string> host_name(const std::string& host) {
  size_t end = host.find(':');
  std::string name = host.substr(0, end);
  if (host.starts_with("[")) {
    end = host.find(']');
    if (end == std::string::npos) return std::nullopt;
    name = host.substr(1, end - 1);
    ++end;
  }
  if (end == std::string::npos || end >= host.size()) return lower(name);
  if (host[end] != ':' || !all_digits(std::string_view(host).substr(end + 1))) return std::nullopt;
  return lower(name);
}

Response refusal(int status, std::string text) { return {.status = status, .body = std::move(text)}; }

}  // namespace

Gate::Gate(std::string token, std::vector<std::string> hosts, uint16_t port)
    : token_(std::move(token)), cookie_(fmt::format("nascent_{}", port)) {
  // Cookies do not know ports: servers beside one another tell theirs apart by name.
  for (auto& host : hosts) hosts_.push_back(lower(host));
}

bool Gate::names_us(const std::string& host) const {
  const auto name = host_name(host);
  return name && std::find(hosts_.begin(), hosts_.end(), *name) != hosts_.end();
}

bool Gate::has_cookie(const std::string& cookies) const {
  bool found = false;
  for (const auto& part : split(cookies, ';')) {
    const std::string cookie(trim(part));
    const size_t equals = cookie.find('=');
    if (equals == std::string::npos || cookie.substr(0, equals) != cookie_) continue;
    found = same_secret(cookie.substr(equals + 1), token_) || found;
  }
  return found;
}

std::optional<Response> Gate::answer(const Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    Response response = refusal(405, "This page only shows runs: GET and HEAD are the methods it knows.\n");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  if (!names_us(request.host)) {
    return refusal(403, "This server does not go by that name. --allow-host adds names that it answers to.\n");
  }
  // A page of another server on this machine may ask, and the browser would send it our cookie.
  const bool foreign = request.fetch_site == "cross-site" || request.fetch_site == "same-site";
  if (foreign && request.path != "/") return refusal(403, "Pages of others may not read this one.\n");
  if (const auto given = request.query.find("token"); given != request.query.end() && request.path == "/") {
    if (!same_secret(given->second, token_)) return refusal(401, "That is not the token of this server.\n");
    Response response{.status = 303};
    response.headers.emplace_back("Location", "/");
    response.headers.emplace_back("Set-Cookie",
                                  fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_, token_));
    return response;
  }
  if (!has_cookie(request.cookie)) {
    return refusal(401, "Open the address that 'nascent serve' has printed: it holds the token that this needs.\n");
  }
  return std::nullopt;
}

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (count < 0 && errno != EINTR) fail("The system gives no random numbers: {}.", strerror(errno));
    if (count > 0) done += static_cast<size_t>(count);
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool is_loopback(const std::string& host) {
  const std::string name = lower(host);
  if (name == "localhost" || name == "::1") return true;
  const std::vector<std::string> parts = split(name, '.');
  return parts.size() == 4 && parts[0] == "127" && std::all_of(parts.begin(), parts.end(), all_digits);
}

std::vector<std::pair<std::string, std::string>> protective_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

}  // namespace nascent::serve
