// Benchmark tables: looking up, and searching by strategies that are built in or written in Python.
#include <ATen/ATen.h>

#include <limits>

#include "nascent/core/error.h"
#include "nascent/python/python.h"
#include "nascent/search/search.h"
#include "nascent/search/table_judge.h"
#include "nascent/search/trace.h"
#include "nascent/table/benchmark_table.h"
#include "nascent/table/table_rank.h"

namespace nascent::python {
namespace {

// A strategy in Python: an object with propose(), which returns a genotype, its text or None, and tell(genotype,
// accuracy).
class PythonStrategy : public Strategy {
 public:
  PythonStrategy(py::object object, const StrategySetting& setting) : object_(std::move(object)), setting_(setting) {}

  std::optional<Proposal> propose() override {
    const py::object answer = object_.attr("propose")();
    if (answer.is_none()) return std::nullopt;
    if (!py::isinstance<Genotype>(answer) && !py::isinstance<py::str>(answer)) {
      fail("propose() returned {}; a Genotype, its text, or None where there is nothing left to try was expected.",
           py::repr(answer).cast<std::string>());
    }
    const Genotype genotype =
        py::isinstance<Genotype>(answer) ? answer.cast<Genotype>() : find_genotype(answer.cast<std::string>());
    setting_.space->validate(genotype);
    return Proposal{genotype, setting_.budget};
  }
  void tell(const Proposal& proposal, double accuracy) override { object_.attr("tell")(proposal.genotype, accuracy); }

 private:
  py::object object_;
  StrategySetting setting_;
};

struct Clock {
  std::string data;
  double seconds = 0;
  int64_t validations = 0;
};

py::object told(const BenchmarkTable& table, const SearchTrace& trace) {
  if (trace.trials.empty()) fail("No validation ends within the budget of seconds; give more.");
  py::list trials;
  for (const Trial& trial : trace.trials) {
    trials.append(to_python({{"architecture", short_text(trial.proposal.genotype)},
                             {"epochs", trial.proposal.budget.text()},
                             {"valid", trial.accuracy},
                             {"seconds", trial.seconds},
                             {"incumbent", trial.incumbent}}));
  }
  const Genotype& best = trace.incumbent()->proposal.genotype;
  py::dict result;
  result["genotype"] = best;
  result["valid"] = trace.incumbent()->accuracy;
  result["seconds"] = trace.trials.back().seconds;
  result["trials"] = trials;
  result["ranks"] = to_python(final_table_ranks(table, table.row(best)));
  return result;
}

py::object search_table(const BenchmarkTable& table, const py::object& strategy, const Clock& clock,
                        const std::string& schedule, uint64_t seed, const py::dict& keywords) {
  StrategySetting setting{.space = table.space(), .budget = parse_budget(schedule)};
  OptionTable options;
  setting.options.declare(options);
  read_keywords(options, keywords);
  setting.seed = seed;
  TableJudge judge(table, clock.data, setting.budget);
  setting.fidelities = judge.fidelities();
  const double seconds = clock.seconds > 0 ? clock.seconds : std::numeric_limits<double>::infinity();
  const size_t most = clock.validations > 0 ? static_cast<size_t>(clock.validations) : 1'000'000;
  if (!py::isinstance<py::str>(strategy)) {
    PythonStrategy proposing(strategy, setting);
    return told(table, search(proposing, judge, seconds, most));
  }
  const auto name = strategy.cast<std::string>();
  if (Strategy::Registry::instance().at(name).facts.pool) {
    fail(
        "The strategy '{}' needs a pool of architectures with their metrics: nascent.search(method='{}', ...) takes "
        "one.",
        name, name);
  }
  SearchTrace trace;
  {
    const LongWork work;
    trace = search(*Strategy::Registry::instance().make(name, setting), judge, seconds, most);
  }
  return told(table, trace);
}

size_t row_of(const BenchmarkTable& table, const py::object& architecture) {
  if (py::isinstance<Genotype>(architecture)) return table.row(architecture.cast<Genotype>());
  if (py::isinstance<py::int_>(architecture)) return table.row_of_number(architecture.cast<int64_t>());
  if (!py::isinstance<py::str>(architecture)) {
    fail("{} does not name an architecture: expected a Genotype, its name or text, or its number in the benchmark.",
         py::repr(architecture).cast<std::string>());
  }
  return find_row(table, architecture.cast<std::string>());
}

py::dict everything(const BenchmarkTable& table, size_t row) {
  py::dict values;
  for (const Measure& column : table.columns()) {
    const double value = table.series(column).value(row);
    values[py::str(column.name())] = std::isnan(value) ? py::object(py::none()) : py::float_(value);
  }
  return values;
}

at::Tensor all_values(const BenchmarkTable& table, const std::string& measure) {
  const TableSeries series = table.series(parse_measure(measure));
  at::Tensor values = at::empty({static_cast<int64_t>(series.rows())}, at::kDouble);
  for (size_t row = 0; row < series.rows(); ++row) values.data_ptr<double>()[row] = series.value(row);
  return values;
}

}  // namespace

void bind_tables(py::module_& module) {
  py::class_<BenchmarkTable>(module, "Table")
      .def(py::init<const std::filesystem::path&>(), py::arg("path"))
      .def_property_readonly("path", [](const BenchmarkTable& table) { return table.path().string(); })
      .def_property_readonly("source", &BenchmarkTable::source)
      .def_property_readonly("_space",
                             [](const BenchmarkTable& table) { return std::const_pointer_cast<Space>(table.space()); })
      .def_property_readonly("data_sets", &BenchmarkTable::data_sets)
      .def_property_readonly("measures",
                             [](const BenchmarkTable& table) {
                               std::vector<std::string> names;
                               for (const Measure& column : table.columns()) names.push_back(column.name());
                               return names;
                             })
      .def("__len__", &BenchmarkTable::rows)
      .def("_row", row_of)
      .def("genotype",
           [](const BenchmarkTable& table, size_t row) {
             if (row >= table.rows()) fail("The table has rows 0 to {}; there is no {}.", table.rows() - 1, row);
             return table.genotype(row);
           })
      .def("number",
           [](const BenchmarkTable& table, const py::object& what) { return table.number(row_of(table, what)); })
      .def("_everything",
           [](const BenchmarkTable& table, const py::object& what) { return everything(table, row_of(table, what)); })
      .def("_value",
           [](const BenchmarkTable& table, const py::object& what, const std::string& measure) {
             return table.series(parse_measure(measure)).at(row_of(table, what));
           })
      .def("rank",
           [](const BenchmarkTable& table, const py::object& what, const std::string& measure) {
             return table.series(parse_measure(measure)).rank(row_of(table, what));
           })
      .def("regret",
           [](const BenchmarkTable& table, const py::object& what, const std::string& measure) {
             return table.series(parse_measure(measure)).regret(row_of(table, what));
           })
      .def("ranks",
           [](const BenchmarkTable& table, const py::object& what) {
             py::list places;
             for (const TableRank& place : table_ranks(table, row_of(table, what))) {
               places.append(to_python(nascent::to_json(place)));
             }
             return places;
           })
      .def("_best",
           [](const BenchmarkTable& table, size_t count, const std::string& measure) {
             const Measure asked = measure.empty() ? longest_measure(table) : parse_measure(measure);
             std::vector<Genotype> best;
             for (const size_t row : table.series(asked).best(count)) best.push_back(table.genotype(row));
             return best;
           })
      .def("values", all_values, py::arg("measure"))
      .def("_search", [](const BenchmarkTable& table, const py::object& strategy, const std::string& data,
                         const std::string& schedule, double seconds, int64_t validations, uint64_t seed,
                         const py::dict& keywords) {
        return search_table(table, strategy, {.data = data, .seconds = seconds, .validations = validations}, schedule,
                            seed, keywords);
      });
}

}  // namespace nascent::python
