// A strategy of the user's own, in any language: a program that is asked for architectures and told how good they are,
// one line of JSON at a time (docs/python.md).
#include <cmath>
#include <deque>

#include "nascent/core/error.h"
#include "nascent/run/line_process.h"
#include "nascent/score/score_cache.h"
#include "nascent/search/encoding.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

constexpr int kTries = 10;      // answers to one question that may be wrong
constexpr int kProtocol = 1;    // of the lines
constexpr size_t kShown = 200;  // characters of a wrong answer that people are shown

std::string shortened(const std::string& line) {
  return line.size() <= kShown ? line : line.substr(0, kShown) + " ...";
}

class ExternalStrategy : public Strategy {
 public:
  explicit ExternalStrategy(const StrategySetting& setting)
      : setting_(setting), encoding_(setting.space), earlier_(setting.proposed.begin(), setting.proposed.end()) {
    if (setting.options.command.empty()) {
      fail(
          "--method external: --command is missing, the program that proposes architectures, as in --command 'python3 "
          "examples/optuna_search.py'. docs/python.md says what it reads and writes.");
    }
    if (setting_.fidelities.empty()) setting_.fidelities = {setting_.budget};
  }

  // It is told that no more will be asked; it may end by itself.
  ~ExternalStrategy() override {
    try {
      if (program_) program_->write(Json::object({{"type", "end"}}).dump());
    } catch (const std::exception&) {  // Ctrl-C: there is no time for it
    }
  }

  std::optional<Proposal> propose() override {
    if (!program_) start();
    replayed_ = !earlier_.empty();
    if (replayed_) {
      Proposal proposal = std::move(earlier_.front());
      earlier_.pop_front();
      return proposal;
    }
    return stopped_ ? std::nullopt : asked();
  }

  void spent(double seconds) override { seconds_ = seconds; }

  void tell(const Proposal& proposal, double accuracy) override {
    send({{"type", "result"},
          {"trial", trial_++},
          {"architecture", ScoreCache::key(proposal.genotype)},
          {"choices", encoding_.encode(proposal.genotype)},
          {"budget", proposal.budget.text()},
          {"accuracy", std::isfinite(accuracy) ? Json(accuracy) : Json()},
          {"seconds", seconds_},
          {"replayed", replayed_}});
  }

 private:
  void start() {
    program_ = std::make_unique<LineProcess>(setting_.options.command);
    Json budgets = Json::array();
    for (const Budget& budget : setting_.fidelities) budgets.push_back(budget.text());
    send({{"type", "start"},
          {"protocol", kProtocol},
          {"space", setting_.space->name()},
          {"operations", setting_.space->genotype_ops()},
          {"sizes", encoding_.sizes()},
          {"budget", setting_.budget.text()},
          {"budgets", budgets},
          {"seed", setting_.seed},
          {"replayed", earlier_.size()}});
  }

  // Asks until the answer makes sense, a few times.
  std::optional<Proposal> asked() {
    send({{"type", "propose"}, {"trial", trial_}});
    for (int left = kTries - 1;; --left) {
      const auto line = program_->read();
      if (!line) fail_ended();
      try {
        return understood(*line);
      } catch (const Error& error) {
        if (left == 0) {
          fail("The command '{}' gave {} invalid answers in a row. The last one, '{}': {}{}", setting_.options.command,
               kTries, shortened(*line), error.what(), how_to_go_on());
        }
        send({{"type", "error"}, {"trial", trial_}, {"message", error.what()}, {"tries", left}});
      }
    }
  }

  // Nothing where the program wants to stop.
  std::optional<Proposal> understood(const std::string& line) {
    const Json answer = parsed(line);
    check_keys(answer);
    if (answer.contains("stop")) {
      if (answer["stop"] != true) fail("\"stop\" is {}; only true is expected there.", answer["stop"].dump());
      stopped_ = true;
      return std::nullopt;
    }
    return Proposal{answer.contains("choices") ? chosen(answer["choices"]) : named(answer["architecture"]),
                    answer.contains("budget") ? budget(answer["budget"]) : setting_.budget};
  }

  static Json parsed(const std::string& line) {
    Json answer;
    try {
      answer = Json::parse(line);
    } catch (const nlohmann::json::exception& error) {
      fail("The line '{}' is not JSON: {}. {}", shortened(line), error.what(), kExpected);
    }
    if (!answer.is_object()) fail("The line is not a JSON object but {}. {}", answer.type_name(), kExpected);
    return answer;
  }

  static void check_keys(const Json& answer) {
    static const std::vector<std::string> known = {"architecture", "choices", "budget", "stop"};
    for (const auto& [key, value] : answer.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail("\"{}\" is not a known key.{} {}", key, suggestion(key, known), kExpected);
      }
    }
    const int ways = static_cast<int>(answer.contains("architecture")) + static_cast<int>(answer.contains("choices")) +
                     static_cast<int>(answer.contains("stop"));
    if (ways != 1) fail("The object has {} of \"architecture\", \"choices\" and \"stop\". {}", ways, kExpected);
  }

  Genotype chosen(const Json& choices) const {
    const std::vector<int>& sizes = encoding_.sizes();
    if (!choices.is_array() || choices.size() != sizes.size()) {
      fail("\"choices\" must be a list of {} whole numbers, as many as \"sizes\" has; found {}.", sizes.size(),
           shortened(choices.dump()));
    }
    Choices numbers;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool whole = choices[i].is_number_integer();
      if (!whole || choices[i].get<int64_t>() < 0 || choices[i].get<int64_t>() >= sizes[i]) {
        fail("\"choices\"[{}] is {}; a whole number from 0 to {} is expected.", i, shortened(choices[i].dump()),
             sizes[i] - 1);
      }
      numbers.push_back(choices[i].get<int>());
    }
    const auto genotype = encoding_.decode(numbers);
    if (!genotype) {
      fail("The choices {} do not go together: {} has no such architecture.", choices.dump(), setting_.space->name());
    }
    return *genotype;
  }

  Genotype named(const Json& architecture) const {
    if (!architecture.is_string() && !architecture.is_object()) {
      fail("\"architecture\" must be a genotype: its text in any form, its name, or its JSON; found {}.",
           shortened(architecture.dump()));
    }
    const std::string text = architecture.is_string() ? architecture.get<std::string>() : architecture.dump();
    const bool written = text.find_first_of("{|(") != std::string::npos;
    Genotype genotype = written ? parse_genotype(text, "", setting_.space->name()) : find_genotype(text);
    setting_.space->validate(genotype);
    return genotype;
  }

  Budget budget(const Json& text) const {
    std::vector<std::string> known;
    for (const Budget& each : setting_.fidelities) {
      if (text == each.text()) return each;
      known.push_back(fmt::format("\"{}\"", each.text()));
    }
    fail("\"budget\" is {}; expected one of {}.", shortened(text.dump()), join(known, ", "));
  }

  void send(const Json& message) {
    if (!program_->write(message.dump(-1, ' ', false, Json::error_handler_t::replace))) fail_ended();
  }

  [[noreturn]] void fail_ended() {
    fail("The command '{}' {} after {} evaluations. What it wrote to standard error is above.{}",
         setting_.options.command, program_->ended_how(), trial_, how_to_go_on());
  }

  // The run is told so far to the command that is started then.
  std::string how_to_go_on() const {
    return setting_.resume.empty() ? "" : fmt::format(" Once it is fixed, resume with: {}", setting_.resume);
  }

  static constexpr const char* kExpected =
      "Expected one of {\"architecture\": TEXT}, {\"choices\": [NUMBER, ...]} and {\"stop\": true}, the first two with "
      "\"budget\" where another than the usual one is wanted.";

  StrategySetting setting_;
  Encoding encoding_;
  std::deque<Proposal> earlier_;  // of a resumed run, not proposed again yet
  std::unique_ptr<LineProcess> program_;
  int64_t trial_ = 0;
  double seconds_ = 0;     // of the judgement that is told next
  bool replayed_ = false;  // what is judged now was judged before the run was stopped
  bool stopped_ = false;
};

NASCENT_REGISTER(
    Strategy, "external", "a program of your own (--command) that proposes architectures, in lines of JSON",
    [](const StrategySetting& setting) { return std::make_unique<ExternalStrategy>(setting); },
    StrategyFacts{.several_budgets = true, .reproducible = false, .sequential = true});

}  // namespace
}  // namespace nascent
