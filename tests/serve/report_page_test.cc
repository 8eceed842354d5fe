// The report as people read it, in a browser without a window: wide and on a phone, with scripts and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nascent/core/files.h"
#include "nascent/run/event_store.h"
#include "nascent/run/html.h"
#include "nascent/run/picture_section.h"
#include "nascent/run/report.h"
#include "nascent/serve/page_server.h"
#include "run/sample_run.h"
#include "serve/browser.h"
#include "serve/http_client.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class ReportPage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (Browser::program().empty()) return;
    folder_ = std::make_unique<TemporaryFolder>();
    make_run(folder_->path() / "runs/search");
  }
  static void TearDownTestSuite() {
    if (folder_) Browser::shared().go("about:blank");
    folder_.reset();
  }

  static void make_run(const fs::path& path) {
    OptionTable table;
    SampleOptions options;
    options.declare(table);
    RunDirectory run = RunDirectory::create(path, sample_description(), table);
    EventStore events(run.events_path());
    for (int64_t epoch = 0; epoch < 8; ++epoch) emit_sample_epoch(events, epoch, 8, 20);
    run.write_genotype(sample_genotype());
    run.write_result({{"valid_top1", 88.125}, {"models", {{{"name", "first"}, {"spread", {{"mean", 1.5}}}}}}});
    for (const auto& [file, scale] : {std::pair("grid.csv", 1), std::pair("steep.csv", 8)}) {
      std::string grid = "x,y,loss\n";
      for (int y = -2; y <= 2; ++y) {
        for (int x = -2; x <= 2; ++x) grid += fmt::format("{},{},{}\n", x, y, scale * (x * x + y * y));
      }
      write_file(path / file, grid);
    }
    write_file(
        path / "surface.svg",
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 40 30\"><rect width=\"40\" height=\"30\"/></svg>");
    write_pictures(path, {{"3.5c", "surface.svg", "a surface", "grid.csv"},
                          {"2.5c", "surface.svg", "a steeper one", "steep.csv"}});
    run.finish(RunStatus::done);
    write_report(run);
  }

  void SetUp() override {
    if (Browser::program().empty()) GTEST_SKIP() << "THE REPORT IS NOT LOOKED AT: there is no chromium.";
    if (std::system("command -v gnuplot dot > /dev/null") != 0) GTEST_SKIP() << "needs dot and gnuplot";
    browser_ = &Browser::shared();
    browser_->size(1280, 900);
    browser_->prefer("light");
    open("file://" + (folder_->path() / "runs/search/report.html").string());
    browser_->forget_complaints();
  }
  void TearDown() override {
    if (browser_ == nullptr) return;
    EXPECT_THAT(browser_->complaints(), IsEmpty());
    browser_->scripts(true);
  }

  void open(const std::string& address) {
    browser_->go("about:blank");
    browser_->wait_for("location.href === 'about:blank'");
    browser_->go(address);
    browser_->wait_for("location.href !== 'about:blank' && document.readyState === 'complete'");
  }
  Json evaluate(const std::string& expression) { return browser_->evaluate(expression); }
  std::string text(const std::string& selector) {
    return evaluate(fmt::format("document.querySelector(\"{}\").innerText", selector));
  }
  std::string picture(const std::string& selector) {
    return evaluate(fmt::format("document.querySelector(\"{}\").toDataURL()", selector));
  }

  struct Box {
    double left, top, width, height;
    double across(double share) const { return left + share * width; }
    double middle() const { return top + height / 2; }
  };
  Box box(const std::string& selector) {
    const Json found = evaluate(
        fmt::format("(() => {{ const e = document.querySelector(\"{}\"); e.scrollIntoView({{block: 'center'}}); const "
                    "b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()",
                    selector));
    return {found[0], found[1], found[2], found[3]};
  }
  void away() { browser_->mouse("mouseMoved", 2, 2); }

  static std::unique_ptr<TemporaryFolder> folder_;
  Browser* browser_ = nullptr;
};

std::unique_ptr<TemporaryFolder> ReportPage::folder_;

const std::string kLoss = ".panels figure[data-plot] .stage canvas", kSite = ".sites figure.live canvas";

TEST_F(ReportPage, ChartsStandInForPictures) {
  EXPECT_EQ(evaluate("document.querySelectorAll('figure[data-plot]:not(.live)').length"), 0);
  EXPECT_GE(evaluate("document.querySelectorAll('figure.live .stage canvas').length").get<int>(), 28 + 6);
  EXPECT_EQ(evaluate("[...document.querySelectorAll('figure.live > svg')].some(svg => svg.getClientRects().length)"),
            false);
  EXPECT_EQ(evaluate("[...document.querySelectorAll('.stage canvas')].filter(c => c.offsetParent).every(c => c.width > "
                     "100 && c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))"),
            true);
}

TEST_F(ReportPage, WithoutScriptsItIsAllThere) {
  browser_->scripts(false);
  browser_->reload();
  EXPECT_EQ(evaluate("document.querySelectorAll('.stage, .controls, figure.live').length"), 0);
  EXPECT_EQ(evaluate("[...document.querySelectorAll('figure[data-plot] svg')].filter(svg => !svg.closest("
                     "'details:not([open])')).every(svg => svg.getBoundingClientRect().height > 50)"),
            true);
  EXPECT_EQ(evaluate("[...document.querySelectorAll('button.copy')].some(b => b.getClientRects().length)"), false);
  EXPECT_EQ(evaluate("document.querySelector('canvas[data-grid]').getClientRects().length"), 0);
}

TEST_F(ReportPage, ZoomsByDraggingAndByTheWheel) {
  const Box at = box(kLoss);
  const std::string whole = picture(kLoss);
  const auto zoom_out = [&] {
    for (const int clicks : {1, 2}) {
      browser_->mouse("mousePressed", at.across(0.5), at.middle(), clicks);
      browser_->mouse("mouseReleased", at.across(0.5), at.middle(), clicks);
    }
    away();
  };
  browser_->mouse("mousePressed", at.across(0.4), at.middle());
  browser_->mouse("mouseMoved", at.across(0.7), at.middle());
  browser_->mouse("mouseReleased", at.across(0.7), at.middle());
  away();
  EXPECT_NE(picture(kLoss), whole);
  zoom_out();
  EXPECT_EQ(picture(kLoss), whole);
  browser_->wheel(at.across(0.5), at.middle(), -200);
  browser_->wait_for("true");
  away();
  EXPECT_NE(picture(kLoss), whole);
  zoom_out();
  EXPECT_EQ(picture(kLoss), whole);
}

TEST_F(ReportPage, TellsTheValuesUnderThePointer) {
  const Box at = box(kLoss);
  browser_->mouse("mouseMoved", at.across(0.999), at.middle());
  const auto last = EventStore(folder_->path() / "runs/search/events.sqlite", EventStore::Access::read).events("epoch");
  // As the page writes it: five digits.
  const std::string loss =
      evaluate(fmt::format("String(Number(({}).toPrecision(5)))", last.back().values["train_loss"].get<double>()));
  EXPECT_THAT(text(".panels figure[data-plot] .tip"), AllOf(HasSubstr("epoch 8"), HasSubstr("train " + loss)));
  const Box site = box(kSite);
  browser_->mouse("mouseMoved", site.across(0.5), site.middle());
  EXPECT_THAT(text(".sites figure.live .tip"), AllOf(HasSubstr("epoch"), HasSubstr("sep_conv_3x3 0.")));
  away();
  EXPECT_EQ(evaluate("[...document.querySelectorAll('.tip')].every(tip => tip.hidden)"), true);
}

TEST_F(ReportPage, LogarithmsAndSmoothing) {
  const std::string plain = picture(kLoss);
  evaluate("document.getElementById('log-y').click()");
  EXPECT_NE(picture(kLoss), plain);
  evaluate("document.getElementById('log-y').click()");
  EXPECT_EQ(picture(kLoss), plain);
  evaluate(
      "(() => { const s = document.getElementById('smoothing'); s.value = 0.8; s.dispatchEvent(new Event('input')); "
      "})()");
  EXPECT_NE(picture(kLoss), plain);
  EXPECT_EQ(evaluate("document.querySelectorAll('.controls').length"), 1);
}

TEST_F(ReportPage, SurfacesTurn) {
  const std::string before = picture("canvas[data-grid]");
  const Box at = box("canvas[data-grid]");
  browser_->mouse("mousePressed", at.across(0.3), at.middle());
  browser_->mouse("mouseMoved", at.across(0.6), at.middle());
  browser_->mouse("mouseReleased", at.across(0.6), at.middle());
  EXPECT_NE(picture("canvas[data-grid]"), before);
  EXPECT_EQ(evaluate("document.querySelector('canvas[data-grid]').parentElement.querySelector('svg')"
                     ".getClientRects().length"),
            0);
}

// Drawn each over its own range, a flat and a steep one looked alike.
TEST_F(ReportPage, SurfacesSideBySideHaveOneScale) {
  EXPECT_EQ(
      evaluate("[...document.querySelectorAll('canvas[data-grid]')].map(c => c.getAttribute('aria-label')).join('; ')"),
      "surface, heights from 0 to 64; surface, heights from 0 to 64");
  // Where the flat one's highest corner would be over its own range, there is nothing.
  const auto rows = [&](int canvas) {
    return evaluate(
               fmt::format(
                   "(() => {{ const c = document.querySelectorAll('canvas[data-grid]')[{}], {{width, height}} = c, d = "
                   "c.getContext('2d').getImageData(width / 3, 0, width / 3, height).data; return d.findIndex(v => v) "
                   "/ 4 / (width / "
                   "3); }})()",
                   canvas))
        .get<double>();
  };
  EXPECT_GT(rows(0), rows(1) + 40);
}

// Every button, by a click: what is then on the clipboard is the text beside it.
TEST_F(ReportPage, CopyButtonsCopy) {
  browser_->permit({"clipboardReadWrite", "clipboardSanitizedWrite"});
  evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })");
  const int buttons = evaluate("document.querySelectorAll('button.copy').length");
  ASSERT_GE(buttons, 4);
  for (const bool clipboard : {true, false}) {
    evaluate("window.board = navigator.clipboard");
    if (!clipboard) evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})");  // the old way
    for (int i = 0; i < buttons; ++i) {
      evaluate(
          fmt::format("board.writeText('nothing').then(() => {{ document.querySelectorAll('button.copy').forEach("
                      "(b, i) => b.classList.toggle('tried', i === {})); }})",
                      i));
      const Box at = box("button.tried");
      browser_->mouse("mousePressed", at.across(0.5), at.middle());
      browser_->mouse("mouseReleased", at.across(0.5), at.middle());
      browser_->wait_for("document.querySelector('button.tried').textContent === 'Copied'");
      EXPECT_EQ(evaluate("board.readText()"),
                evaluate("document.querySelector('button.tried').parentNode.querySelector('pre').textContent"))
          << i << (clipboard ? "" : " without navigator.clipboard");
    }
  }
}

TEST_F(ReportPage, FitsAPhoneAndADesk) {
  for (const int width : {390, 1280}) {
    for (const std::string& scheme : {std::string("light"), std::string("dark")}) {
      SCOPED_TRACE(fmt::format("{} {}", width, scheme));
      browser_->size(width, 844, width < 500);
      browser_->prefer(scheme);
      browser_->reload();
      evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })");
      EXPECT_EQ(evaluate("document.documentElement.scrollWidth"), width);
      // Nothing sticks out, but where it can be scrolled.
      EXPECT_EQ(evaluate("[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > "
                         "innerWidth + 1 && !e.closest('.wide, .cells, .picture, pre')).map(e => e.outerHTML.slice(0, "
                         "80)).join()"),
                "");
      // The cell is not made so small that its names cannot be read.
      EXPECT_GE(evaluate("Math.min(...[...document.querySelectorAll('.cells svg text')].map(t => "
                         "t.getBoundingClientRect().height))")
                    .get<double>(),
                8);
      EXPECT_NE(evaluate("getComputedStyle(document.body).backgroundColor"),
                evaluate("getComputedStyle(document.body).color"));
      // A pointer at the border makes the page no wider.
      const Box at = box(kSite);
      browser_->mouse("mouseMoved", at.across(0.9), at.middle());
      EXPECT_EQ(evaluate("document.documentElement.scrollWidth"), width);
    }
  }
}

// In the pictures: along an axis, numbers are anchored alike.
TEST_F(ReportPage, NoTickTwice) {
  const Json twice = evaluate(R"((() => {
    const labels = (svg, anchor) => [...svg.querySelectorAll(`[text-anchor=${anchor}]`)].map(e => e.textContent.trim());
    const repeats = (all) => all.length > new Set(all).size;
    const pictures = [...document.querySelectorAll('.panels figure > svg')];
    return [pictures.filter(svg => labels(svg, 'end').length > 1).length,
            pictures.filter(svg => repeats(labels(svg, 'end')) || repeats(labels(svg, 'middle'))).length];
  })())");
  EXPECT_GE(twice[0].get<int>(), 5) << "pictures with numbers were looked at";
  EXPECT_EQ(twice[1], 0);
}

TEST_F(ReportPage, NestedResultsAreRowsNotBraces) {
  EXPECT_EQ(evaluate("document.querySelector('main').textContent.includes('{\"name\"')"), false);
  EXPECT_EQ(
      evaluate("[...document.querySelectorAll('tr')].some(row => row.textContent === 'models · 1 · spread · mean1.5"
               "')"),
      true);
}

// Under the live page the report's own script runs, and no other.
TEST_F(ReportPage, ServedItComesToLifeAndForeignScriptsDoNot) {
  if (!serve::kHasServer) GTEST_SKIP() << serve::kNoServer;
  make_run(folder_->path() / "served/a");
  make_run(folder_->path() / "served/b");
  const fs::path foreign = folder_->path() / "served/b/report.html";
  const std::string page = read_file(foreign);
  write_file(foreign, page.substr(0, page.find("<script>")) + "<script>document.title = 'bad'</script>" +
                          "<img src=x onerror=\"document.title = 'bad'\">" + page.substr(page.find("<script>")));
  const PageServer server({.folder = (folder_->path() / "served").string(), .port = 0});
  open(server.address());
  browser_->wait_for("document.querySelectorAll('tr[data-run]').length === 2");
  const std::string numbers = evaluate(
      "[...document.querySelectorAll('tr[data-run]')].sort((a, b) => "
      "a.innerText < b.innerText ? -1 : 1).map(row => row.dataset.run).join(' ')");
  const std::string origin = evaluate("location.origin");
  for (const std::string& number : {numbers.substr(0, numbers.find(' ')), numbers.substr(numbers.find(' ') + 1)}) {
    browser_->go(fmt::format("{}/runs/{}/report", origin, number));
    browser_->wait_for("document.querySelectorAll('figure.live canvas').length > 20");
    EXPECT_NE(evaluate("document.title"), "bad");
    EXPECT_EQ(evaluate("self.origin"), "null") << "a page of nobody's";
    EXPECT_EQ(evaluate("(() => { try { return document.cookie; } catch (refused) { return 'refused'; } })()"),
              "refused");
    evaluate("document.getElementById('log-y').click()");
  }
  browser_->forget_complaints();  // the refused scripts
  browser_->go("about:blank");
}

}  // namespace
}  // namespace nascent
