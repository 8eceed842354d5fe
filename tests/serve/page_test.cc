// The page as people use it, in a browser without a window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nascent/core/files.h"
#include "nascent/run/event_store.h"
#include "nascent/run/picture_section.h"
#include "nascent/serve/page_server.h"
#include "run/sample_run.h"
#include "serve/browser.h"
#include "serve/http_client.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

struct PageRun {
  std::string name;
  double accuracy = 0, parameters = 0;
  int epochs = 50;
};

RunDirectory make_page_run(const fs::path& folder, const PageRun& made) {
  OptionTable table;
  SampleOptions options;
  options.epochs = made.epochs;
  options.declare(table);
  RunDirectory run = RunDirectory::create(folder / made.name, sample_description(), table);
  EventStore events(run.events_path());
  for (int64_t epoch = 0; epoch < 6; ++epoch) {
    emit_sample_epoch(events, epoch, 6, 20);
    Json values = {{"ops", {"none", "skip_connect", "sep_conv_3x3"}},
                   {"cells", {{"normal", sample_weights(14, 3, 0.1 * static_cast<double>(epoch), 1)}}}};
    values["genotype"] = to_text({"darts",
                                  {sample_cell("normal", epoch < 3 ? std::vector<std::string>{"skip_connect"}
                                                                   : std::vector<std::string>{"dil_conv_5x5"})}},
                                 "json");
    events.emit({"architecture", epoch, (epoch + 1) * 20, values});
  }
  run.write_genotype(sample_genotype());
  run.write_result(
      {{"valid_top1", made.accuracy}, {"parameters", made.parameters}, {"multiply_adds", 100 * made.parameters}});
  run.finish(RunStatus::done);
  return run;
}

// One server for all tests, looked at by the program's one browser.
class Page : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!serve::kHasServer || Browser::program().empty()) return;
    folder_ = std::make_unique<TemporaryFolder>();
    const fs::path runs = folder_->path();
    make_page_run(runs, {"alpha", 91.5, 3.3e6});
    make_page_run(runs, {"beta", 93.25, 4.1e6, 30});
    make_page_run(runs, {"gamma", 90, 5e6});
    make_page_run(runs, {"<script>document.title='bad'<", 80, 1e6});
    std::ofstream(runs / "alpha/landscape.svg")
        << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"30\"><rect width=\"40\" height=\"30\" "
           "fill=\"red\"/></svg>";
    write_pictures(runs / "alpha", {{"3.5c", "landscape.svg", "a landscape", ""}});
    make_search_by_cost(runs / "rea");
    server_ = std::make_unique<PageServer>(ServeOptions{.folder = runs.string(), .port = 0});
    browser_ = &Browser::shared();
    browser_->go(server_->address());
    browser_->wait_for("document.querySelectorAll('table.runs tbody tr').length === 5");
  }

  static void TearDownTestSuite() {
    if (browser_ != nullptr) browser_->go("about:blank");
    browser_ = nullptr;
    server_.reset();
    folder_.reset();
  }

  static void make_search_by_cost(const fs::path& path) {
    OptionTable table;
    RunDirectory run = RunDirectory::create(
        path, {.verb = "search", .name = "rea", .version = "0", .command = {}, .facts = {}}, table);
    EventStore events(run.events_path());
    for (int64_t i = 0; i < 10; ++i)
      events.emit({"judgement",
                   i,
                   i + 1,
                   {{"valid_top1", 50 + (i * 7) % 10}, {"seconds", 100}, {"epochs", "12"}, {"architecture", "|x~0|"}}});
    run.finish(RunStatus::interrupted);
  }

  void SetUp() override {
    if (!serve::kHasServer) GTEST_SKIP() << serve::kNoServer;
    if (!browser_) GTEST_SKIP() << "THE PAGE IS NOT TESTED: there is no chromium (apt-get install chromium).";
    browser_->size(1280, 900);
    browser_->prefer("light");
    browser_->evaluate("sessionStorage.clear(); localStorage.clear(); location.hash = '#/'");
    browser_->reload();
    browser_->wait_for("document.querySelectorAll('table.runs tbody tr').length >= 5");
    browser_->forget_complaints();
  }

  void TearDown() override {
    if (!browser_) return;
    EXPECT_THAT(browser_->complaints(), IsEmpty());
  }

  Json evaluate(const std::string& expression) { return browser_->evaluate(expression); }
  void wait_for(const std::string& expression) { browser_->wait_for(expression); }

  int64_t number_of(const std::string& name) {
    return evaluate(
        fmt::format("Number([...document.querySelectorAll('table.runs tr[data-run]')].find(row => "
                    "row.querySelector('a').textContent === '{}').dataset.run)",
                    name));
  }
  void open_run(const std::string& name) {
    evaluate(fmt::format("location.hash = '#/run/{}'", number_of(name)));
    wait_for("document.querySelector('h1') && document.querySelectorAll('.downloads a').length > 0");
    // Charts are drawn once they have a size.
    wait_for("[...document.querySelectorAll('figure.chart canvas')].every(canvas => canvas.style.width)");
  }
  Json names() {
    return evaluate("[...document.querySelectorAll('table.runs tr[data-run] a')].map(link => link.textContent)");
  }
  // How many pixels of a canvas are not empty.
  int64_t painted(const std::string& selector) {
    return evaluate(fmt::format(
        "(() => {{ const c = document.querySelector('{}'); const d = c.getContext('2d').getImageData(0, 0, c.width, "
        "c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }})()",
        selector));
  }
  // The pixels of a canvas in short, to see whether they change.
  std::string picture(const std::string& selector) {
    return evaluate(fmt::format("document.querySelector('{}').toDataURL()", selector));
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  static std::unique_ptr<PageServer> server_;
  static Browser* browser_;
};

std::unique_ptr<TemporaryFolder> Page::folder_;
std::unique_ptr<PageServer> Page::server_;
Browser* Page::browser_ = nullptr;

TEST_F(Page, TheTokenLeavesTheAddress) { EXPECT_EQ(evaluate("location.search"), ""); }

TEST_F(Page, SortsByClick) {
  evaluate("document.querySelector('[data-key=accuracy]').click()");
  EXPECT_EQ(names()[0], "beta");
  EXPECT_EQ(names()[1], "alpha");
  evaluate("document.querySelector('[data-key=accuracy]').click()");
  EXPECT_EQ(names()[0], "<script>document.title='bad'<");
  evaluate("document.querySelector('[data-key=name]').click()");
  EXPECT_EQ(evaluate("document.querySelector('th[aria-sort=ascending]').textContent"), "Run");
  EXPECT_EQ(names()[1], "alpha");
}

TEST_F(Page, Filters) {
  const auto filter = [&](const std::string& text) {
    evaluate(
        fmt::format("(() => {{ const f = document.getElementById('filter'); f.value = {}; f.dispatchEvent(new "
                    "Event('input')); }})()",
                    Json(text).dump()));
    return names().size();
  };
  EXPECT_EQ(filter("alp"), 1u);
  EXPECT_EQ(filter("accuracy>90.5"), 2u);
  EXPECT_EQ(filter("cifar10 accuracy>=90 parameters<4.5e6"), 2u);
  EXPECT_EQ(filter("state=interrupted"), 1u);
  EXPECT_EQ(filter("nothing like that"), 0u);
  EXPECT_THAT(evaluate("document.getElementById('empty').textContent").get<std::string>(), HasSubstr("No run fits"));
  EXPECT_EQ(filter(""), 5u);
}

TEST_F(Page, ANameIsTextWhateverItHolds) {
  EXPECT_EQ(evaluate("document.title"), "Runs · nascent");
  EXPECT_EQ(evaluate("document.querySelectorAll('main script').length"), 0);
  open_run("<script>document.title=\\'bad\\'<");
  EXPECT_EQ(evaluate("document.querySelector('h1').textContent"), "<script>document.title='bad'<");
  EXPECT_EQ(evaluate("document.querySelectorAll('main script').length"), 0);
}

TEST_F(Page, InlineScriptsAreRefused) {
  evaluate(
      "(() => { const s = document.createElement('script'); s.textContent = 'window.injected = true'; "
      "document.body.append(s); })()");
  EXPECT_EQ(evaluate("window.injected === true"), false);
  EXPECT_THAT(browser_->complaints(), testing::Contains(HasSubstr("Content Security Policy")));
  browser_->forget_complaints();
}

TEST_F(Page, NoticesNewRunsByItself) {
  const auto began = std::chrono::steady_clock::now();
  make_page_run(folder_->path(), {"delta", 95, 2e6});
  wait_for("document.querySelectorAll('table.runs tr[data-run]').length === 6");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), 6);
  fs::remove_all(folder_->path() / "delta");
  wait_for("document.querySelectorAll('table.runs tr[data-run]').length === 5");
}

TEST_F(Page, ARunHasCurvesForEveryNumberAndCountsEveryEvent) {
  open_run("alpha");
  wait_for("document.querySelectorAll('figure.chart canvas[style]').length >= 7");
  const auto events = EventStore(folder_->path() / "alpha/events.sqlite", EventStore::Access::read).events().size();
  wait_for(fmt::format(
      "[...document.querySelectorAll('.tiles div')].some(tile => tile.innerText.startsWith('Events\\n{}'))", events));
  EXPECT_GT(painted("figure.chart canvas"), 500);
  const std::string whole = picture("figure.chart canvas");
  evaluate("document.getElementById('log-y').click()");
  EXPECT_NE(picture("figure.chart canvas"), whole);
  evaluate("document.getElementById('log-y').click()");
  EXPECT_EQ(picture("figure.chart canvas"), whole);
  evaluate(
      "(() => { const s = document.getElementById('smoothing'); s.value = 0.9; s.dispatchEvent(new Event('input')); "
      "})()");
  EXPECT_NE(picture("figure.chart canvas"), whole);
}

TEST_F(Page, DraggingZoomsAndADoubleClickShowsAll) {
  open_run("alpha");
  wait_for("document.querySelectorAll('figure.chart canvas[style]').length >= 7");
  evaluate("document.querySelector('figure.chart canvas').scrollIntoView({block: 'center'})");
  const Json box = evaluate(
      "(() => { const b = document.querySelector('figure.chart canvas').getBoundingClientRect(); return [b.left, "
      "b.top, b.width, b.height]; })()");
  const double y = box[1].get<double>() + box[3].get<double>() / 2, left = box[0].get<double>(),
               width = box[2].get<double>();
  const std::string whole = picture("figure.chart canvas");
  browser_->mouse("mouseMoved", left + 0.4 * width, y);
  EXPECT_EQ(evaluate("document.querySelector('figure.chart .tip').hidden"), false);
  EXPECT_THAT(evaluate("document.querySelector('figure.chart .tip').innerText").get<std::string>(),
              HasSubstr("train loss"));
  browser_->mouse("mousePressed", left + 0.4 * width, y);
  browser_->mouse("mouseMoved", left + 0.7 * width, y);
  browser_->mouse("mouseReleased", left + 0.7 * width, y);
  browser_->mouse("mouseMoved", 5, 5);
  const std::string zoomed = picture("figure.chart canvas");
  EXPECT_NE(zoomed, whole);
  browser_->mouse("mousePressed", left + 0.5 * width, y);
  browser_->mouse("mouseReleased", left + 0.5 * width, y);
  browser_->mouse("mousePressed", left + 0.5 * width, y, 2);
  browser_->mouse("mouseReleased", left + 0.5 * width, y, 2);
  browser_->mouse("mouseMoved", 5, 5);
  EXPECT_EQ(picture("figure.chart canvas"), whole);
}

TEST_F(Page, TheSliderShowsTheCellOfItsEpoch) {
  open_run("alpha");
  wait_for(
      "document.querySelector('#epoch-slider') && document.querySelectorAll('#weights-over-time canvas[style]').length "
      "> 0");
  wait_for("document.getElementById('epoch-shown').textContent.startsWith('6 of 6')");
  EXPECT_THAT(evaluate("document.getElementById('cell-over-time').textContent").get<std::string>(),
              HasSubstr("dil_conv_5x5"));
  EXPECT_GT(painted("#weights-over-time canvas"), 1000);
  const std::string before = picture("#weights-over-time canvas");
  evaluate(
      "(() => { const s = document.getElementById('epoch-slider'); s.value = 0; s.dispatchEvent(new Event('input')); "
      "})()");
  EXPECT_THAT(evaluate("document.getElementById('epoch-shown').textContent").get<std::string>(), HasSubstr("1 of 6"));
  browser_->press("]");
  browser_->press("]");
  EXPECT_THAT(evaluate("document.getElementById('epoch-shown').textContent").get<std::string>(), HasSubstr("2 of 6"));
  EXPECT_NE(picture("#weights-over-time canvas"), before);
}

TEST_F(Page, FilesPicturesAndOptionsOfARun) {
  open_run("alpha");
  const Json links = evaluate("[...document.querySelectorAll('.downloads a')].map(link => link.getAttribute('href'))");
  EXPECT_THAT(links.dump(), testing::AllOf(HasSubstr("files/genotype.json"), HasSubstr("files/events.csv"),
                                           HasSubstr("files/result.json")));
  EXPECT_EQ(evaluate("fetch([...document.querySelectorAll('.downloads a')].find(link => "
                     "link.href.endsWith('genotype.json')).href).then(r => r.text())"),
            read_file(folder_->path() / "alpha/genotype.json"));
  evaluate("document.querySelector('.pictures img').scrollIntoView()");
  wait_for("document.querySelector('.pictures img').naturalWidth === 40");
  EXPECT_THAT(evaluate("document.querySelector('main').textContent").get<std::string>(), HasSubstr("search.epochs"));
}

TEST_F(Page, OverlaysChosenRunsAndTellsTheirOptionsApart) {
  for (const char* name : {"alpha", "beta"}) {
    evaluate(fmt::format("document.querySelector('tr[data-run=\"{}\"] input').click()", number_of(name)));
  }
  EXPECT_EQ(evaluate("document.getElementById('compare-chosen').textContent"), "Compare 2");
  browser_->press("c");
  wait_for("document.querySelectorAll('#differing tbody tr').length === 1");
  EXPECT_EQ(evaluate("[...document.querySelectorAll('#differing tbody td')].map(cell => cell.textContent).join(' ')"),
            "search.epochs 50 30");
  wait_for(
      "[...document.querySelectorAll('figure.chart')].some(chart => chart.innerText.startsWith('valid top1') && "
      "chart.querySelectorAll('.legend span').length === 2)");
  EXPECT_THAT(evaluate("document.querySelector('main').innerText").get<std::string>(), HasSubstr("93.25"));
}

TEST_F(Page, SearchesByCost) {
  open_run("rea");
  wait_for(
      "[...document.querySelectorAll('figure.chart')].some(chart => chart.innerText.includes('seconds of "
      "validation'))");
  EXPECT_GT(painted("figure.chart canvas"), 300);
}

TEST_F(Page, ScatterHasTheParetoFrontAndStrandsCanBeBrushed) {
  browser_->press("e");
  wait_for("document.querySelectorAll('#scatter circle').length === 4");
  // gamma costs more than beta and is worse; the others are each the best at their price.
  EXPECT_EQ(evaluate("document.getElementById('front').textContent"),
            "Pareto front: <script>document.title='bad'<, alpha, beta");
  evaluate(
      "(() => { const s = document.getElementById('scatter-x'); s.value = 'multiply_adds'; s.dispatchEvent(new "
      "Event('change')); })()");
  EXPECT_EQ(evaluate("document.querySelectorAll('#scatter circle.best').length"), 3);
  wait_for("document.querySelectorAll('#parallel .strand').length === 5");
  evaluate("document.querySelector('[data-axis=accuracy]').scrollIntoView({block: 'center'})");
  const Json box = evaluate(
      "(() => { const b = document.querySelector('[data-axis=accuracy]').getBoundingClientRect(); return [b.left + "
      "b.width / 2, b.top, b.height]; })()");
  const double x = box[0], top = box[1], height = box[2];
  browser_->mouse("mousePressed", x, top + 1);
  browser_->mouse("mouseMoved", x, top + height * 0.3);
  browser_->mouse("mouseReleased", x, top + height * 0.3);
  wait_for("document.getElementById('strands').textContent.startsWith('3 of 5')");
}

TEST_F(Page, ParetoFrontOfKnownPoints) {
  EXPECT_EQ(evaluate("import('/web/explore.js').then(m => m.paretoFront([{x: 3, y: 5}, {x: 1, y: 1}, {x: 2, y: 4}, {x: "
                     "2, y: 3}, {x: 4, y: 5}]).map(p => p.x + ':' + p.y).join(' '))"),
            "1:1 2:4 3:5");
  EXPECT_EQ(evaluate("import('/web/explore.js').then(m => m.paretoFront([{x: 3, y: 5}, {x: 1, y: 1}, {x: 0, y: 4}], "
                     "false).map(p => p.x + ':' + p.y).join(' '))"),
            "0:4 1:1");
}

TEST_F(Page, SmoothingOfKnownValues) {
  EXPECT_EQ(evaluate("import('/web/chart.js').then(m => m.smoothed([1, 3], 0.5).join(' '))"),
            fmt::format("1 {}", (0.5 + 3) / 1.5));
  EXPECT_EQ(evaluate("import('/web/chart.js').then(m => m.smoothed([2, 2, 2], 0.9).map(v => v.toFixed(9)).join(' '))"),
            "2.000000000 2.000000000 2.000000000");
}

TEST_F(Page, TicksAreToldApart) {
  EXPECT_EQ(evaluate("import('/web/chart.js').then(m => m.ticks(0.02495, 0.025, 4).join(' '))"),
            "0.02496 0.02498 0.025");
  EXPECT_EQ(evaluate("Promise.all([import('/web/chart.js'), import('/web/dom.js')]).then(([c, d]) => { const all = "
                     "c.ticks(1.60941, 1.60945, 4); return new Set(all.map(t => d.number(t, c.tickDigits(all)))).size "
                     "=== all.length; })"),
            true);
}

TEST_F(Page, AnEventIsOnThePageWithinTwoSeconds) {
  OptionTable table;
  RunDirectory run = RunDirectory::create(
      folder_->path() / "live", {.verb = "train", .name = "live", .version = "0", .command = {}, .facts = {}}, table);
  EventStore events(run.events_path());
  events.emit({"epoch", 0, 10, {{"train_loss", 2}}});
  wait_for("document.querySelectorAll('table.runs tr[data-run]').length === 6");
  open_run("live");
  wait_for("[...document.querySelectorAll('.tiles div')].some(tile => tile.innerText.startsWith('Epochs\\n1'))");
  double quickest = 10;  // of three, so that a busy machine is not taken for a slow page
  for (int64_t epoch = 1; epoch < 4; ++epoch) {
    events.emit({"epoch", epoch, 10 * (epoch + 1), {{"train_loss", 2.0 / static_cast<double>(epoch)}}});
    quickest = std::min(
        quickest,
        browser_->wait_for(fmt::format(
            "[...document.querySelectorAll('.tiles div')].some(tile => tile.innerText.startsWith('Epochs\\n{}'))",
            epoch + 1)));
  }
  EXPECT_LT(quickest, 2);
  run.finish(RunStatus::done);
  wait_for("document.querySelector('h1').parentElement.querySelector('.status').textContent === 'done'");
  fs::remove_all(folder_->path() / "live");
}

TEST_F(Page, Keyboard) {
  evaluate("document.querySelector('[data-key=name]').click(); document.activeElement.blur()");
  browser_->press("j");
  browser_->press("x");
  EXPECT_EQ(evaluate("document.querySelector('tr.picked a').textContent"), names()[1]);
  browser_->press("/");
  EXPECT_EQ(evaluate("document.activeElement.id"), "filter");
  browser_->press("Escape");
  browser_->press("?");
  EXPECT_EQ(evaluate("document.getElementById('keys').open"), true);
  evaluate("document.getElementById('keys').close(); document.activeElement.blur()");
  browser_->press("Enter");
  wait_for("location.hash.startsWith('#/run/')");
  browser_->press("g");
  wait_for("location.hash === '#/'");
}

TEST_F(Page, DarkAndLight) {
  const std::string colour = "getComputedStyle(document.body).backgroundColor";
  const Json light = evaluate(colour);
  browser_->prefer("dark");
  const Json dark = evaluate(colour);
  EXPECT_NE(dark, light);
  browser_->press("t");
  EXPECT_EQ(evaluate(colour), light);
  browser_->press("t");
  EXPECT_EQ(evaluate(colour), dark);
}

TEST_F(Page, FitsAPhone) {
  browser_->size(390, 844, true);
  for (const std::string& view : {std::string("#/"), fmt::format("#/run/{}", number_of("alpha")),
                                  std::string("#/explore"), std::string("#/compare")}) {
    evaluate(fmt::format("location.hash = '{}'", view));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LE(evaluate("document.documentElement.scrollWidth").get<int>(), 390) << view;
  }
}

TEST_F(Page, AsksNothingWhileHidden) {
  evaluate(
      "window.asked = 0; const real = window.fetch; window.fetch = (...all) => { window.asked++; return real(...all); "
      "}");
  wait_for("window.asked > 0");
  evaluate(
      "Object.defineProperty(document, 'hidden', {value: true, configurable: true}); document.dispatchEvent(new "
      "Event('visibilitychange')); window.asked = 0");
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  EXPECT_LE(evaluate("window.asked").get<int>(), 1);  // one may have been on its way
  evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))");
  wait_for("window.asked > 1");
}

TEST_F(Page, SaysWhenTheServerIsGone) {
  evaluate("window.fetch = () => Promise.reject(new Error('gone'))");
  wait_for("document.getElementById('pulse').textContent.includes('does not answer')");
}

}  // namespace
}  // namespace nascent
