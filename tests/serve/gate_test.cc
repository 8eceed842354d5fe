#include "nascent/serve/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace nascent::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

const Gate& gate() {
  static const Gate one("0123456789abcdef0123456789abcdef", {"127.0.0.1", "localhost", "::1", "Box.example"}, 8421);
  return one;
}

Request request_with(const std::string& host, const std::string& cookie = "") {
  return {.host = host, .cookie = cookie};
}

const std::string kCookie = "nascent_8421=0123456789abcdef0123456789abcdef";

int status_of(const Request& request) {
  const auto answer = gate().answer(request);
  return answer ? answer->status : 200;
}

TEST(Gate, LetsTheCookieThrough) {
  EXPECT_EQ(status_of(request_with("127.0.0.1:8421", kCookie)), 200);
  EXPECT_EQ(status_of(request_with("localhost:8421", "other=1; " + kCookie)), 200);
  EXPECT_EQ(status_of(request_with("[::1]:8421", kCookie)), 200);
  EXPECT_EQ(status_of(request_with("LOCALHOST", kCookie)), 200);
  EXPECT_EQ(status_of(request_with("box.EXAMPLE:80", kCookie)), 200);
}

TEST(Gate, RefusesWithoutOrWithAnotherCookie) {
  EXPECT_EQ(status_of(request_with("127.0.0.1:8421")), 401);
  for (const char* cookie : {"nascent_8421=", "nascent_8421=0123456789abcdef0123456789abcdee", "nascent_8421",
                             "nascent_8422=0123456789abcdef0123456789abcdef", "=", ";;;",
                             "xnascent_8421=0123456789abcdef0123456789abcdef"}) {
    EXPECT_EQ(status_of(request_with("127.0.0.1:8421", cookie)), 401) << cookie;
  }
}

TEST(Gate, RefusesForeignNamesEvenWithTheCookie) {
  for (const char* host :
       {"", "evil.example", "127.0.0.1.evil.example:8421", "evil.example:8421", "127.0.0.1@evil.example",
        "127.0.0.1:8421:80", "[::1", "[::1]x", "localhost:80x", "[localhost", "::1", " 127.0.0.1"}) {
    EXPECT_EQ(status_of(request_with(host, kCookie)), 403) << host;
  }
}

TEST(Gate, KnowsTwoMethods) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "BREW", ""}) {
    Request request = request_with("127.0.0.1", kCookie);
    request.method = method;
    EXPECT_EQ(status_of(request), 405) << method;
  }
  Request head = request_with("127.0.0.1", kCookie);
  head.method = "HEAD";
  EXPECT_EQ(status_of(head), 200);
}

TEST(Gate, TakesTheTokenOnceAndGivesACookie) {
  Request request = request_with("127.0.0.1:8421");
  request.query["token"] = gate().token();
  const auto answer = gate().answer(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  ASSERT_EQ(answer->headers.size(), 2u);
  EXPECT_EQ(answer->headers[0].second, "/");
  EXPECT_THAT(answer->headers[1].second, HasSubstr("SameSite=Strict"));
  EXPECT_THAT(answer->headers[1].second, HasSubstr("HttpOnly"));
  request.query["token"] = "0123456789abcdef0123456789abcdee";
  EXPECT_EQ(status_of(request), 401);
  request.query["token"] = "";
  EXPECT_EQ(status_of(request), 401);
  // Other pages are not reached by the token: it should not spread over addresses.
  request.query["token"] = gate().token();
  request.path = "/api/runs";
  EXPECT_EQ(status_of(request), 401);
}

TEST(Gate, PagesOfOthersMayLinkButNotRead) {
  Request request = request_with("127.0.0.1:8421", kCookie);
  request.path = "/api/runs";
  for (const char* site : {"cross-site", "same-site"}) {
    request.fetch_site = site;
    EXPECT_EQ(status_of(request), 403) << site;
  }
  for (const char* site : {"", "same-origin", "none"}) {
    request.fetch_site = site;
    EXPECT_EQ(status_of(request), 200) << site;
  }
  request.path = "/";
  request.fetch_site = "cross-site";
  EXPECT_EQ(status_of(request), 200);
}

TEST(Gate, NoScriptsWithinPages) {
  for (const auto& [name, value] : protective_headers()) {
    if (name == "Content-Security-Policy") {
      EXPECT_THAT(value, HasSubstr("default-src 'none'"));
      EXPECT_THAT(value, HasSubstr("script-src 'self'"));
      EXPECT_THAT(value, Not(HasSubstr("unsafe")));
    }
    EXPECT_THAT(name, Not(HasSubstr("Access-Control")));
  }
}

TEST(Gate, TokensAreLongAndDiffer) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(random_token());
  EXPECT_EQ(tokens.size(), 100u);
  EXPECT_EQ(tokens.begin()->size(), 32u);
}

TEST(Gate, Loopback) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "localhost", "LocalHost", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "192.168.0.1", "127.0.0.1.example", "127.0.0", "::", "example.org", ""}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace nascent::serve
