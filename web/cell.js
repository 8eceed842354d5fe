// A cell drawn as a graph: inputs left, nodes in their order, output right.
import {svg, h} from "./dom.js";

export function family(op) {
  if (op === "none" || op === "zero") return "none";
  if (/skip|identity/.test(op)) return "skip";
  if (/pool/.test(op)) return "pool";
  if (/dil/.test(op)) return "dilated";
  if (/sep/.test(op)) return "separable";
  return "convolution";
}

const stateName = (cell, state) =>
  state >= cell.inputs ? String(state) : cell.inputs === 1 ? "in" : `c(k−${cell.inputs - state})`;

// [{from, op}] of a node; where operations stand on nodes, edges are bare numbers.
const edgesOf = (node) =>
  (node.edges || []).map((edge) => Array.isArray(edge) ? {op: String(edge[0]), from: Number(edge[1])} : {op: "", from: Number(edge)});

// A column for every node, above and below the middle in turn, so that edges past a node do not lie on it.
function layout(cell) {
  const nodes = (cell.nodes || []).length, places = [];
  for (let input = 0; input < cell.inputs; input++) places.push({column: 0, row: (input - (cell.inputs - 1) / 2) * 1.5});
  for (let node = 0; node < nodes; node++) places.push({column: node + 1, row: nodes < 2 ? 0 : node % 2 ? 0.62 : -0.62});
  return {places, columns: nodes + 1, rows: Math.max(3.2, cell.inputs * 1.5)};
}

// Heights of the two points that pull an edge aside, so that it passes the nodes between its ends.
function ways(a, b, columns, middle) {
  if (columns < 1.2) return [a.y, b.y];
  const side = a.y > middle || (a.y === middle && b.y > middle) ? 1 : -1;
  const aside = side * Math.min(120, 30 * columns);
  if ((a.y - middle) * (b.y - middle) >= 0) return [a.y + aside, b.y + aside];
  if (columns < 2.2) return [a.y + (b.y - a.y) * 0.35, a.y + (b.y - a.y) * 0.65];
  return [a.y + side * 62, b.y + side * 20];
}

export function drawCell(cell) {
  const {places, columns, rows} = layout(cell), nodes = cell.nodes || [];
  const wide = 142, tall = 74, left = 46, width = left * 2 + columns * wide, height = (rows + 0.6) * tall + 30;
  const at = (state) => ({x: left + places[state].column * wide, y: height / 2 + places[state].row * tall});
  const out = {x: left + columns * wide, y: height / 2};
  const back = [], front = [], labels = [], between = new Map();

  const connect = (from, to, op, key) => {
    const a = at(from), b = to === null ? out : at(to), span = b.x - a.x;
    const again = between.get(key) || 0;
    between.set(key, again + 1);
    const [c, d] = ways(a, b, span / wide, height / 2).map((y) => y + again * 24);
    const x1 = a.x + 20 + span * 0.35, x2 = b.x - 20 - span * 0.35;
    const path = `M${a.x + 20} ${a.y}C${x1} ${c} ${x2} ${d} ${b.x - 22} ${b.y}`;
    back.push(svg("path", {d: path, class: "edge " + (op ? family(op) : "plain")}));
    back.push(svg("path", {d: `M${b.x - 26} ${b.y - 4}L${b.x - 19} ${b.y}L${b.x - 26} ${b.y + 4}Z`, class: "tip-of-edge " + (op ? family(op) : "plain")}));
    if (op) {
      labels.push({x: (a.x + 20 + 3 * x1 + 3 * x2 + b.x - 22) / 8, y: (a.y + 3 * c + 3 * d + b.y) / 8, op});
    }
  };
  nodes.forEach((node, i) => {
    for (const edge of edgesOf(node)) {
      if (places[edge.from]) connect(edge.from, cell.inputs + i, edge.op, `${edge.from} ${i}`);
    }
  });
  for (const state of cell.output || []) if (places[state]) connect(state, null, "", `${state} out`);
  for (let state = 0; state < places.length; state++) {
    const {x, y} = at(state), node = nodes[state - cell.inputs];
    front.push(svg("rect", {x: x - 22, y: y - 14, width: 44, height: 28, rx: 7, class: state < cell.inputs ? "vertex input" : "vertex"}));
    front.push(svg("text", {x, y: y + 4, class: "name"}, stateName(cell, state)));
    if (node && node.op) front.push(svg("text", {x, y: y + 30, class: "label " + family(node.op)}, node.op));
  }
  front.push(svg("rect", {x: out.x - 22, y: out.y - 14, width: 44, height: 28, rx: 7, class: "vertex output"}));
  front.push(svg("text", {x: out.x, y: out.y + 4, class: "name"}, "out"));
  return svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "cell", role: "img", "aria-label": describe(cell)},
      back, spread(labels).map(({x, y, op}) => svg("text", {x, y: y - 4, class: "label " + family(op)}, op)), front);
}

// Labels that would lie on one another move apart, up and down.
function spread(labels) {
  labels.sort((a, b) => a.y - b.y);
  for (let i = 0; i < labels.length; i++) {
    for (let j = 0; j < i; j++) {
      const near = Math.abs(labels[i].x - labels[j].x) < 84 && Math.abs(labels[i].y - labels[j].y) < 13;
      if (near) labels[i].y = labels[j].y + 13;
    }
  }
  return labels;
}

function describe(cell) {
  const node = (one, i) => `${cell.inputs + i} = ${one.op ? one.op + " of " : ""}${edgesOf(one)
      .map(({from, op}) => (op ? op + " of " : "") + stateName(cell, from)).join(" + ")}`;
  return `${cell.type} cell: ${(cell.nodes || []).map(node).join("; ")}`;
}

// Every cell of a genotype, with its name where there are several.
export function drawGenotype(genotype) {
  const cells = (genotype && genotype.cells) || [];
  return cells.map((cell) => h("figure", {class: "cell-figure"},
      cells.length > 1 ? h("figcaption", null, cell.type) : null, drawCell(cell)));
}

export function readGenotype(text) {
  try {
    const genotype = typeof text === "string" ? JSON.parse(text) : text;
    return genotype && Array.isArray(genotype.cells) ? genotype : null;
  } catch {
    return null;
  }
}
