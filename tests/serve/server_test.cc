// The server as the network sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "errors.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/event_store.h"
#include "nascent/run/html.h"
#include "nascent/run/picture_section.h"
#include "nascent/serve/page_server.h"
#include "run/sample_run.h"
#include "serve/http_client.h"

namespace nascent::serve {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A finished run with everything that a search leaves behind.
void make_run(const fs::path& path, int64_t epochs = 3) {
  OptionTable table;
  SampleOptions options;
  options.declare(table);
  RunDirectory run = RunDirectory::create(path, sample_description(), table);
  EventStore events(run.events_path());
  for (int64_t epoch = 0; epoch < epochs; ++epoch) emit_sample_epoch(events, epoch, epochs, 10);
  run.write_genotype(sample_genotype());
  run.write_result({{"valid_top1", 87.5}, {"parameters", 3349342}});
  run.finish(RunStatus::done);
}

// By the program of that name.
std::string sha256sum_in_base64(std::string_view text) {
  const TemporaryFolder folder;
  write_file(folder / "text", text);
  const std::string command = fmt::format("sha256sum < {} > {}", (folder / "text").string(), (folder / "sum").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  const std::string digits = read_file(folder / "sum");
  std::string bytes;
  for (size_t i = 0; i < 64; i += 2) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  const std::string address = html::data_uri("", bytes);  // "data:;base64,..."
  return address.substr(address.find(',') + 1);
}

int64_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Server : public testing::Test {
 protected:
  Server() { fs::create_directories(folder_ / "runs"); }

  void SetUp() override {
    if (!kHasServer) GTEST_SKIP() << kNoServer;
  }

  void start() {
    server_ = std::make_unique<PageServer>(ServeOptions{.folder = (folder_ / "runs").string(), .port = 0});
  }

  std::string cookie() const { return fmt::format("Cookie: nascent_{}={}\r\n", server_->port(), server_->token()); }

  Answer get(const std::string& path, const std::string& headers = "", const std::string& method = "GET") const {
    return exchange(server_->port(), request_text(method, path, "Host: 127.0.0.1\r\n" + cookie() + headers));
  }

  Json json(const std::string& path) const {
    const Answer answer = get(path);
    EXPECT_EQ(answer.status, 200) << path << ": " << answer.body;
    return Json::parse(answer.body);
  }

  // The number of the run of this name.
  int64_t number_of(const std::string& name) const {
    const Json list = json("/api/runs");
    for (const auto& run : list["runs"]) {
      if (run["name"] == name) return run["number"];
    }
    ADD_FAILURE() << "no run " << name;
    return 0;
  }

  TemporaryFolder folder_;
  std::unique_ptr<PageServer> server_;
};

TEST_F(Server, TokenThenCookie) {
  start();
  const auto ask = [&](const std::string& path, const std::string& headers) {
    return exchange(server_->port(), request_text("GET", path, "Host: 127.0.0.1\r\n" + headers));
  };
  EXPECT_EQ(ask("/", "").status, 401);
  EXPECT_EQ(ask("/?token=wrong", "").status, 401);
  EXPECT_EQ(ask("/api/runs", "").status, 401);
  EXPECT_EQ(ask("/web/main.js", "").status, 401);
  EXPECT_EQ(ask("/nothing", "").status, 401);
  const std::string address = server_->address();
  EXPECT_TRUE(address.starts_with("http://127.0.0.1:"));
  const Answer first = ask(address.substr(address.find("/?")), "");
  EXPECT_EQ(first.status, 303);
  EXPECT_EQ(first.header("Location"), "/");
  const std::string set = first.header("Set-Cookie");
  EXPECT_THAT(set, AllOf(HasSubstr("HttpOnly"), HasSubstr("SameSite=Strict")));
  EXPECT_EQ(ask("/", "Cookie: " + set.substr(0, set.find(';')) + "\r\n").status, 200);
}

TEST_F(Server, ForeignHost) {
  start();
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "0.0.0.0", ""}) {
    const std::string line = fmt::format("Host: {}\r\n", host);
    EXPECT_EQ(exchange(server_->port(), request_text("GET", "/", line + cookie())).status, 403) << host;
  }
  // Without a Host header at all: refused, by the library or by us.
  EXPECT_GE(exchange(server_->port(), request_text("GET", "/", cookie())).status, 400);
  EXPECT_EQ(exchange(server_->port(), request_text("GET", "/", "Host: localhost:1\r\n" + cookie())).status, 200);
}

TEST_F(Server, OnlyGetAndHead) {
  start();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"}) {
    const Answer answer = get("/", "Content-Length: 0\r\n", method);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.header("Allow"), "GET, HEAD");
  }
  const Answer head = get("/", "", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.header("Content-Length"), std::to_string(get("/").body.size()));
}

TEST_F(Server, HeadersProtectAndNoneOpenUp) {
  make_run(folder_ / "runs/a");
  start();
  for (const char* path : {"/", "/web/main.js", "/api/runs", "/nothing"}) {
    const Answer answer = get(path, "Origin: http://evil.example\r\n");
    EXPECT_THAT(answer.header("Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self'"), Not(HasSubstr("unsafe"))))
        << path;
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
    EXPECT_EQ(answer.header("Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_THAT(answer.head, Not(HasSubstr("Access-Control")));
  }
  EXPECT_THAT(get("/").body, Not(HasSubstr("<script>")));
}

TEST_F(Server, ShowsRunsAndNoticesNewOnes) {
  start();
  const Json none = json("/api/runs");
  EXPECT_TRUE(none["runs"].empty());
  make_run(folder_ / "runs/deep/a");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  const Json one = json("/api/runs");
  ASSERT_EQ(one["runs"].size(), 1u);
  EXPECT_NE(one["version"], none["version"]);
  const Json& run = one["runs"][0];
  EXPECT_EQ(run["name"], "deep/a");
  EXPECT_EQ(run["state"], "done");
  EXPECT_EQ(run["figure"]["value"], 87.5);
  EXPECT_EQ(run["numbers"]["parameters"], 3349342);
  EXPECT_EQ(run["events"], 36);
  EXPECT_EQ(run["epoch"], 3);
  // A page that knows the list is not sent it again.
  const Json known = json("/api/runs?known=" + one["version"].get<std::string>());
  EXPECT_FALSE(known.contains("runs"));
  // Gone is gone, and its number is not given to another.
  fs::remove_all(folder_ / "runs/deep");
  make_run(folder_ / "runs/b");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  const Json other = json("/api/runs");
  ASSERT_EQ(other["runs"].size(), 1u);
  EXPECT_NE(other["runs"][0]["number"], run["number"]);
  EXPECT_EQ(get(fmt::format("/api/runs/{}", run["number"].get<int64_t>())).status, 404);
}

TEST_F(Server, EventsAreAllThereAndArriveOneByOne) {
  make_run(folder_ / "runs/a");
  start();
  const std::string path = fmt::format("/api/runs/{}/events", number_of("a"));
  const Json all = json(path);
  ASSERT_EQ(all["events"].size(),
            EventStore(folder_ / "runs/a/events.sqlite", EventStore::Access::read).events().size());
  EXPECT_EQ(all["last"], 36);
  EXPECT_EQ(all["total"], 36);
  EXPECT_FALSE(all["more"]);
  const std::string generation = all["generation"];
  EventStore store(folder_ / "runs/a/events.sqlite");
  store.emit({"step", 3, 31, {{"loss", 0.25}}});
  const Json next = json(path + "?after=36&generation=" + generation);
  EXPECT_FALSE(next["reset"]);
  ASSERT_EQ(next["events"].size(), 1u);
  EXPECT_EQ(next["events"][0][4]["loss"], 0.25);
  // Gone on with from an earlier checkpoint: the page starts anew.
  store.rewind(20);
  const Json again = json(path + "?after=37&generation=" + generation);
  EXPECT_TRUE(again["reset"]);
  EXPECT_EQ(again["events"].size(), 24u);
  EXPECT_TRUE(json(path + "?after=5&generation=other")["reset"]);
  EXPECT_EQ(get(path + "?after=x").status, 400);
  EXPECT_EQ(get(path + "?after=-1").status, 400);
}

TEST_F(Server, AnEventIsThereWithinTwoSeconds) {
  OptionTable table;
  SampleOptions options;
  options.declare(table);
  RunDirectory run = RunDirectory::create(folder_ / "runs/live", sample_description(), table);
  EventStore store(run.events_path());
  store.emit({"step", 0, 1, {{"loss", 1}}});
  start();
  const auto events_shown = [&] { return json("/api/runs")["runs"][0]["events"].get<int64_t>(); };
  EXPECT_EQ(events_shown(), 1);
  EXPECT_EQ(json("/api/runs")["runs"][0]["state"], "running");
  for (int64_t i = 2; i <= 4; ++i) {
    store.emit({"step", 0, i, {{"loss", 1}}});
    std::this_thread::sleep_for(std::chrono::milliseconds(700));  // a page asks every second
    EXPECT_EQ(events_shown(), i);
  }
}

TEST_F(Server, DetailHasOptionsGenotypeFiles) {
  make_run(folder_ / "runs/a");
  start();
  const int64_t number = number_of("a");
  const Json page = json(fmt::format("/api/runs/{}", number));
  EXPECT_EQ(page["space"], "darts");
  EXPECT_EQ(page["genotype"]["json"]["cells"].size(), 2u);
  EXPECT_THAT(page["genotype"]["texts"]["darts"].get<std::string>(), HasSubstr("Genotype(normal="));
  EXPECT_EQ(page["sites"]["normal"].size(), 14u);
  EXPECT_EQ(page["options"][0]["key"], "search.epochs");
  EXPECT_EQ(page["options"][0]["value"], 50);
  EXPECT_EQ(page["result"]["parameters"], 3349342);
  std::vector<std::string> names;
  for (const auto& file : page["files"]) names.push_back(file["name"]);
  EXPECT_THAT(names,
              testing::IsSupersetOf({"genotype.json", "genotype.txt", "result.json", "options.toml", "events.csv"}));
  for (const auto& name : names) {
    const Answer file = get(fmt::format("/runs/{}/files/{}", number, name));
    EXPECT_EQ(file.status, 200) << name;
    EXPECT_THAT(file.header("Content-Disposition"), HasSubstr("attachment; filename=\"a-" + name));
  }
  EXPECT_EQ(get(fmt::format("/runs/{}/files/genotype.json", number)).body, read_file(folder_ / "runs/a/genotype.json"));
}

TEST_F(Server, CsvHoldsEveryRow) {
  make_run(folder_ / "runs/a", 120);  // longer than one piece
  start();
  const OpenFile connection = connect_to(server_->port());
  // HTTP/1.0, so that the body comes as it is.
  send_all(connection, fmt::format("GET /runs/{}/files/events.csv HTTP/1.0\r\nHost: 127.0.0.1\r\n{}\r\n",
                                   number_of("a"), cookie()));
  const Answer csv = parse_answer(receive_all(connection));
  EXPECT_EQ(csv.status, 200);
  EXPECT_EQ(std::count(csv.body.begin(), csv.body.end(), '\n'), 1 + 120 * 11);
}

TEST_F(Server, OptionsThatDiffer) {
  make_run(folder_ / "runs/a");
  make_run(folder_ / "runs/b");
  std::ofstream(folder_ / "runs/b/options.toml") << "[search]\nepochs = 7\nlr = 0.025\n";
  start();
  const Json options = json("/api/options")["options"];
  EXPECT_EQ(options[std::to_string(number_of("a"))], Json::parse(R"({"search.epochs": 50})"));
  EXPECT_EQ(options[std::to_string(number_of("b"))], Json::parse(R"({"search.epochs": 7})"));
}

TEST_F(Server, RunsHaveNumbersNotPaths) {
  make_run(folder_ / "runs/a");
  std::ofstream(folder_ / "secret.txt") << "secret";
  start();
  const int64_t number = number_of("a");
  const std::string file = fmt::format("/runs/{}/files/", number);
  for (const std::string& path : {std::string("/runs/a/files/genotype.json"),
                                  std::string("/runs/../secret.txt"),
                                  std::string("/../secret.txt"),
                                  std::string("/..%2fsecret.txt"),
                                  std::string("/%2e%2e/secret.txt"),
                                  std::string("/%252e%252e/secret.txt"),
                                  file + "../../secret.txt",
                                  file + "..%2f..%2fsecret.txt",
                                  file + "%252e%252e%252fsecret.txt",
                                  file + "genotype.json%00",
                                  file + "genotype.json%00.txt",
                                  file + "%67enotype.json",
                                  file + "genotype.json/",
                                  file + "/genotype.json",
                                  file + "lock",
                                  file + "run.json",
                                  file + "events.sqlite",
                                  file + "checkpoints",
                                  std::string("/runs/1e0/files/genotype.json"),
                                  std::string("/runs/+1/files/genotype.json"),
                                  std::string("/runs/-1/files/genotype.json"),
                                  std::string("/runs/99999999999999999999/files/genotype.json"),
                                  std::string("/runs/0x1/report"),
                                  std::string("/runs//report"),
                                  std::string("/runs/77/report"),
                                  std::string("//runs"),
                                  std::string("/api/runs/"),
                                  std::string("/api"),
                                  std::string("/web/"),
                                  std::string("/web/index.html"),
                                  std::string("/web/../index.html"),
                                  std::string("/web/%6dain.js"),
                                  std::string("/favicon.ico"),
                                  std::string("/runs"),
                                  fmt::format("/api/runs/{}/events/1", number)}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

TEST_F(Server, LinksOutOfTheFolderLeadNowhere) {
  make_run(folder_ / "runs/a");
  make_run(folder_ / "outside");
  std::ofstream(folder_ / "secret.svg") << "<svg/>";
  const fs::path run = folder_ / "runs/a";
  fs::remove(run / "genotype.json");
  fs::create_symlink(folder_ / "secret.svg", run / "genotype.json");
  fs::create_symlink(folder_ / "secret.svg", run / "report.html");
  fs::create_symlink(folder_ / "secret.svg", run / "linked.svg");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "runs/link");
  write_pictures(run, {{"g", "linked.svg", "link", ""},
                       {"g", "../../secret.svg", "path", ""},
                       {"g", (folder_ / "secret.svg").string(), "absolute", ""}});
  start();
  EXPECT_EQ(json("/api/runs")["runs"].size(), 1u);
  const int64_t number = number_of("a");
  EXPECT_EQ(get(fmt::format("/runs/{}/files/genotype.json", number)).status, 404);
  EXPECT_EQ(get(fmt::format("/runs/{}/report", number)).status, 404);
  for (int picture = 0; picture < 4; ++picture) {
    EXPECT_EQ(get(fmt::format("/runs/{}/pictures/{}", number, picture)).status, 404) << picture;
  }
  const Json page = json(fmt::format("/api/runs/{}", number));
  EXPECT_TRUE(page["genotype"].is_null());
  EXPECT_TRUE(page["pictures"].empty());
  // A store that lies elsewhere is not read either, nor a result.
  fs::remove(run / "events.sqlite");
  fs::create_symlink(folder_ / "outside/events.sqlite", run / "events.sqlite");
  EXPECT_EQ(json(fmt::format("/api/runs/{}/events", number))["events"].size(), 0u);
  fs::remove(run / "result.json");
  fs::create_symlink(folder_ / "outside/result.json", run / "result.json");
  fs::last_write_time(run / "run.json", fs::file_time_type::clock::now());
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(json("/api/runs")["runs"][0]["state"], "damaged");
}

TEST_F(Server, PicturesAndReportsRunNoScriptsOfOthers) {
  make_run(folder_ / "runs/a");
  std::ofstream(folder_ / "runs/a/landscape.svg") << "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
  std::ofstream(folder_ / "runs/a/report.html") << "<script>alert(1)</script>";
  write_pictures(folder_ / "runs/a", {{"g", "landscape.svg", "caption", ""}});
  start();
  const int64_t number = number_of("a");
  const Json page = json(fmt::format("/api/runs/{}", number));
  ASSERT_EQ(page["pictures"].size(), 1u);
  EXPECT_TRUE(page["report"]);
  for (const std::string& path : {fmt::format("/runs/{}/pictures/0", number), fmt::format("/runs/{}/report", number)}) {
    const Answer answer = get(path);
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.header("Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("sandbox"), Not(HasSubstr("same-origin")),
                      Not(HasSubstr("script-src 'unsafe")), Not(HasSubstr("'self'"))));
  }
  EXPECT_THAT(get(fmt::format("/runs/{}/pictures/0", number)).header("Content-Security-Policy"),
              Not(HasSubstr("script")));
  EXPECT_THAT(get(fmt::format("/runs/{}/report", number)).header("Content-Security-Policy"),
              HasSubstr(fmt::format("script-src 'sha256-{}'", sha256sum_in_base64(html::script()))))
      << "that of our own script";
}

TEST_F(Server, DamagedRunsDoNotHideOthers) {
  make_run(folder_ / "runs/good");
  for (const char* name : {"empty", "half", "list"}) fs::create_directories(folder_ / "runs" / name);
  std::ofstream(folder_ / "runs/empty/run.json") << "";
  std::ofstream(folder_ / "runs/half/run.json") << R"({"verb": "search", "facts": [)";
  std::ofstream(folder_ / "runs/list/run.json") << "[1, 2]";
  make_run(folder_ / "runs/odd");
  std::ofstream(folder_ / "runs/odd/run.json")
      << R"({"verb": 3, "status": "done", "facts": 7, "parts": "x", "options": 1})";
  make_run(folder_ / "runs/store");
  std::ofstream(folder_ / "runs/store/events.sqlite") << std::string(5000, 'x');
  start();
  std::map<std::string, std::string> states;
  const Json list = json("/api/runs");
  for (const auto& run : list["runs"]) {
    states[run["name"]] = run["state"];
    const std::string path = fmt::format("/api/runs/{}", run["number"].get<int64_t>());
    EXPECT_EQ(get(path).status, 200) << run["name"];
    EXPECT_EQ(get(path + "/events").status, run["name"] == "store" ? 500 : 200) << run["name"];
  }
  EXPECT_EQ(states["good"], "done");
  for (const char* name : {"empty", "half", "list"}) EXPECT_EQ(states[name], "damaged") << name;
  EXPECT_EQ(states["store"], "done");
  EXPECT_EQ(states.size(), 6u);
}

TEST_F(Server, PartsBelongToTheirRun) {
  make_run(folder_ / "runs/demo");
  make_run(folder_ / "runs/demo/search");
  RunDirectory::resume(folder_ / "runs/demo", "search").add_part("search");
  start();
  const Json runs = json("/api/runs")["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1]["name"], "demo/search");
  EXPECT_EQ(runs[1]["parent"], runs[0]["number"]);
  const Json page = json(fmt::format("/api/runs/{}", runs[0]["number"].get<int64_t>()));
  EXPECT_EQ(page["parts"], Json::array({runs[1]["number"]}));
}

TEST_F(Server, MalformedRequests) {
  start();
  using std::string_literals::operator""s;
  for (const std::string& bytes :
       {"\r\n\r\n"s, "GET\r\n\r\n"s, "GET /\r\n\r\n"s, "GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n"s,
        "\0\0\0\0\r\n\r\n"s, "GET /\0secret HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"s,
        "GET / HTTP/1.1\r\nno colon\r\n\r\n"s, "GET / HTTP/1.1\r\n: empty\r\n\r\n"s,
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"s,
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n"s,
        "GET " + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n"}) {
    const OpenFile connection = connect_to(server_->port(), 1);
    send_all(connection, bytes);
    ::shutdown(connection.get(), SHUT_WR);
    const Answer answer = parse_answer(receive_all(connection));
    EXPECT_TRUE(answer.status == 0 || answer.status >= 400) << bytes.substr(0, 60) << ": " << answer.status;
  }
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(Server, ClientsThatHangUp) {
  make_run(folder_ / "runs/a", 60);
  start();
  const int64_t number = number_of("a");
  for (int i = 0; i < 50; ++i) {
    const OpenFile connection = connect_to(server_->port());
    const linger at_once{1, 0};  // a reset instead of a goodbye
    ::setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    const std::string path =
        i % 2 == 0 ? fmt::format("/runs/{}/files/events.csv", number) : fmt::format("/api/runs/{}/events", number);
    send_all(connection, request_text("GET", path, "Host: 127.0.0.1\r\n" + cookie()));
    if (i % 3 == 0) {
      char byte = 0;
      ::recv(connection.get(), &byte, 1, 0);
    }
  }
  EXPECT_EQ(get("/").status, 200);
}

// 300 MB of header, or of a body that nobody asked for.
TEST_F(Server, EndlessHeadersAreCutOff) {
  start();
  get("/");
  const int64_t before = resident_kilobytes();
  const std::string block(1 << 20, 'a');
  for (const char* start : {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", "GET /",
                            "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 314572800\r\n\r\n"}) {
    const OpenFile connection = connect_to(server_->port());
    send_all(connection, start);
    int blocks = 0;
    while (blocks < 300 && send_all(connection, block)) ++blocks;
    EXPECT_LT(blocks, 20) << "the server took it all";
    EXPECT_EQ(get("/").status, 200);
  }
  EXPECT_LT(resident_kilobytes() - before, 8 << 10);
}

TEST_F(Server, ThousandsOfSlowConnectionsLeaveRoomForOthers) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const size_t most = std::min<size_t>(10000, limit.rlim_cur - 200);
  if (most < 10000) GTEST_LOG_(WARNING) << "only " << most << " connections: the system allows no more files";
  start();
  get("/");
  const int64_t before = resident_kilobytes();
  std::vector<OpenFile> crowd;
  double slowest = 0;
  for (size_t i = 0; i < most; ++i) {
    crowd.push_back(connect_to(server_->port()));
    ASSERT_TRUE(crowd.back()) << i;
    send_all(crowd.back(), "GET / HTTP/1.1\r\nHost: 127");
    if (i % 1000 != 999) continue;
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(get("/").status, 200) << "beside " << i + 1;
    slowest = std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  EXPECT_LT(slowest, 2);
  // The clients' side of the connections is in this process too, though in the kernel's memory.
  EXPECT_LT(resident_kilobytes() - before, 24 << 10);
}

TEST_F(Server, NoWorkWhileNobodyLooks) {
  for (int i = 0; i < 5; ++i) make_run(folder_ / fmt::format("runs/{}", i), 1);
  start();
  get("/api/runs");
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_LT(processor_seconds() - before, 0.01);
}

// Stores that somebody holds make the first look last: its readers wait for half a second at each.
TEST_F(Server, IsThereBeforeTheRunsAreRead) {
  std::vector<sqlite3*> writers(6, nullptr);
  for (size_t i = 0; i < writers.size(); ++i) {
    const fs::path run = folder_ / fmt::format("runs/{}", i);
    make_run(run);
    ASSERT_EQ(sqlite3_open((run / "events.sqlite").c_str(), &writers[i]), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(writers[i],
                           "PRAGMA journal_mode=WAL; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; "
                           "CREATE TABLE held (x);",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
  }
  start();
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(get("/web/main.js").status, 200);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(server_->runs(), writers.size());
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began;
  EXPECT_GT(waited.count(), 0.1) << "the runs were read before the page was there";
  for (sqlite3* writer : writers) sqlite3_close(writer);
  EXPECT_EQ(json("/api/runs")["runs"].size(), writers.size());
}

TEST_F(Server, PortInUse) {
  start();
  const std::string text =
      error_of([&] { PageServer({.folder = (folder_ / "runs").string(), .port = server_->port()}); });
  EXPECT_THAT(text, AllOf(HasSubstr(std::to_string(server_->port())), HasSubstr("in use"), HasSubstr("--port")));
}

TEST_F(Server, BeyondThisMachineOnlyOnPurpose) {
  const std::string runs = (folder_ / "runs").string();
  EXPECT_THAT(error_of([&] { PageServer({.folder = runs, .host = "0.0.0.0", .port = 0}); }), HasSubstr("--allow-host"));
  const PageServer server({.folder = runs, .host = "0.0.0.0", .port = 0, .allow_hosts = {"box.example"}});
  const std::string cookie = fmt::format("Cookie: nascent_{}={}\r\n", server.port(), server.token());
  EXPECT_EQ(exchange(server.port(), request_text("GET", "/", "Host: box.example:1\r\n" + cookie)).status, 200);
  EXPECT_EQ(exchange(server.port(), request_text("GET", "/", "Host: other.example\r\n" + cookie)).status, 403);
  EXPECT_EQ(exchange(server.port(), request_text("GET", "/", "Host: box.example\r\n")).status, 401);
  EXPECT_THAT(
      error_of([&] { PageServer({.folder = runs, .host = "no.such.host.invalid", .port = 0, .allow_hosts = {"x"}}); }),
      HasSubstr("no.such.host.invalid"));
}

TEST_F(Server, FolderThatIsMissing) {
  EXPECT_THAT(error_of([&] { PageServer({.folder = (folder_ / "missing").string(), .port = 0}); }),
              HasSubstr("missing"));
}

// 200 runs with long histories: the list is what the first look at the page needs.
TEST_F(Server, ManyLongRunsAreListedQuickly) {
  make_run(folder_ / "runs/0");
  {
    EventStore store(folder_ / "runs/0/events.sqlite");
    for (int64_t i = 31; i < 2000; ++i) store.emit({"step", 3, i, {{"loss", 1.0 / static_cast<double>(i)}}});
  }
  for (int i = 1; i < 200; ++i)
    fs::copy(folder_ / "runs/0", folder_ / fmt::format("runs/{}", i),
             fs::copy_options::recursive | fs::copy_options::create_hard_links);
  const double began = processor_seconds();
  start();
  // The server has looked at them when it started; in time of the processor, which a busy machine does not stretch.
  EXPECT_LT(processor_seconds() - began, 1);
  EXPECT_EQ(json("/api/runs")["runs"].size(), 200u);
  // Asked again and again, it reads nothing anew.
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  json("/api/runs");
  const double before = processor_seconds();
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(510));
    get("/api/runs?known=x");
  }
  EXPECT_LT((processor_seconds() - before) / 4, 0.02);
}

}  // namespace
}  // namespace nascent::serve
