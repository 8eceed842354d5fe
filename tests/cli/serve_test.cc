// nascent serve as a process: what it prints, how it ends, what it takes under load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "cli/program.h"
#include "serve/http_client.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ServeProgram : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!serve::kHasServer) GTEST_SKIP() << serve::kNoServer;
  }

  // Runs the server while `act` is called with its port and process; returns its exit code after SIGTERM.
  int while_serving(const std::vector<std::string>& arguments, const std::function<void(uint16_t, pid_t)>& act) const {
    std::vector<std::string> words = arguments;
    words.emplace_back("--json");  // what people would read on standard output is told on standard error
    return signalled(
        words,
        [&](pid_t process) {
          const std::string address = first_address();
          const size_t port = address.find(':', 7);
          ASSERT_NE(port, std::string::npos) << said();
          act(static_cast<uint16_t>(std::atoi(address.c_str() + port + 1)), process);
        },
        SIGTERM);
  }

  std::string first_address() const {
    for (int i = 0; i < 500; ++i) {
      const std::string all = std::filesystem::exists(path("said.txt")) ? said() : "";
      if (const size_t at = all.find("http://"); at != std::string::npos && all.find('\n', at) != std::string::npos) {
        return all.substr(at, all.find('\n', at) - at);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return "";
  }

  static int64_t resident_kilobytes_of(pid_t process) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
    }
    return 0;
  }
};

TEST_F(ServeProgram, PrintsItsAddressAndEndsWhenAsked) {
  std::filesystem::create_directories(folder_ / "runs");
  const int code = while_serving({"serve", path("runs"), "--port", "0"}, [&](uint16_t port, pid_t) {
    const std::string address = first_address(), target = address.substr(address.find('/', 8));
    EXPECT_THAT(address, HasSubstr("/?token="));
    const auto answer = serve::exchange(port, serve::request_text("GET", target, "Host: localhost\r\n"));
    EXPECT_EQ(answer.status, 303);
    EXPECT_THAT(said(), HasSubstr("no runs"));
    // A second one at the same port says what to do.
    const ProgramOutput second = nascent({"serve", path("runs"), "--port", std::to_string(port)});
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_THAT(second.err, AllOf(HasSubstr("in use"), HasSubstr("--port")));
  });
  EXPECT_EQ(code, 0);
}

TEST_F(ServeProgram, MistakesAreSaid) {
  const ProgramOutput missing = nascent({"serve", path("missing"), "--port", "0"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("missing"));
  const ProgramOutput open = nascent({"serve", folder_.string(), "--host", "0.0.0.0"});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.err, HasSubstr("--allow-host"));
  const ProgramOutput port = nascent({"serve", folder_.string(), "--port", "70000"});
  EXPECT_EQ(port.exit_code, 2);
}

// Ten thousand connections that never finish a request, and a header without end: it answers, in less than 64 MB.
TEST_F(ServeProgram, StaysSmallUnderLoad) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const size_t most = std::min<size_t>(10000, limit.rlim_cur - 200);
  if (most < 10000) GTEST_LOG_(WARNING) << "only " << most << " connections: the system allows no more files";
  const int code = while_serving({"serve", folder_.string(), "--port", "0"}, [&](uint16_t port, pid_t process) {
    std::vector<OpenFile> crowd;
    for (size_t i = 0; i < most; ++i) {
      crowd.push_back(serve::connect_to(port));
      ASSERT_TRUE(crowd.back()) << i;
      serve::send_all(crowd.back(), "GET / HTTP/1.1\r\nHost: 127");
    }
    const OpenFile endless = serve::connect_to(port);
    serve::send_all(endless, "GET / HTTP/1.1\r\nX: ");
    const std::string block(1 << 20, 'a');
    for (int i = 0; i < 300 && serve::send_all(endless, block); ++i) {
    }
    EXPECT_EQ(serve::exchange(port, serve::request_text("GET", "/", "Host: 127.0.0.1\r\n")).status, 401);
    EXPECT_LT(resident_kilobytes_of(process), 64 << 10);
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace nascent
