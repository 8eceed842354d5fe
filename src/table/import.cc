#include "nascent/table/import.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/options.h"
#include "nascent/core/text.h"
#include "nascent/table/csv.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

// Collects rows whose fields are known by column name; errors get the place in front.
class RowImporter {
 public:
  RowImporter(fs::path file, std::string space) : file_(std::move(file)), space_(std::move(space)) {}

  // `number` -1: it has none.
  void add(const std::string& place, const std::string& architecture, int64_t number,
           const std::vector<std::pair<Measure, double>>& values) {
    at(place, [&] {
      const Genotype genotype = parse_genotype(architecture, "", space_);
      if (!builder_) {
        space_ = genotype.space;
        builder_.emplace(find_space(space_), file_.filename().string());
      }
      if (const auto [known, is_new] = place_of_number_.emplace(number, place); number >= 0 && !is_new) {
        fail("index {} is that of {} too; expected a number of its own for each architecture.", number, known->second);
      }
      const size_t row = builder_->add(genotype, number);
      for (const auto& [measure, value] : values) builder_->set(row, measure, value);
    });
  }

  template <class Action>
  void at(const std::string& place, Action action) const {
    try {
      action();
    } catch (const Error& error) {
      fail("{}, {}: {}", file_.string(), place, error.what());
    }
  }

  TableBuilder finish() {
    if (!builder_) fail("{} holds no architectures.", file_.string());
    return std::move(*builder_);
  }

 private:
  fs::path file_;
  std::string space_;
  std::optional<TableBuilder> builder_;
  std::map<int64_t, std::string> place_of_number_;
};

int64_t checked_index(int64_t index) {
  if (index >= 0 && index <= std::numeric_limits<int32_t>::max()) return index;
  fail("index is {}; expected a whole number from 0.", index);
}

template <class T>
T parse_number(const std::string& text, const std::string& column) {
  const std::string_view digits = trim(text);
  T value{};
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || end != digits.data() + digits.size() || digits.empty()) {
    fail("{} is '{}', which is not a number.", column, text);
  }
  return value;
}

// What the columns of a header mean.
struct Header {
  size_t arch = std::string::npos, index = std::string::npos;
  std::vector<std::pair<size_t, Measure>> measures;
};

Header read_header(const CsvRow& row) {
  Header header;
  std::vector<std::string> seen;
  for (size_t i = 0; i < row.fields.size(); ++i) {
    const std::string name(trim(row.fields[i]));
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) fail("the column '{}' appears twice.", name);
    seen.push_back(name);
    if (name == "arch") {
      header.arch = i;
    } else if (name == "index") {
      header.index = i;
    } else {
      header.measures.emplace_back(i, parse_measure(name));
    }
  }
  if (header.arch == std::string::npos) {
    fail("there is no column 'arch' with the architectures. Found: {}.", join(seen, ", "));
  }
  return header;
}

}  // namespace

TableBuilder import_csv(const fs::path& file, const std::string& space) {
  const std::vector<CsvRow> rows = parse_csv(read_maybe_gzip(file), file.string());
  RowImporter importer(file, space);
  Header header;
  importer.at("line 1", [&] { header = read_header(rows[0]); });
  for (size_t r = 1; r < rows.size(); ++r) {
    const auto& fields = rows[r].fields;
    const std::string place = fmt::format("line {}", rows[r].line);
    int64_t number = -1;
    std::vector<std::pair<Measure, double>> values;
    importer.at(place, [&] {
      if (header.index != std::string::npos)
        number = checked_index(parse_number<int64_t>(fields[header.index], "index"));
      for (const auto& [i, measure] : header.measures) {
        if (!trim(fields[i]).empty()) values.emplace_back(measure, parse_number<double>(fields[i], measure.name()));
      }
    });
    importer.add(place, fields[header.arch], number, values);
  }
  return importer.finish();
}

namespace {

std::string architecture_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void add_json_row(RowImporter& importer, const std::string& place, const Json& row, std::string architecture) {
  int64_t number = -1;
  std::vector<std::pair<Measure, double>> values;
  importer.at(place, [&] {
    if (!row.is_object()) fail("an object with an architecture's results was expected.");
    for (const auto& [name, value] : row.items()) {
      if (name == "arch") {
        architecture = architecture_text(value);
      } else if (name == "index") {
        if (!value.is_number_integer()) fail("index is {}, but a whole number was expected.", value.dump());
        number = checked_index(value.get<int64_t>());
      } else if (!value.is_null()) {
        if (!value.is_number()) fail("{} is {}, but a number was expected.", name, value.dump());
        values.emplace_back(parse_measure(name), value.get<double>());
      }
    }
    if (architecture.empty()) fail("there is no \"arch\" with the architecture.");
  });
  importer.add(place, architecture, number, values);
}

Json parse_json_file(const fs::path& file) {
  try {
    return Json::parse(read_maybe_gzip(file));
  } catch (const Json::parse_error& error) {
    fail("{} is not readable JSON (byte {}). It may be truncated or damaged.", file.string(), error.byte);
  } catch (const Json::exception&) {
    fail("{} holds a number that is too large for any result.", file.string());
  }
}

}  // namespace

TableBuilder import_json(const fs::path& file, const std::string& space) {
  const Json json = parse_json_file(file);
  RowImporter importer(file, space);
  if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) add_json_row(importer, fmt::format("entry {}", i), json[i], "");
  } else if (json.is_object()) {
    for (const auto& [architecture, row] : json.items()) {
      add_json_row(importer, fmt::format("entry '{}'", architecture), row, architecture);
    }
  } else {
    fail("{}: an array of architectures, or an object of results by architecture, was expected.", file.string());
  }
  return importer.finish();
}

TableBuilder import_table(const fs::path& source, const std::string& space) {
  if (fs::is_directory(source)) return import_nats(source);
  std::string name = source.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (name.ends_with(".csv")) return import_csv(source, space);
  if (name.ends_with(".json")) return import_json(source, space);
  if (name.ends_with(".scores")) return import_validations(source, space);
  if (!fs::exists(source)) fail("There is no {}.", source.string());
  fail(
      "{}: a .csv or .json file (or .gz of either), a .scores file of validations, or a folder of NATS-Bench records, "
      "was "
      "expected.",
      source.string());
}

}  // namespace nascent
