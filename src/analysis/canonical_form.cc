// When two cells are one: renumbering of nodes, by colour refinement and the least text over what it leaves open.
#include <algorithm>
#include <map>
#include <numeric>

#include "nascent/analysis/topology.h"

namespace nascent {
namespace {

struct Labelled {
  int from, to;
  std::string op;
};

std::vector<Labelled> edges_of(const CellGenotype& cell, bool operations) {
  std::vector<Labelled> edges;
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      if (edge.op == "none") continue;
      edges.push_back({edge.from, cell.inputs + static_cast<int>(n), operations ? edge.op : ""});
    }
  }
  return edges;
}

// Numbers for texts, in the order of the texts.
std::vector<int> ranked(const std::vector<std::string>& texts) {
  std::map<std::string, int> places;
  for (const std::string& text : texts) places[text] = 0;
  int next = 0;
  for (auto& [text, place] : places) place = next++;
  std::vector<int> ranks;
  for (const std::string& text : texts) ranks.push_back(places[text]);
  return ranks;
}

// A colour per state that every renumbering keeps: what it is, and the colours around it, again and again.
std::vector<int> refined_colours(const CellGenotype& cell, const std::vector<Labelled>& edges, bool operations) {
  const size_t states = cell.inputs + cell.nodes.size();
  std::vector<std::string> texts(states);
  for (size_t s = 0; s < states; ++s) {
    const bool input = s < static_cast<size_t>(cell.inputs);
    const bool out = std::count(cell.output.begin(), cell.output.end(), static_cast<int>(s)) > 0;
    texts[s] = input ? fmt::format("input {}{}", s, out)
                     : fmt::format("node {} {}", out, operations ? cell.nodes[s - cell.inputs].op : "");
  }
  std::vector<int> colours = ranked(texts);
  for (size_t round = 0; round < states; ++round) {
    std::vector<std::vector<std::string>> around(states);
    for (const Labelled& edge : edges) {
      around[edge.to].push_back(fmt::format("<{}{}", colours[edge.from], edge.op));
      around[edge.from].push_back(fmt::format(">{}{}", colours[edge.to], edge.op));
    }
    for (size_t s = 0; s < states; ++s) {
      std::sort(around[s].begin(), around[s].end());
      texts[s] = fmt::format("{:06} {}", colours[s], fmt::join(around[s], ","));
    }
    colours = ranked(texts);
  }
  return colours;
}

std::string text_of(const CellGenotype& cell, const std::vector<Labelled>& edges, const std::vector<int>& place,
                    bool operations) {
  std::vector<std::string> words;
  for (const Labelled& edge : edges) {
    words.push_back(fmt::format("{}>{}{}", place[edge.from], place[edge.to], edge.op));
  }
  for (int state : cell.output) words.push_back(fmt::format("out {}", place[state]));
  for (size_t n = 0; operations && n < cell.nodes.size(); ++n) {
    if (!cell.nodes[n].op.empty()) words.push_back(fmt::format("{}={}", place[cell.inputs + n], cell.nodes[n].op));
  }
  std::sort(words.begin(), words.end());
  return fmt::format("{}/{} {}", cell.inputs, cell.nodes.size(), fmt::join(words, " "));
}

// Every order of the states in `order[first..)` in which colours ascend.
void least_text(const CellGenotype& cell, const std::vector<Labelled>& edges, const std::vector<int>& colours,
                bool operations, std::vector<int>& order, size_t first, std::string& least) {
  if (first == order.size()) {
    std::vector<int> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
    std::string text = text_of(cell, edges, place, operations);
    if (least.empty() || text < least) least = std::move(text);
    return;
  }
  for (size_t i = first; i < order.size() && colours[order[i]] == colours[order[first]]; ++i) {
    std::swap(order[first], order[i]);
    least_text(cell, edges, colours, operations, order, first + 1, least);
    std::swap(order[first], order[i]);
  }
}

}  // namespace

std::string canonical_form(const CellGenotype& cell, bool operations) {
  const std::vector<Labelled> edges = edges_of(cell, operations);
  const std::vector<int> colours = refined_colours(cell, edges, operations);
  std::vector<int> order(colours.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return colours[a] < colours[b]; });
  std::string least;
  least_text(cell, edges, colours, operations, order, 0, least);
  return least;
}

}  // namespace nascent
