// What the result of an ensemble holds: figures, calibration, disagreement, posterior, rounds, members.
import {h, svg, section, table, number, details, words} from "./dom.js";
import {matrix} from "./heat.js";
import {drawGenotype, readGenotype} from "./cell.js";

export function ensembleSections(result, siteNames) {
  if (!result || !Array.isArray(result.cells) || !result.kind) return [];
  const parts = [];
  for (const [key, title] of [["test", "on test images"], ["valid", "on held-out images"], ["estimated", "as estimated on held-out images"]]) {
    if (result[key] && typeof result[key] === "object") parts.push(section(`Ensemble ${title}`, figures(result[key])));
  }
  if (result.posterior && result.posterior.cells) parts.push(section("Posterior", posterior(result.posterior, siteNames)));
  parts.push(section("Members", result.cells.map((cell, i) => details(`Member ${i + 1}`, h("div", {class: "cells"}, drawGenotype(readGenotype(cell)))))));
  return parts;
}

function figures(all) {
  const rows = Object.entries(all).filter(([, one]) => typeof one === "number").map(([key, one]) => [words(key), number(one)]);
  const parts = [table(["", "value"], rows)];
  const pictures = h("div", {class: "panels"});
  if (Array.isArray(all.reliability)) pictures.append(reliability(all.reliability));
  if (Array.isArray(all.disagreements) && all.disagreements.length > 1) {
    const names = all.disagreements.map((_, i) => `member ${i + 1}`), top = Math.max(...all.disagreements.flat());
    pictures.append(h("figure", null, h("figcaption", null, "Disagreement", h("span", {class: "by"}, "per cent of the images that two members call differently")),
        matrix(names, names, all.disagreements, top, 1)));
  }
  parts.push(pictures);
  return parts;
}

// Accuracy by confidence: bars that reach the diagonal are honest.
function reliability(bins) {
  const side = 220, left = 34, wide = side / bins.length, all = bins.reduce((sum, bin) => sum + (bin.images || 0), 0) || 1;
  const bars = bins.map((bin, i) => bin.images ? svg("rect", {x: left + i * wide, y: 8 + side * (1 - bin.accuracy), width: Math.max(1, wide - 1),
    height: side * bin.accuracy, class: "bar", "fill-opacity": 0.3 + 0.7 * bin.images / all}, svg("title", null, `${bin.images} images`)) : null);
  const marks = [0, 0.5, 1].map((tick) => [svg("text", {x: left + tick * side, y: side + 24, class: "mark"}, String(tick)),
    svg("text", {x: left - 6, y: 12 + side * (1 - tick), class: "mark end"}, String(tick))]);
  return h("figure", null, h("figcaption", null, "Reliability", h("span", {class: "by"}, "accuracy by confidence; the dashed line is honest")),
      svg("svg", {viewBox: `0 0 ${side + left + 12} ${side + 32}`, class: "reliability", role: "img", "aria-label": "accuracy by confidence"}, bars,
          svg("path", {d: `M${left} 8V${side + 8}H${left + side}`, class: "axis"}),
          svg("path", {d: `M${left} ${side + 8}L${left + side} 8`, class: "diagonal"}), marks));
}

function posterior(found, siteNames) {
  return Object.entries(found.cells).map(([type, cell]) => {
    const rows = cell.probabilities || [], known = siteNames[type] || [];
    const names = rows.map((_, i) => known.length === rows.length ? known[i] : String(i + 1));
    return h("figure", null, h("figcaption", null, `${type} cell`, h("span", {class: "by"}, `probability of each operation; entropy ${number(cell.entropy)} nats`)),
        matrix(names, found.ops || [], rows, 1));
  });
}
