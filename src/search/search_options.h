// What a search is asked for: space, method, judge, stages, network, data and run.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/scale.h"
#include "nascent/data/data_options.h"
#include "nascent/score/score_options.h"
#include "nascent/search/at_initialisation/nasi.h"
#include "nascent/search/at_initialisation/te_nas.h"
#include "nascent/search/one_shot/one_shot_search.h"
#include "nascent/search/strategy.h"
#include "nascent/train/run_options.h"
#include "nascent/train/trainer.h"

namespace nascent {

// The architectures that a method chooses from by their training-free metrics.
struct PoolOptions {
  std::string file{};  // CSV with the metrics, as 'nascent score --csv' writes it; "": they are computed
  bool all = false;    // the whole space
  int64_t sample = 0;  // so many, drawn at random

  bool given() const { return !file.empty() || all || sample > 0; }
  void declare(OptionTable& table);  // section "pool"
};

// How what a method proposes is judged (search/judge.h).
struct JudgeOptions {
  int validations = 0;  // at most; 0: by a table as many as the budget allows, otherwise 25
  int in_flight = 1;    // proposals that are judged at once
  double budget = 0;    // table: seconds on its clock; 0: 12000 where validations are not limited either
  std::string data = "cifar10", schedule = "12";  // table: whose validation accuracy, after which schedule
  int epochs = 12;                                // training: epochs
  std::string supernet{};                         // shared: folder of a finished one-shot search
  std::string metric = "trace";                   // metric: which

  void declare(OptionTable& table);  // section "judge"
};

// Several searches, and what is done with the cells that they find.
struct StageOptions {
  int seeds = 1;
  int stage2_epochs = 0;  // 0: no elimination
  int stage2_keep = 3;
  double stage2_valid_fraction = 0.1;
  int stage3_seeds = 0;   // 0: no full training
  std::string retrain{};  // recipe of the trainings; "": that of the skeleton
  std::string retrain_scale{};
  std::vector<std::string> retrain_set{};

  bool trains() const { return stage2_epochs > 0 || stage3_seeds > 0; }
  bool wanted() const { return seeds > 1 || trains(); }
  void declare(OptionTable& table);  // section "stages"
};

// Methods against one another.
struct ComparisonOptions {
  std::vector<std::string> recipes{};  // empty: nothing is compared
  std::vector<std::string> set{};      // options of every search, as in "data.batch=16"
  std::string scale{};                 // --scale of every search; "": none
  std::string plot{}, csv{};           // files of the curves; "": none

  void declare(OptionTable& table);  // section "compare"
};

struct SearchOptions {
  std::string method = "one-shot";
  std::string judge{};  // "": the method's usual one
  std::string space{};  // "": the table's where a table judges, otherwise darts
  std::string table{};  // benchmark table: judges, and says where what was found stands; "": none
  OneShotOptions one_shot{};
  PoolOptions pool{};
  StrategyOptions strategy{};
  JudgeOptions judging{};
  TrainOptions train{};  // of the trainings that judge; their epochs are judging.epochs
  ScoreOptions score{};
  NasiOptions nasi{};
  TeNasOptions te_nas{};
  StageOptions stages{};
  ComparisonOptions comparison{};
  NetworkOptions network{};
  DataOptions data{};
  RunOptions run{};

  void declare(OptionTable& table);
  // Only what one one-shot search needs: sections "search", "architecture", "weights", "stages", "network",
  // "data" and "run".
  void declare_one_shot(OptionTable& table);
  // Puts what is used in the place of what was left open. A resumed run has its own copy of a space that came from a
  // file.
  void resolve(const std::string& resume = "");
  ScaleLimits scale_limits() const;

 private:
  void declare_problem(OptionTable& table);
  void declare_rest(OptionTable& table);
};

}  // namespace nascent
