// What strategies validated by training, as a table: the files under validations/ in the cache folder
// (docs/formats.md).
#include <charconv>
#include <map>

#include "nascent/core/checked_lines.h"
#include "nascent/core/error.h"
#include "nascent/core/mapped_file.h"
#include "nascent/core/text.h"
#include "nascent/table/import.h"

namespace nascent {

namespace {

constexpr std::string_view kMagic = "nascent-scores 1 ";

// What all outcomes of a file share.
struct Setting {
  std::string data;
  int64_t seed = 0;
};

Setting setting_of(std::string_view header, const std::string& file) {
  if (!header.starts_with(kMagic)) fail("{} does not begin as a file of scores does. It may be damaged.", file);
  const Json settings = Json::parse(header.substr(kMagic.size()), nullptr, /*allow_exceptions=*/false);
  if (!settings.is_object() || !settings.contains("train")) {
    fail(
        "{} holds training-free scores, but a table holds accuracies. 'nascent search --pool' reads it as it is; "
        "'--judge training' writes outcomes of training, under validations/ in the cache folder.",
        file);
  }
  return {settings.at("data").at("name").get<std::string>(), settings.at("seed").get<int64_t>()};
}

// "valid12=63.5" and "seconds12=31.5".
std::pair<Measure, double> outcome_of(const std::string& field, const Setting& setting) {
  const size_t equals = field.find('='), digits = field.find_first_of("0123456789");
  double value = 0;
  const char *start = field.data() + equals + 1, *end = field.data() + field.size();
  const bool is_number =
      equals != std::string::npos && digits < equals && std::from_chars(start, end, value).ptr == end;
  const std::string name = field.substr(0, digits);
  if (!is_number || (name != "valid" && name != "seconds")) fail("'{}' is not the outcome of a training.", field);
  return {{.data = setting.data,
           .quantity = name == "valid" ? "valid" : "train_seconds",
           .budget = parse_budget(field.substr(digits, equals - digits)),
           .seed = setting.seed},
          value};
}

}  // namespace

TableBuilder import_validations(const std::filesystem::path& file, const std::string& space) {
  const MappedFile mapped(file);
  CheckedLines lines(mapped.bytes());
  if (!lines.next() || !lines.good())
    fail("{} does not begin as a file of scores does. It may be damaged.", file.string());
  const Setting setting = setting_of(lines.body(), file.string());
  std::map<std::string, std::map<Measure, double>> outcomes;  // by architecture; later lines win
  for (int64_t number = 2; lines.next(); ++number) {
    if (!lines.good()) fail("{}, line {} is damaged: its checksum is wrong.", file.string(), number);
    const auto fields = split(std::string(lines.body()), '\t');
    for (size_t i = 1; i < fields.size(); ++i) {
      const auto [measure, value] = outcome_of(fields[i], setting);
      outcomes[fields[0]][measure] = value;
    }
  }
  if (outcomes.empty()) fail("{} holds no architectures.", file.string());
  const std::string name = space.empty() ? parse_genotype(outcomes.begin()->first).space : space;
  TableBuilder builder(find_space(name), file.filename().string());
  for (const auto& [architecture, values] : outcomes) {
    const size_t row = builder.add(parse_genotype(architecture, "", name), -1);
    for (const auto& [measure, value] : values) builder.set(row, measure, value);
  }
  return builder;
}

}  // namespace nascent
