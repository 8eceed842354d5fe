#include "nascent/space/genotype_code.h"

#include <algorithm>
#include <charconv>

#include "nascent/space/choice_code.h"

namespace nascent {

bool can_be_numbered(const Space& space) { return space.count() <= kMaxExact; }

Genotype canonical(Genotype genotype) {
  std::sort(genotype.cells.begin(), genotype.cells.end(),
            [](const CellGenotype& a, const CellGenotype& b) { return a.type < b.type; });
  for (CellGenotype& cell : genotype.cells) {
    for (GenotypeNode& node : cell.nodes) std::sort(node.edges.begin(), node.edges.end());
    std::sort(cell.output.begin(), cell.output.end());
  }
  return genotype;
}

namespace {

void append(std::string& text, int number) {
  char digits[12];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

void append(std::string& text, const CellGenotype& cell) {
  text += cell.type;
  text += ' ';
  append(text, cell.inputs);
  char before = ':';
  for (const GenotypeNode& node : cell.nodes) {
    text += before;
    text += node.op;
    if (!node.op.empty()) text += '=';
    for (size_t i = 0; i < node.edges.size(); ++i) {
      if (i > 0) text += ',';
      text += node.edges[i].op;
      text += '~';
      append(text, node.edges[i].from);
    }
    before = '|';
  }
  before = '>';
  for (const int state : cell.output) {
    text += before;
    append(text, state);
    before = ',';
  }
}

}  // namespace

std::string canonical_text(const Genotype& genotype) {
  const Genotype sorted = canonical(genotype);
  std::string text;
  text.reserve(512);
  for (const CellGenotype& cell : sorted.cells) {
    if (!text.empty()) text += ';';
    append(text, cell);
  }
  return text;
}

Hash128 genotype_hash(const Genotype& genotype) { return hash128(canonical_text(genotype)); }

namespace {

// Numbers in groups of seven bits, the lowest first, all but the last with the eighth bit set.
void put(std::string& code, size_t number) {
  for (; number >= 0x80; number >>= 7) code += static_cast<char>(0x80 | (number & 0x7f));
  code += static_cast<char>(number);
}

// Reads what put() wrote; nothing more once it has come to the end too early.
class Codes {
 public:
  explicit Codes(std::string_view code) : code_(code) {}

  int number() {
    unsigned value = 0;
    for (int shift = 0; shift < 28 && !code_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(code_.front());
      code_.remove_prefix(1);
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return static_cast<int>(value);
    }
    good_ = false;
    return 0;
  }
  // How many follow: each takes a byte at least.
  size_t count() {
    const auto many = static_cast<size_t>(number());
    if (many > code_.size()) good_ = false;
    return good_ ? many : 0;
  }
  std::string word(const std::vector<std::string>& words) {
    const auto place = static_cast<size_t>(number());
    if (place >= words.size()) good_ = false;
    return good_ ? words[place] : "";
  }
  bool at_end() const { return good_ && code_.empty(); }

 private:
  std::string_view code_;
  bool good_ = true;
};

// What is not among the words makes the code worthless.
class Encoder {
 public:
  Encoder(const std::vector<std::string>& types, const std::vector<std::string>& ops) : types_(types), ops_(ops) {}

  void add(const CellGenotype& cell) {
    add(cell.type, types_);
    put(code_, static_cast<size_t>(cell.inputs));
    put(code_, cell.nodes.size());
    for (const GenotypeNode& node : cell.nodes) {
      // 0: no operation of its own.
      if (node.op.empty()) put(code_, 0);
      if (!node.op.empty()) put(code_, place_of(node.op, ops_) + 1);
      put(code_, node.edges.size());
      for (const GenotypeEdge& edge : node.edges) {
        put(code_, static_cast<size_t>(edge.from));
        add(edge.op, ops_);
      }
    }
    put(code_, cell.output.size());
    for (const int state : cell.output) put(code_, static_cast<size_t>(state));
  }
  std::optional<std::string> finish() && { return good_ ? std::optional(std::move(code_)) : std::nullopt; }

 private:
  size_t place_of(const std::string& word, const std::vector<std::string>& words) {
    const auto place = std::find(words.begin(), words.end(), word);
    if (place == words.end()) good_ = false;
    return static_cast<size_t>(place - words.begin());
  }
  void add(const std::string& word, const std::vector<std::string>& words) { put(code_, place_of(word, words)); }

  const std::vector<std::string>&types_, &ops_;
  std::string code_{};
  bool good_ = true;
};

}  // namespace

GenotypeCode GenotypeCode::of(const Space& space) {
  std::vector<std::string> types;
  for (const CellChoices& cell : space.cells()) types.push_back(cell.type);
  std::vector<std::string> ops = space.ops();
  // Edges of cells whose operations stand on nodes carry it.
  if (std::find(ops.begin(), ops.end(), "skip_connect") == ops.end()) ops.emplace_back("skip_connect");
  return {space.name(), std::move(types), std::move(ops)};
}

std::optional<std::string> GenotypeCode::encode(const Genotype& genotype) const {
  Encoder encoder(types_, ops_);
  for (const CellGenotype& cell : canonical(genotype).cells) encoder.add(cell);
  return std::move(encoder).finish();
}

std::optional<Genotype> GenotypeCode::decode(std::string_view code) const {
  Codes codes(code);
  Genotype genotype{.space = space_};
  for (size_t c = 0; c < types_.size(); ++c) {
    CellGenotype& cell = genotype.cells.emplace_back();
    cell.type = codes.word(types_);
    cell.inputs = codes.number();
    cell.nodes.resize(codes.count());
    for (GenotypeNode& node : cell.nodes) {
      const auto op = static_cast<size_t>(codes.number());
      if (op > ops_.size()) return std::nullopt;
      if (op > 0) node.op = ops_[op - 1];
      node.edges.resize(codes.count());
      for (GenotypeEdge& edge : node.edges) {
        edge.from = codes.number();
        edge.op = codes.word(ops_);
      }
    }
    cell.output.resize(codes.count());
    for (int& state : cell.output) state = codes.number();
  }
  if (!codes.at_end()) return std::nullopt;
  const auto place = [&](const CellGenotype& cell) { return std::find(types_.begin(), types_.end(), cell.type); };
  std::sort(genotype.cells.begin(), genotype.cells.end(),
            [&](const CellGenotype& a, const CellGenotype& b) { return place(a) < place(b); });
  return genotype;
}

}  // namespace nascent
