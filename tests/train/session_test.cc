#include "nascent/train/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "train/toy.h"

namespace nascent {
namespace {

using testing::HasSubstr;

// The least that a run has: a number and how it runs.
struct CountOptions {
  int number = 1;
  RunOptions run;
  void declare(OptionTable& table) {
    table.section("count", "What is counted.").add("number", number, "the number").range(1, 1000);
    run.declare(table);
  }
  void resolve(const std::string&) {
    if (number == 1000) number = 42;  // stands for "what is usual"
  }
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    options_.declare(table_);
    options_.run.out = (folder_.path() / "run").string();
    options_.run.threads = 1;
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / "run" / name; }
  Json info(const std::string& name = "") const { return Json::parse(read_file(path(name) / "run.json")); }
  std::string report(const std::string& name = "") const { return read_file(path(name) / "report.html"); }
  SessionStart start(const std::string& resume = "") const {
    return {.verb = "count", .command = {"--number", "1"}, .resume = resume};
  }
  // A run with one part that counts what it is given; says how often the part really ran.
  Json run_with_part(
      int number, const std::function<void()>& trouble = [] {}) {
    const bool begun = std::filesystem::exists(path("run.json"));
    Session session(start(begun ? options_.run.out : ""), table_, options_.run);
    session.begin("count", {});
    CountOptions inner;
    inner.number = number;
    Json result;
    session.run([&] {
      result = session.part("part-1", {.verb = "count"}, inner, [&](const CountOptions& options, Session& part) {
        ++bodies_;
        threads_ = options.run.threads;
        part.begin("part", {});
        part.run([&] {
          trouble();
          part.conclude({{"number", options.number}});
        });
      });
      session.conclude(result);
    });
    return result;
  }

  toy::Folder folder_;
  CountOptions options_;
  OptionTable table_;
  int bodies_ = 0, threads_ = 0;
};

TEST_F(SessionTest, NothingIsWrittenBeforeItBegins) {
  { const Session session(start(), table_, options_.run); }
  EXPECT_FALSE(std::filesystem::exists(path("")));
}

TEST_F(SessionTest, ProcessorTimeLeavesOutWhatOthersTook) {
  Session session(start(), table_, options_.run);
  session.begin("count", {});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::clock_t begun = std::clock();
  while (std::clock() - begun < CLOCKS_PER_SEC / 20) {
  }
  session.conclude(Json::object());
  EXPECT_GE(info()["seconds"].get<double>(), 0.25);
  EXPECT_GE(info()["core_seconds"].get<double>(), 0.05);
  EXPECT_LT(info()["core_seconds"].get<double>(), info()["seconds"].get<double>());
}

TEST_F(SessionTest, LeavesResultStatusAndReport) {
  Session session(start(), table_, options_.run);
  session.begin("count", {{"Data set", "none"}});
  session.conclude({{"number", 3}});
  EXPECT_EQ(info().at("status"), "done");
  EXPECT_EQ(session.command(), (std::vector<std::string>{"--number", "1"}));
  EXPECT_THAT(report(), HasSubstr("Data set"));
  EXPECT_EQ(RunDirectory::view(path("")).result().at("number"), 3);
}

TEST_F(SessionTest, AFailureIsToldInRunAndReport) {
  Session session(start(), table_, options_.run);
  session.begin("count", {});
  EXPECT_THROW(session.run([] { fail("the well is dry"); }), Error);
  EXPECT_EQ(info().at("status"), "failed");
  EXPECT_EQ(info().at("message"), "the well is dry");
  EXPECT_THAT(report(), HasSubstr("the well is dry"));
}

// It left "ended before it was done" and no report.
TEST_F(SessionTest, AFailureWhileConcludingIsToldToo) {
  Session session(start(), table_, options_.run);
  session.begin("count", {});
  std::filesystem::create_directories(path("result.json") / "in-the-way");
  EXPECT_ANY_THROW(session.conclude({{"number", 3}}));
  EXPECT_EQ(info().at("status"), "failed");
  EXPECT_THAT(info().at("message").get<std::string>(), HasSubstr("result.json"));
  EXPECT_THAT(report(), HasSubstr("The run failed"));
}

TEST_F(SessionTest, ARunThatIsNotConcludedHasFailed) {
  {
    Session session(start(), table_, options_.run);
    session.begin("count", {});
  }
  EXPECT_EQ(info().at("message"), "ended before it was done");
}

TEST_F(SessionTest, APartIsACompleteRunOfItsOwn) {
  EXPECT_EQ(run_with_part(7).at("number"), 7);
  EXPECT_EQ(info("part-1").at("status"), "done");
  EXPECT_EQ(info("part-1").at("verb"), "count");
  EXPECT_THAT(read_file(path("part-1/options.toml")), HasSubstr("number = 7"));
  EXPECT_THAT(report("part-1"), HasSubstr("count.number")) << "it tells what differs from the defaults";
  EXPECT_EQ(info().at("parts"), Json::array({"part-1"}));
  EXPECT_EQ(threads_, 1) << "threads are the whole run's";
}

// The options.toml of the demo's runs held zeros where the usual numbers were used.
TEST_F(SessionTest, APartKeepsWhatItsOptionsResolveTo) {
  EXPECT_EQ(run_with_part(1000).at("number"), 42);
  EXPECT_THAT(read_file(path("part-1/options.toml")), HasSubstr("number = 42"));
}

TEST_F(SessionTest, APartThatIsDoneIsOnlyRead) {
  run_with_part(7);
  EXPECT_EQ(run_with_part(8).at("number"), 7);
  EXPECT_EQ(bodies_, 1);
}

TEST_F(SessionTest, APartThatWasBegunGoesOnWithItsOwnOptions) {
  EXPECT_THROW(run_with_part(7, [] { throw Interrupted(); }), Interrupted);
  EXPECT_EQ(info("part-1").at("status"), "interrupted");
  EXPECT_EQ(info().at("status"), "interrupted");
  EXPECT_EQ(run_with_part(8).at("number"), 7);
  EXPECT_EQ(bodies_, 2);
  EXPECT_EQ(info("part-1").at("resumed").size(), 1u);
}

TEST_F(SessionTest, APartThatFailsFailsTheWhole) {
  EXPECT_THROW(run_with_part(7, [] { fail("the well is dry"); }), Error);
  EXPECT_EQ(info("part-1").at("message"), "the well is dry");
  EXPECT_EQ(info().at("message"), "the well is dry");
  EXPECT_EQ(run_with_part(8).at("number"), 7) << "it can be taken up again";
}

}  // namespace
}  // namespace nascent
