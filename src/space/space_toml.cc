#include "nascent/space/space_toml.h"

#include <toml++/toml.h>

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/space/cell_space.h"

namespace nascent {

namespace {

// A TOML table whose values are asked for by key; errors name the file, the line and the key.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string origin, std::string path)
      : table_(table), origin_(std::move(origin)), path_(std::move(path)) {}

  void check_keys(const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table_) {
      const std::string name = dashed(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      fail("{}:{}: there is no key '{}'.{} Known: {}.", origin_, key.source().begin.line, path_ + name,
           suggestion(name, known), join(known, ", "));
    }
  }

  bool has(const std::string& key) const { return find(key) != nullptr; }

  std::string text(const std::string& key, const std::string& fallback) const {
    const toml::node* node = find(key);
    if (!node) return fallback;
    if (!node->is_string()) wrong(key, *node, "text");
    return node->as_string()->get();
  }

  std::string required_text(const std::string& key) const {
    if (!has(key)) missing(key);
    return text(key, "");
  }

  int integer(const std::string& key, int fallback, int low, int high) const {
    const toml::node* node = find(key);
    return node ? as_integer(key, *node, low, high) : fallback;
  }

  bool flag(const std::string& key, bool fallback) const {
    const toml::node* node = find(key);
    if (!node) return fallback;
    if (!node->is_boolean()) wrong(key, *node, "true or false");
    return node->as_boolean()->get();
  }

  std::vector<int> integers(const std::string& key, int low, int high) const {
    std::vector<int> all;
    for (const toml::node& item : array(key)) all.push_back(as_integer(key, item, low, high));
    return all;
  }

  std::vector<std::string> texts(const std::string& key) const {
    std::vector<std::string> all;
    for (const toml::node& item : array(key)) {
      if (!item.is_string()) wrong(key, item, "a list of text");
      all.push_back(item.as_string()->get());
    }
    return all;
  }

  // The tables of [[key]]; none where the key is absent.
  std::vector<TableReader> tables(const std::string& key) const {
    std::vector<TableReader> all;
    if (!has(key)) return all;
    for (const toml::node& item : array(key)) {
      if (!item.is_table()) wrong(key, item, "tables, written as [[" + path_ + key + "]]");
      all.emplace_back(*item.as_table(), origin_, path_ + key + ".");
    }
    return all;
  }

  [[noreturn]] void missing(const std::string& key) const {
    fail("{}:{}: the key '{}' is missing.", origin_, std::max<int>(1, table_.source().begin.line), path_ + key);
  }

  [[noreturn]] void fail_at(const std::string& key, const std::string& message) const {
    fail("{}:{}: {}: {}.", origin_, find(key)->source().begin.line, path_ + key, message);
  }

 private:
  static std::string dashed(std::string_view key) {
    std::string name(key);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  }

  const toml::node* find(const std::string& key) const {
    for (const auto& [name, node] : table_) {
      if (dashed(name.str()) == key) return &node;
    }
    return nullptr;
  }

  const toml::array& array(const std::string& key) const {
    const toml::node* node = find(key);
    if (!node) missing(key);
    if (!node->is_array()) wrong(key, *node, "a list");
    return *node->as_array();
  }

  int as_integer(const std::string& key, const toml::node& node, int low, int high) const {
    const std::string expected = fmt::format("a whole number from {} to {}", low, high);
    if (!node.is_integer()) wrong(key, node, expected);
    const int64_t value = node.as_integer()->get();
    if (value < low || value > high) {
      fail("{}:{}: {}: expected {} but found {}.", origin_, node.source().begin.line, path_ + key, expected, value);
    }
    return static_cast<int>(value);
  }

  [[noreturn]] void wrong(const std::string& key, const toml::node& node, const std::string& expected) const {
    std::ostringstream found;
    found << node.type();
    fail("{}:{}: {}: expected {} but found a value of type {}.", origin_, node.source().begin.line, path_ + key,
         expected, found.str());
  }

  const toml::table& table_;
  std::string origin_, path_;
};

constexpr int kMaxCellNodes = 100;

std::vector<NodeChoices> read_nodes(const TableReader& reader, const CellChoices& cell) {
  const int keep = reader.integer("keep", 2, 1, kMaxCellNodes);
  const std::vector<TableReader> tables = reader.tables("node");
  if (!tables.empty() && reader.has("nodes")) {
    reader.fail_at("nodes", "give the number of nodes or each as [[cell.node]], not both");
  }
  if (tables.empty() && !reader.has("nodes")) reader.missing("nodes");
  std::vector<NodeChoices> nodes;
  for (int i = 0; tables.empty() && i < reader.integer("nodes", 0, 1, kMaxCellNodes); ++i) {
    const int available = cell.inputs + i;
    // A node near the input cannot keep more states than there are.
    nodes.push_back(any_inputs(available, cell.repeat_inputs ? keep : std::min(keep, available)));
  }
  for (const TableReader& table : tables) {
    table.check_keys({"inputs", "keep"});
    const int state = cell.inputs + static_cast<int>(nodes.size());
    NodeChoices node = any_inputs(state, table.integer("keep", keep, 1, kMaxCellNodes));
    if (table.has("inputs")) node.inputs = table.integers("inputs", 0, state - 1);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

CellChoices read_cell(const TableReader& reader) {
  reader.check_keys({"type", "inputs", "nodes", "node", "keep", "output", "output-keep", "loose-output",
                     "repeat-inputs", "ops-on-nodes"});
  CellChoices cell{.type = reader.text("type", "cell"), .inputs = reader.integer("inputs", 2, 1, 2)};
  cell.loose_output = reader.flag("loose-output", false);
  cell.repeat_inputs = reader.flag("repeat-inputs", false);
  cell.ops_on_nodes = reader.flag("ops-on-nodes", false);
  cell.nodes = read_nodes(reader, cell);
  const int last = cell.inputs + static_cast<int>(cell.nodes.size()) - 1;
  cell.output = reader.has("output") ? reader.integers("output", 0, last) : states(cell.inputs, last);
  cell.output_keep = reader.integer("output-keep", 0, 0, last + 1);
  if (cell.loose_output && (reader.has("output") || cell.output_keep > 0)) {
    reader.fail_at("loose-output",
                   "the nodes that no node takes form the output, so there is no output or output-keep to give");
  }
  return cell;
}

// One type of cell per position of the network.
void give_own_cells(SpaceDescription& space, const TableReader& reader) {
  if (space.cells.size() != 1)
    reader.fail_at("own-cells", "give one [[cell]]: every cell of the network gets a copy of it");
  const int positions = space.default_cells * (space.skeleton.starts_with("nasbench") ? 3 : 1);
  space.cells.resize(positions, CellChoices(space.cells[0]));
  for (int i = 0; i < positions; ++i) space.cells[i].type = "cell_" + std::to_string(i);
}

SpaceDescription read_description(const TableReader& reader) {
  reader.check_keys(
      {"name", "description", "skeleton", "ops", "none-in-genotypes", "own-cells", "cells", "channels", "cell"});
  SpaceDescription space;
  space.name = reader.required_text("name");
  if (Space::Registry::instance().contains(space.name)) reader.fail_at("name", "a shipped space has this name already");
  space.description = reader.text("description", "");
  space.skeleton = reader.text("skeleton", "darts");
  space.ops = reader.texts("ops");
  if (!reader.flag("none-in-genotypes", true)) space.search_only = {"none"};
  space.own_cells = reader.flag("own-cells", false);
  space.default_cells = reader.integer("cells", space.skeleton.starts_with("nasbench") ? 3 : 8, 1, 1000);
  space.default_channels = reader.integer("channels", 16, 1, 4096);
  for (const TableReader& cell : reader.tables("cell")) space.cells.push_back(read_cell(cell));
  if (space.own_cells) give_own_cells(space, reader);
  return space;
}

}  // namespace

std::shared_ptr<const Space> read_space_toml(const std::string& text, const std::string& origin) {
  toml::table table;
  try {
    table = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    fail("{}:{}: this is not TOML: {}.", origin, error.source().begin.line, error.description());
  }
  SpaceDescription description = read_description(TableReader(table, origin, ""));
  try {
    return std::make_shared<const CellSpace>(std::move(description));
  } catch (const Error& error) {
    fail("{}: {}", origin, error.what());
  }
}

std::shared_ptr<const Space> read_space_toml_file(const std::filesystem::path& path) {
  return read_space_toml(read_file(path), path.string());
}

}  // namespace nascent
