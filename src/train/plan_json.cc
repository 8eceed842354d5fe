#include "nascent/train/plan_json.h"

#include "nascent/space/plan_check.h"

namespace nascent {
namespace {

// Calls `visit(name, field)` for every number of a stage; reading and writing share the list.
template <class StageType, class Visit>
void visit_numbers(StageType& stage, Visit visit) {
  visit("in", stage.in);
  visit("out", stage.out);
  visit("kernel_h", stage.kernel_h);
  visit("kernel_w", stage.kernel_w);
  visit("stride_h", stage.stride_h);
  visit("stride_w", stage.stride_w);
  visit("padding_h", stage.padding_h);
  visit("padding_w", stage.padding_w);
  visit("dilation", stage.dilation);
  visit("groups", stage.groups);
  visit("affine", stage.affine);
  visit("bias", stage.bias);
}

Json stage_json(const Stage& stage) {
  Json json = {{"kind", name_of(stage.kind)}};
  visit_numbers(stage, [&](const char* name, const auto& field) { json[name] = field; });
  return json;
}

Stage stage_from(const Json& json) {
  Stage stage{stage_kind(json.at("kind").get<std::string>())};
  visit_numbers(stage, [&](const char* name, auto& field) { json.at(name).get_to(field); });
  return stage;
}

template <class T, class Convert>
Json list_json(const std::vector<T>& items, Convert convert) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(convert(item));
  return list;
}

template <class Convert>
auto list_from(const Json& json, Convert convert) {
  std::vector<decltype(convert(json))> items;
  for (const Json& item : json) items.push_back(convert(item));
  return items;
}

Json stages_json(const Stages& stages) { return list_json(stages, stage_json); }
Stages stages_from(const Json& json) { return list_from(json, stage_from); }

Json shape_json(const Shape& shape) { return {shape.channels, shape.height, shape.width}; }
Shape shape_from(const Json& json) { return {json.at(0).get<int>(), json.at(1).get<int>(), json.at(2).get<int>()}; }

Json edge_json(const EdgePlan& edge) {
  Json json = {{"from", edge.from},
               {"ops", edge.ops},
               {"candidates", list_json(edge.candidates, stages_json)},
               {"site", edge.site},
               {"edge", edge.edge}};
  if (edge.partial > 1) json.update({{"partial", edge.partial}, {"bypass", stages_json(edge.bypass)}});
  return json;
}

EdgePlan edge_from(const Json& json) {
  EdgePlan edge;
  json.at("from").get_to(edge.from);
  json.at("ops").get_to(edge.ops);
  edge.candidates = list_from(json.at("candidates"), stages_from);
  json.at("site").get_to(edge.site);
  json.at("edge").get_to(edge.edge);
  if (!json.contains("partial")) return edge;
  json.at("partial").get_to(edge.partial);
  edge.bypass = stages_from(json.at("bypass"));
  return edge;
}

Json node_json(const NodePlan& node) {
  Json json = {{"edges", list_json(node.edges, edge_json)},
               {"ops", node.ops},
               {"candidates", list_json(node.candidates, stages_json)},
               {"site", node.site}};
  if (node.partial > 1) json["partial"] = node.partial;
  return json;
}

NodePlan node_from(const Json& json) {
  NodePlan node;
  node.edges = list_from(json.at("edges"), edge_from);
  json.at("ops").get_to(node.ops);
  node.candidates = list_from(json.at("candidates"), stages_from);
  json.at("site").get_to(node.site);
  node.partial = json.value("partial", 1);
  return node;
}

Json cell_json(const CellPlan& cell) {
  Json json = {{"type", cell.type},
               {"reduction", cell.reduction},
               {"input_shapes", list_json(cell.input_shapes, shape_json)},
               {"preprocess", list_json(cell.preprocess, stages_json)},
               {"nodes", list_json(cell.nodes, node_json)},
               {"output", cell.output},
               {"output_edges", cell.output_edges},
               {"shortcut_edge", cell.shortcut_edge},
               {"output_shape", shape_json(cell.output_shape)}};
  if (cell.shortcut) json["shortcut"] = stages_json(*cell.shortcut);
  return json;
}

CellPlan cell_from(const Json& json) {
  CellPlan cell;
  json.at("type").get_to(cell.type);
  json.at("reduction").get_to(cell.reduction);
  cell.input_shapes = list_from(json.at("input_shapes"), shape_from);
  cell.preprocess = list_from(json.at("preprocess"), stages_from);
  cell.nodes = list_from(json.at("nodes"), node_from);
  json.at("output").get_to(cell.output);
  json.at("output_edges").get_to(cell.output_edges);
  json.at("shortcut_edge").get_to(cell.shortcut_edge);
  cell.output_shape = shape_from(json.at("output_shape"));
  if (json.contains("shortcut")) cell.shortcut = stages_from(json.at("shortcut"));
  return cell;
}

}  // namespace

Json to_json(const NetworkPlan& plan) {
  return {{"space", plan.space},
          {"skeleton", plan.skeleton},
          {"input", shape_json(plan.input)},
          {"classes", plan.classes},
          {"stems", list_json(plan.stems, stages_json)},
          {"cells", list_json(plan.cells, cell_json)},
          {"head", stages_json(plan.head)},
          {"auxiliary", stages_json(plan.auxiliary)},
          {"auxiliary_cell", plan.auxiliary_cell}};
}

NetworkPlan plan_from_json(const Json& json) {
  NetworkPlan plan;
  json.at("space").get_to(plan.space);
  json.at("skeleton").get_to(plan.skeleton);
  plan.input = shape_from(json.at("input"));
  json.at("classes").get_to(plan.classes);
  plan.stems = list_from(json.at("stems"), stages_from);
  plan.cells = list_from(json.at("cells"), cell_from);
  plan.head = stages_from(json.at("head"));
  plan.auxiliary = stages_from(json.at("auxiliary"));
  json.at("auxiliary_cell").get_to(plan.auxiliary_cell);
  check_plan(plan);
  return plan;
}

}  // namespace nascent
