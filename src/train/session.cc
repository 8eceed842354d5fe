#include "nascent/train/session.h"

#include <exception>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/version.h"
#include "nascent/run/report.h"
#include "nascent/train/parts_ahead.h"

namespace nascent {

namespace {
constexpr const char* kRecipe = "Recipe";  // the fact that names it
}

Session::Session(SessionStart start, const OptionTable& options, const RunOptions& run)
    : start_(std::move(start)),
      options_(options),
      run_(run),
      began_(std::chrono::steady_clock::now()),
      clock_began_(std::clock()) {}

Session::~Session() {
  if (directory_ && !finished_) finish(RunStatus::failed, "ended before it was done");
}

void Session::begin(const std::string& name, RunFacts facts, std::optional<uint32_t> data) {
  if (resumed()) {
    directory_ = RunDirectory::resume(start_.resume, start_.verb, data);
  } else {
    std::vector<std::string> command = {"nascent", start_.verb};
    command.insert(command.end(), start_.command.begin(), start_.command.end());
    if (!start_.recipe.empty()) facts.insert(facts.begin(), {kRecipe, start_.recipe});
    directory_ = RunDirectory::create(run_.out, {start_.verb, name, version(), command, std::move(facts), data},
                                      options_, run_.overwrite);
  }
  events_ = std::make_unique<EventStore>(directory_->events_path());
  checkpoints_ = std::make_unique<CheckpointStore>(directory_->checkpoints_path());
  log::info("Run directory: {}", directory_->path().string());
}

void Session::run(Job& job) {
  run([&] {
    run_job(job, {.checkpoints = checkpoints_.get(),
                  .events = events_.get(),
                  .resume = resumed(),
                  .checkpoint_steps = run_.checkpoint_steps,
                  .checkpoint_seconds = run_.checkpoint_seconds});
  });
}

void Session::run(const std::function<void()>& work) {
  if (guarded_) return work();  // the outermost says how it ended
  guarded_ = true;
  try {
    work();
  } catch (const Interrupted&) {
    finish(RunStatus::interrupted);
    if (!start_.part) {
      log::info("Interrupted; a checkpoint is written. Resume with: nascent {} --resume {}", start_.verb,
                directory_->path().string());
    }
    throw;
  } catch (const std::exception& error) {
    finish(RunStatus::failed, error.what());
    report_failure();
    throw;
  }
  guarded_ = false;
}

// The report says why; that it cannot be written must not hide the reason.
void Session::report_failure() {
  try {
    events_->flush();
    write_report(*directory_);
  } catch (const std::exception& error) {
    log::warning("The report could not be written: {}", error.what());
  }
}

void Session::conclude(const Json& result) {
  run([&] {
    directory_->write_result(result);
    events_->flush();
    finish(RunStatus::done);
    write_report(*directory_);
  });
}

void Session::finish(RunStatus status, const std::string& message) {
  finished_ = true;
  directory_->finish(status, message, seconds(), core_seconds());
  began_ = std::chrono::steady_clock::now();
  clock_began_ = std::clock();
}

double Session::seconds() const {
  const double here = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  return here + (directory_ ? directory_->info().value("seconds", 0.0) : 0.0);
}

double Session::core_seconds() const {
  const double here = static_cast<double>(std::clock() - clock_began_) / CLOCKS_PER_SEC;
  return here + (directory_ ? directory_->info().value("core_seconds", 0.0) : 0.0);
}

std::vector<std::string> Session::command() const {
  auto words = directory_->info().at("command").get<std::vector<std::string>>();
  words.erase(words.begin(), words.begin() + 2);  // program and verb
  return words;
}

std::string Session::recipe() const {
  for (const auto& fact : directory_->info().value("facts", Json::array())) {
    if (fact.at(0) == kRecipe) return fact.at(1).get<std::string>();
  }
  return "";
}

std::optional<Json> Session::result_of_part(const std::string& folder) const {
  const auto path = directory_->path() / folder;
  if (!std::filesystem::exists(path / "run.json")) return std::nullopt;
  const RunDirectory run = RunDirectory::view(path);
  if (run.status() != RunStatus::done) return std::nullopt;
  return run.result();
}

SessionStart Session::start_part(const std::string& folder, SessionStart start, OptionTable& table, RunOptions& run) {
  const auto path = directory_->path() / folder;
  directory_->add_part(folder);
  return part_start(path, std::move(start), run_, table, run);
}

}  // namespace nascent
