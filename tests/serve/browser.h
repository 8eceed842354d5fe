// Chromium without a window, driven through a pair of pipes by its own protocol: messages are JSON that end in a zero
// byte.
//
//   Browser browser;
//   browser.go("http://127.0.0.1:8421/");
//   browser.wait_for("document.querySelectorAll('tr').length > 1");
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "nascent/core/error.h"
#include "nascent/core/options.h"
#include "temporary_folder.h"

namespace nascent {

class Browser {
 public:
  // "" where there is none.
  static std::string program() {
    for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
      if (::access(path, X_OK) == 0) return path;
    }
    return "";
  }

  // One for all tests of the program, from the first that asks to the end: starting Chromium takes seconds.
  static Browser& shared() {
    static Browser browser;
    return browser;
  }

  Browser() {
    int to[2], from[2];
    if (::pipe(to) != 0 || ::pipe(from) != 0) fail("No pipes.");
    process_ = ::fork();
    if (process_ == 0) become_chromium(to, from);
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
    const Json target = call("Target.createTarget", {{"url", "about:blank"}});
    session_ = call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
    call("Page.enable");
    call("Runtime.enable");
    call("Log.enable");
    call("Emulation.setFocusEmulationEnabled", {{"enabled", true}});  // as a window that somebody works in
    size(1280, 900);
  }

  ~Browser() {
    ::close(to_);
    ::close(from_);
    ::kill(-process_, SIGKILL);  // its own group: Chromium is many processes
    ::waitpid(process_, nullptr, 0);
  }

  // To the page.
  Json call(const std::string& method, Json parameters = Json::object()) {
    return call_in(session_, method, std::move(parameters));
  }

  // What pages have to ask people for.
  void permit(const std::vector<std::string>& permissions) {
    call_in("", "Browser.grantPermissions", {{"permissions", permissions}});
  }

  void go(const std::string& address) { call("Page.navigate", {{"url", address}}); }

  // Whether pages may run scripts.
  void scripts(bool allowed) { call("Emulation.setScriptExecutionDisabled", {{"value", !allowed}}); }

  // The value of an expression; promises are waited for.
  Json evaluate(const std::string& expression) {
    const Json answer =
        call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
    if (answer.contains("exceptionDetails")) fail("{}: {}", expression, answer["exceptionDetails"].dump());
    return answer["result"].value("value", Json());
  }

  // Until the expression is true; a failure of the test where that takes longer than `seconds`.
  double wait_for(const std::string& expression, double seconds = 20) {
    const auto began = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
    while (passed() < seconds) {
      if (is_true(expression)) return passed();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    ADD_FAILURE() << "never true: " << expression
                  << "\npage: " << evaluate("document.body.innerText").dump().substr(0, 2000);
    return seconds;
  }

  // The page anew; what is waited for afterwards is waited for on the new one.
  void reload() {
    evaluate("window.before = true");
    call("Page.reload");
    wait_for("!window.before && document.readyState === 'complete'");
  }

  void size(int width, int height, bool phone = false) {
    call("Emulation.setDeviceMetricsOverride",
         {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", phone}});
  }

  void prefer(const std::string& scheme) {
    call("Emulation.setEmulatedMedia",
         {{"features", Json::array({{{"name", "prefers-color-scheme"}, {"value", scheme}}})}});
  }

  void press(const std::string& key) {
    Json event = {{"type", "keyDown"}, {"key", key}};
    if (key.size() == 1) event["text"] = key;
    call("Input.dispatchKeyEvent", event);
    call("Input.dispatchKeyEvent", {{"type", "keyUp"}, {"key", key}});
  }

  void mouse(const std::string& type, double x, double y, int clicks = 1) {
    call("Input.dispatchMouseEvent", {{"type", type},
                                      {"x", x},
                                      {"y", y},
                                      {"button", type == "mouseMoved" ? "none" : "left"},
                                      {"buttons", type == "mouseReleased" ? 0 : 1},
                                      {"clickCount", clicks}});
  }

  // Turned with Ctrl held, as a touchpad's pinch is too.
  void wheel(double x, double y, double turned) {
    constexpr int kCtrl = 2;
    call("Input.dispatchMouseEvent",
         {{"type", "mouseWheel"}, {"x", x}, {"y", y}, {"deltaX", 0}, {"deltaY", turned}, {"modifiers", kCtrl}});
  }

  // PNG in base64; of the whole page, however long.
  std::string screenshot() {
    return call("Page.captureScreenshot", {{"format", "png"}, {"captureBeyondViewport", true}})["data"];
  }

  // What the page complained about: uncaught errors, refused scripts, failed requests.
  const std::vector<std::string>& complaints() const { return complaints_; }
  void forget_complaints() { complaints_.clear(); }

 private:
  Json call_in(const std::string& session, const std::string& method, Json parameters) {
    const int id = ++last_;
    Json message = {{"id", id}, {"method", method}, {"params", std::move(parameters)}};
    if (!session.empty()) message["sessionId"] = session;
    const std::string text = message.dump() + '\0';
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(to_, text.data() + done, text.size() - done);
      if (count <= 0) fail("Chromium has gone.");
      done += static_cast<size_t>(count);
    }
    for (;;) {
      const Json answer = receive();
      if (answer.contains("id") && answer["id"] == id) {
        if (answer.contains("error")) fail("{}: {}", method, answer["error"].dump());
        return answer.value("result", Json::object());
      }
      notice(answer);
    }
  }

  [[noreturn]] void become_chromium(int to[2], int from[2]) const {
    ::setpgid(0, 0);
    // Above the numbers that are wanted, so that neither is closed by taking its place.
    const int in = ::fcntl(to[0], F_DUPFD, 10), out = ::fcntl(from[1], F_DUPFD, 10);
    ::dup2(in, 3);
    ::dup2(out, 4);
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) ::dup2(nowhere, stream);
    const std::string profile = "--user-data-dir=" + profile_.path().string();
    ::execl(program().c_str(), "chromium", "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
            "--hide-scrollbars", profile.c_str(), "about:blank", nullptr);
    ::_exit(127);
  }

  // A page that is just being left answers with an error.
  bool is_true(const std::string& expression) {
    try {
      const Json found = evaluate("Boolean(" + expression + ")");
      return found.is_boolean() && found.get<bool>();
    } catch (const Error&) {
      return false;
    }
  }

  Json receive() {
    for (;;) {
      const size_t end = buffer_.find('\0');
      if (end != std::string::npos) {
        const Json message = Json::parse(buffer_.substr(0, end));
        buffer_.erase(0, end + 1);
        return message;
      }
      pollfd waiting{from_, POLLIN, 0};
      if (::poll(&waiting, 1, 60000) <= 0) fail("Chromium does not answer.");
      char bytes[65536];
      const ssize_t count = ::read(from_, bytes, sizeof(bytes));
      if (count <= 0) fail("Chromium has ended.");
      buffer_.append(bytes, static_cast<size_t>(count));
    }
  }

  void notice(const Json& event) {
    const std::string method = event.value("method", "");
    if (method == "Runtime.exceptionThrown") complaints_.push_back(event["params"]["exceptionDetails"].dump());
    if (method == "Log.entryAdded" && event["params"]["entry"].value("level", "") == "error")
      complaints_.push_back(event["params"]["entry"].dump());
  }

  TemporaryFolder profile_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1, last_ = 0;
  std::string session_, buffer_;
  std::vector<std::string> complaints_;
};

}  // namespace nascent
