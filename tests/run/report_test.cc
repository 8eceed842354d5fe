#include "nascent/run/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "nascent/core/files.h"
#include "nascent/run/collapse_section.h"
#include "nascent/run/event_store.h"
#include "nascent/run/html.h"
#include "nascent/run/stage_section.h"
#include "run/sample_run.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What is read, without what is run.
std::string without_script(const std::string& page) {
  const size_t start = page.find("<script>"), end = page.find("</script>");
  return start == std::string::npos || end == std::string::npos ? page : page.substr(0, start + 8) + page.substr(end);
}

// The tag left open or closed without being opened; "" where all is well.
std::string unbalanced_tag(const std::string& whole) {
  const std::string page = without_script(whole);
  std::vector<std::string> open;
  for (size_t at = 0; (at = page.find('<', at)) != std::string::npos; ++at) {
    const size_t end = page.find('>', at);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n\t/", 1));
    if (tag[0] == '!' || tag.back() == '/' || name == "meta" || name == "br") continue;
    if (tag[0] != '/') {
      open.push_back(name);
    } else if (open.empty() || "/" + open.back() != tag) {
      return tag;
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

class WithPath {
 public:
  explicit WithPath(const std::string& path) : before_(std::getenv("PATH")) { ::setenv("PATH", path.c_str(), 1); }
  ~WithPath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

bool have(const std::string& program) { return std::system(("command -v " + program + " >/dev/null").c_str()) == 0; }

struct ReportTest : testing::Test {
  ReportTest() {
    values.declare(options);
    options.read_assignment("search.lr=0.1");
  }
  RunDirectory finished_run(const std::string& name) {
    RunDirectory run = RunDirectory::create(folder / name, sample_description(), options);
    EventStore events(run.events_path());
    for (int64_t epoch = 0; epoch < 20; ++epoch) emit_sample_epoch(events, epoch, 20, 30);
    run.write_genotype(sample_genotype());
    run.write_result({{"valid_top1", 88.125}, {"network", {{"parameters", 3349342}, {"multiply_adds", 528e6}}}});
    run.finish(RunStatus::done);
    return run;
  }

  TemporaryDirectory folder;
  SampleOptions values;
  OptionTable options;
};

TEST_F(ReportTest, HoldsWhatAReaderAsksFor) {
  const RunDirectory run = finished_run("a");
  write_report(run);
  const std::string page = read_file(run.report_path());
  EXPECT_THAT(page, AllOf(HasSubstr("88.12 %"), HasSubstr("3.35 M"), HasSubstr("528 M"), HasSubstr("Recipe <b>darts")));
  EXPECT_THAT(page, AllOf(HasSubstr("Learning rate"), HasSubstr("Skip connections"), HasSubstr("Accuracy (%)")));
  EXPECT_THAT(page, AllOf(HasSubstr("Architecture weights"), HasSubstr("Mean entropy"), HasSubstr("dil_conv_5x5")));
  EXPECT_THAT(page, HasSubstr("nascent search --space darts"));
  EXPECT_EQ(unbalanced_tag(page), "");
}

TEST_F(ReportTest, NeedsNothingButItself) {
  const std::string page = report_page(finished_run("a"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<link")), Not(HasSubstr("src=")), Not(HasSubstr("@import")),
                          Not(HasSubstr("url(")), Not(HasSubstr("href=\"http")), Not(HasSubstr("fetch("))));
  EXPECT_EQ(count_of(page, "<script"), 1u) << "its own";
}

TEST_F(ReportTest, DrawsCellsAndCurves) {
  if (!have("dot") || !have("gnuplot")) GTEST_SKIP() << "needs dot and gnuplot";
  const std::string page = without_script(report_page(finished_run("a")));
  // The cells; loss, accuracy, rate, skips, seconds; loss by step, where the rate never changes; 14 edges of two cells;
  // entropy.
  EXPECT_EQ(count_of(page, "<svg"), 2u + 5 + 1 + 28 + 1);
  EXPECT_THAT(page, AllOf(HasSubstr("var(--c7)"), Not(HasSubstr("rgb(")), Not(HasSubstr("#0304"))));
  EXPECT_EQ(count_of(page, " id=\""), 0u);
}

// nor_conv_3x3 was green in the cell and red in the weights.
TEST_F(ReportTest, AnOperationHasOneColourEverywhere) {
  if (!have("dot")) GTEST_SKIP() << "needs dot";
  const std::string page = report_page(finished_run("a"));
  const auto colours_before = [&](const std::string& start, const std::string& end) {
    std::set<std::string> found;
    for (size_t at = 0; (at = page.find(end, at)) != std::string::npos; ++at) {
      const size_t open = page.rfind(start, at), colour = page.rfind("var(--c", at);
      if (open != std::string::npos && colour > open) found.insert(page.substr(colour, 9));
    }
    return found;
  };
  const auto in_legend = colours_before("<span>", "\"></i>sep_conv_3x3<");
  ASSERT_EQ(in_legend.size(), 1u);
  EXPECT_EQ(colours_before("<text", "sep_conv_3x3 </text>"), in_legend) << "in the cell";
}

TEST_F(ReportTest, TellsTheResultInSentences) {
  RunDirectory run = RunDirectory::create(folder / "a", sample_description(), options);
  run.write_genotype(sample_genotype());
  run.write_result({{"recipe", "darts-1st"},
                    {"genotype", Json::object()},
                    {"parameters", 79600},
                    {"shared_top1", 71.5},
                    {"table", {{"cifar10", {{"test", 93.5}, {"rank", 12}, {"of", 15625}, {"regret", 0.87}}}}}});
  run.finish(RunStatus::done, "", 1500);
  const std::string page = report_page(run);
  EXPECT_THAT(page, AllOf(HasSubstr("The recipe darts-1st"), HasSubstr("took 25 min"), HasSubstr("79.6 k parameters"),
                          HasSubstr("<b>71.50 %</b> of the held-out images"), HasSubstr("rank 12 of 15625")));
  EXPECT_THAT(page, AllOf(HasSubstr("Took <b>25 min</b>"), HasSubstr("All numbers")));
}

TEST_F(ReportTest, WhatNeverChangesIsSaidNotDrawn) {
  RunDirectory run = RunDirectory::create(folder / "a", sample_description(), options);
  EventStore events(run.events_path());
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    events.emit({"epoch", epoch, epoch + 1, {{"train_loss", 2.0 - epoch}, {"lr", 0.025}}});
  }
  const std::string page = report_page(run);
  EXPECT_THAT(page, HasSubstr("The same throughout: Learning rate 0.025"));
  if (!have("gnuplot")) GTEST_SKIP() << "needs gnuplot";
  EXPECT_EQ(count_of(page, "<svg"), 1u);
}

TEST_F(ReportTest, TextsCanBeCopiedAndCurvesRead) {
  const std::string page = report_page(finished_run("a"));
  EXPECT_GE(count_of(page, "<button class=\"copy\""), 4u);
  EXPECT_GE(count_of(page, " data-plot=\""), 28u);
}

TEST_F(ReportTest, MarksChangedOptions) {
  const std::string page = report_page(finished_run("a"));
  EXPECT_THAT(page, HasSubstr("1 of 4 differ from their defaults"));
  EXPECT_EQ(count_of(page, "<div class=\"changed\"><dt><code>search.lr</code></dt><dd>0.1<small>default 0.025</small>"),
            1u);
}

TEST_F(ReportTest, EscapesEverything) {
  const std::string evil = "<script>alert('x')</script>";
  options.at("data.set", "test").set(evil, "test");
  auto description = sample_description();
  description.facts = {{evil, evil}};
  description.command = {evil};
  RunDirectory run = RunDirectory::create(folder / "a", description, options);
  EventStore events(run.events_path());
  events.emit({"epoch", 0, 1, {{evil, 1.0}, {evil + "_loss", 1.0}, {"valid_loss", 2.0}}});
  events.emit({evil, 0, 1, {{"x", 1.0}}});
  const Json cell = {{"probabilities", {{0.5, 0.5}}}, {"sites", {evil}}};
  events.emit({"architecture", 0, 1, {{"ops", {evil, "b"}}, {"cells", {{evil, cell}}}}});
  run.write_result({{evil, evil}});
  run.finish(RunStatus::failed, evil);
  for (const std::string& path : {std::string(std::getenv("PATH")), (folder / "nowhere").string()}) {
    const WithPath with_path(path);
    const std::string page = report_page(run);
    EXPECT_THAT(page, AllOf(Not(HasSubstr(evil)), HasSubstr("&lt;script&gt;")));
    EXPECT_EQ(count_of(page, "<script"), 1u);
    EXPECT_EQ(unbalanced_tag(page), "");
  }
}

TEST_F(ReportTest, TheCommandCanBeTypedAgain) {
  const auto shown = [&](const std::string& name, const std::string& verb) {
    auto description = sample_description();
    description.command = {"nascent", verb, "runs/a b", "--seed=1"};
    return report_page(RunDirectory::create(folder / name, description, options));
  };
  EXPECT_THAT(shown("a", "ensemble eval"), HasSubstr("<pre>nascent ensemble eval &#39;runs/a b&#39; --seed=1</pre>"));
  EXPECT_THAT(shown("b", "x; rm -r y"), HasSubstr("<pre>nascent &#39;x; rm -r y&#39; &#39;runs/a b&#39;"));
}

TEST_F(ReportTest, WithoutDotAndGnuplotShowsTextAndTables) {
  const RunDirectory run = finished_run("a");
  const WithPath nowhere((folder / "nowhere").string());
  const std::string page = report_page(run);
  EXPECT_THAT(page, AllOf(HasSubstr("graphviz (dot) could not be run"), HasSubstr("gnuplot could not be run")));
  EXPECT_THAT(page, AllOf(HasSubstr("sep_conv_3x3"), HasSubstr("<th>train loss</th>")));
  EXPECT_EQ(count_of(page, "<svg"), 28u) << "the page draws the weights by itself";
  EXPECT_EQ(unbalanced_tag(page), "");
}

TEST_F(ReportTest, InterruptedRunSaysHowToGoOn) {
  RunDirectory run = RunDirectory::create(folder / "a", sample_description(), options);
  EventStore events(run.events_path());
  for (int64_t step = 1; step <= 7; ++step) events.emit({"step", 0, step, {{"loss", 2.0 / step}}});
  run.finish(RunStatus::interrupted);
  const std::string page = report_page(run);
  EXPECT_THAT(page, AllOf(HasSubstr("interrupted after 7 steps"), HasSubstr("nascent search --resume")));
  EXPECT_THAT(page, HasSubstr("<details open><summary>Curves by step"));
  EXPECT_EQ(unbalanced_tag(page), "");
}

TEST_F(ReportTest, RunThatHasDoneNothingYetHasAReport) {
  const RunDirectory run = RunDirectory::create(folder / "a", sample_description(), options);
  EXPECT_THAT(report_page(RunDirectory::view(folder / "a")), HasSubstr("still going"));
}

TEST_F(ReportTest, SurvivesOddNumbersAndShapes) {
  RunDirectory run = RunDirectory::create(folder / "a", sample_description(), options);
  EventStore events(run.events_path());
  events.emit({"epoch", 0, 1, {{"train_loss", NAN}, {"flat", 3}, {"huge", 1e300}, {"list", {1, 2}}, {"word", "x"}}});
  events.emit({"epoch", 1, 2, {{"train_loss", INFINITY}, {"flat", 3}, {"huge", -1e300}}});
  events.emit({"epoch", 2, 3, Json::array({1, 2})});
  events.emit({"architecture", 0, 1, {{"ops", {"a"}}, {"cells", {{"x", 3}, {"y", {{"probabilities", {1, 2}}}}}}}});
  events.emit({"architecture", 0, 1, {{"ops", {"a"}}, {"cells", {{"z", {{"probabilities", {{0.5}, {}}}}}}}}});
  EXPECT_EQ(unbalanced_tag(report_page(run)), "");
}

TEST(CollapseNotice, TellsSinceWhen) {
  const auto at = [](int64_t epoch) { return Event{"collapse", epoch, 10, {{"text", "every edge is <skip>"}}}; };
  EXPECT_EQ(collapse_notice({}, 5), "");
  EXPECT_THAT(collapse_notice({at(0), at(3), at(4)}, 5),
              AllOf(HasSubstr("since epoch 4, every edge is &lt;skip&gt;"), HasSubstr("class=\"notice failed\"")));
  EXPECT_THAT(collapse_notice({at(0), at(1)}, 5), HasSubstr("epoch 2 (every edge is &lt;skip&gt;), and recovered"));
}

TEST(StageSection, ShowsCandidatesAndSearches) {
  EXPECT_EQ(stage_section(Json::object()), "");
  const Json result = Json::parse(R"({"stages": {
    "searches": [{"seed": 7, "folder": "search-1", "candidate": 1, "entropy": 0.5, "collapse": "every edge is skip"}],
    "candidates": [
      {"candidate": 1, "found_by_seeds": [7, 8], "cell": "|a<b~0|", "valid_top1": 81.5, "kept": true,
       "test_top1": [90, 92], "mean": 91, "deviation": 1.4142},
      {"candidate": 2, "found_by_seeds": [9], "cell": "|c~0|", "valid_top1": 12.25, "kept": false}]}})");
  EXPECT_THAT(
      stage_section(result),
      AllOf(HasSubstr("91.00 % ± 1.41"), HasSubstr("7, 8"), HasSubstr("12.25 %"), HasSubstr(">out<"),
            HasSubstr("|a&lt;b~0|"), HasSubstr("href=\"search-1/report.html\""), HasSubstr("every edge is skip")));
}

TEST(Html, EscapesTheFiveSigns) { EXPECT_EQ(html::escape("<a b='c\"&'>"), "&lt;a b=&#39;c&quot;&amp;&#39;&gt;"); }

// Of the live page's modules one script is made, which stands in the page as it is.
TEST(Html, TheScriptIsWhole) {
  const std::string script(html::script());
  EXPECT_THAT(script, AllOf(HasSubstr("class Chart"), HasSubstr("function curveControls"), HasSubstr("button.copy")));
  EXPECT_THAT(script, AllOf(Not(HasSubstr("</")), Not(HasSubstr("<!--")), Not(HasSubstr("\nimport ")),
                            Not(HasSubstr("\nexport "))));
  EXPECT_LT(script.size(), 48u << 10) << "every report holds it";
}

TEST(Html, CountsReadWell) {
  EXPECT_EQ(html::count_text(3349342), "3.35 M");
  EXPECT_EQ(html::count_text(1.5e9), "1.5 G");
  EXPECT_EQ(html::count_text(12), "12");
}

}  // namespace
}  // namespace nascent
