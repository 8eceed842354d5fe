// Options, each defined once: name, default, range and meaning stand beside the code that uses them, and the command
// line, the TOML keys, --help, error texts and docs/options.md all follow from that definition.
//
//   struct TrainOptions {
//     int epochs = 600;
//     std::string schedule = "cosine";
//     void declare(OptionTable& table) {
//       auto section = table.section("train", "Training of one network.");
//       section.add("epochs", epochs, "passes over the training data").range(1, 100000);
//       section.add("schedule", schedule, "how the learning rate
//       falls").one_of(Schedule::Registry::instance().names());
//     }
//   };
//
// The key is then `train.epochs`, in TOML `[train] epochs = 3`, on the command line `--epochs 3` (`--train.epochs 3`
// always works), and `--set train.epochs=3`. Words in names are joined by '-'; '_' is read as '-'.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

namespace nascent {

using Json = nlohmann::ordered_json;

class Option {
 public:
  // The value types an option may have.
  using Field =
      std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<std::string>*, std::vector<double>*>;

  Option(std::string section, std::string name, Field field, std::string help);

  // Range and choices, checked whenever a value is set.
  Option& range(double low, double high);
  Option& at_least(double low);
  Option& one_of(std::vector<std::string> choices);
  // The command-line flag, where it should not be the name: `--data` for data.name.
  Option& flag(std::string flag);

  const std::string& name() const { return name_; }
  const std::string& section() const { return section_; }
  std::string key() const { return section_ + "." + name_; }
  const std::string& help() const { return help_; }
  const std::string& flag() const { return flag_.empty() ? name_ : flag_; }
  const Json& default_value() const { return default_; }
  std::string type() const;        // "integer", "number", "text", "yes/no", "list of text", "list of numbers"
  std::string constraint() const;  // "1 to 100000", "one of a, b", or ""
  bool is_flag() const { return std::holds_alternative<bool*>(field_); }
  bool is_list() const;

  Json value() const;
  // Sets the field; an Error names the key, what was found and what was expected. `origin` ("--epochs", "run.toml:12")
  // opens the text.
  void set(const Json& value, const std::string& origin);
  void set_text(const std::string& text, const std::string& origin);
  bool was_set() const { return was_set_; }

 private:
  void check(const Json& value, const std::string& origin) const;

  std::string section_, name_, help_, flag_;
  Field field_;
  Json default_;
  double low_, high_;
  std::vector<std::string> choices_;
  bool was_set_ = false;
};

class OptionTable {
 public:
  class Section {
   public:
    Section(OptionTable& table, std::string name) : table_(table), name_(std::move(name)) {}
    template <class T>
    Option& add(const std::string& name, T& field, const std::string& help) {
      return table_.add(name_, name, Option::Field(&field), help);
    }

   private:
    OptionTable& table_;
    std::string name_;
  };

  Section section(const std::string& name, const std::string& help);

  // An Error names the closest known key.
  Option& at(const std::string& key, const std::string& origin);
  const std::deque<Option>& options() const { return options_; }
  std::deque<Option>& options() { return options_; }
  const std::vector<std::pair<std::string, std::string>>& sections() const { return sections_; }

  // Sets options from TOML text, a TOML file, "key=value".
  void read_toml(const std::string& text, const std::string& origin);
  void read_toml_file(const std::filesystem::path& path);
  void read_assignment(const std::string& assignment);

  // The command-line flag of an option: `--name`, unless its definition says otherwise; no verb has a flag twice.
  std::string flag(const Option& option) const;

  std::string to_toml() const;  // every value, with its meaning as a comment
  Json to_json() const;         // {section: {name: value}}

 private:
  friend class Section;
  Option& add(const std::string& section, const std::string& name, Option::Field field, const std::string& help);

  std::deque<Option> options_;  // a deque: references to options stay valid while others are added
  std::vector<std::pair<std::string, std::string>> sections_;
};

}  // namespace nascent
