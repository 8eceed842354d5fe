// Chosen runs side by side: curves overlaid, options that differ, results, cells.
import {h, replace, section, table, value, number, words, seriesColour} from "./dom.js";
import {state, get, chosen, select, lastName} from "./data.js";
import {RunEvents} from "./events.js";
import {CurvePanels} from "./curves.js";
import {drawGenotype, readGenotype} from "./cell.js";

export function openCompare(page) {
  const numbers = chosen();
  if (numbers.length === 0) {
    replace(page, h("p", {id: "nothing-chosen"}, "Choose runs in the ", h("a", {href: "#/"}, "table"), " first: tick them, or press x."));
    return {title: "Compare", update() {}, keys: {}};
  }
  const events = new Map(numbers.map((one) => [one, new RunEvents(one)])), details = new Map();
  const head = h("header", {class: "head"}), above = h("div"), curveSection = section("Curves"), below = h("div");
  replace(page, head, above, curveSection, below);
  const curves = new CurvePanels(curveSection);
  let gone = false;

  const names = () => {
    const all = numbers.map((one) => state.byNumber.get(one)).filter(Boolean), last = all.map(lastName);
    return new Map(all.map((run, i) => [run.number, last.filter((name) => name === last[i]).length > 1 ? run.name : last[i]]));
  };

  function showHead() {
    const known = names();
    replace(head, h("h1", null, `${known.size} runs`), h("p", {class: "chosen"}, numbers.map((one, place) => {
      const mark = h("i");
      mark.style.background = seriesColour(place);
      const run = state.byNumber.get(one);
      return run ? h("span", {class: "chip"}, mark, h("a", {href: `#/run/${one}`}, known.get(one)), " ", h("span", {class: "status " + run.state}, run.state),
          h("button", {type: "button", "aria-label": `Leave out ${known.get(one)}`, onclick: () => {
            select(one, false);
            dispatchEvent(new HashChangeEvent("hashchange"));
          }}, "×")) : null;
    })));
  }

  function showCurves() {
    const known = names(), panels = new Map();
    numbers.forEach((one, place) => {
      if (!known.has(one)) return;
      const add = (id, title, x, series) => {
        if (!panels.has(id)) panels.set(id, {id, title, x, series: [], alwaysLegend: true});
        panels.get(id).series.push({name: known.get(one), place, ...series});
      };
      const judged = events.get(one).judgements;
      if (judged.cost.length) add("cost", "best validation accuracy by cost", "seconds of validation", {x: judged.cost, y: judged.best, steps: true});
      for (const curve of events.get(one).curves.values()) {
        if (curve.kind === "judgement") continue;
        const title = words(curve.key) + (curve.kind === "epoch" ? "" : curve.kind === "step" ? " of each step" : ` (${curve.kind})`);
        add(`${curve.kind} ${curve.key}`, title, curve.kind === "step" ? "step" : "epoch", {x: curve.x, y: curve.y});
      }
    });
    const rank = ({id, series}) => -series.length * 100 + (id === "cost" ? -9 : id.startsWith("epoch valid") ? -5 : id.startsWith("epoch train") ? -4 : id.startsWith("epoch") ? -3 : 0);
    const list = [...panels.values()].sort((a, b) => rank(a) - rank(b));
    curveSection.hidden = list.length === 0;
    curves.show(list);
  }

  function showDetails() {
    const known = names(), some = numbers.filter((one) => details.has(one) && known.has(one));
    const header = ["", ...some.map((one) => known.get(one))];
    const byKey = new Map();
    some.forEach((one, i) => (details.get(one).options || []).forEach((row) => {
      if (!byKey.has(row.key)) byKey.set(row.key, new Array(some.length).fill(undefined));
      byKey.get(row.key)[i] = row.value;
    }));
    const differing = [...byKey].filter(([, found]) => new Set(found.map((one) => JSON.stringify(one))).size > 1);
    const results = new Map();
    some.forEach((one, i) => Object.entries(state.byNumber.get(one).numbers || {}).forEach(([key, found]) => {
      if (!results.has(key)) results.set(key, new Array(some.length).fill(undefined));
      results.get(key)[i] = found;
    }));
    replace(above, section("Options that differ", differing.length
      ? table(header, differing.map(([key, found]) => [h("code", null, key), ...found.map((one) => one === undefined ? h("span", {class: "soft"}, "none") : value(one) || h("span", {class: "soft"}, "(empty)"))]), {id: "differing"})
      : h("p", {class: "soft"}, some.length < 2 ? "One run alone differs from none." : "None.")));
    const cells = some.map((one) => [one, details.get(one).genotype && readGenotype(details.get(one).genotype.json)]).filter(([, found]) => found);
    replace(below, results.size ? section("Results", table(header, [...results].map(([key, found]) => [words(key), ...found.map(value)]))) : null,
        cells.length ? section("Cells", h("div", {class: "panels side-by-side"}, cells.map(([one, found]) => h("div", {class: "cells"}, h("h3", null, known.get(one)), drawGenotype(found))))) : null);
  }

  async function catchUp() {
    for (const one of numbers) {
      const run = state.byNumber.get(one);
      if (!run || gone) continue;
      const known = events.get(one);
      if (known.last !== run.events && await known.update(get) && !gone) showCurves();
    }
    if (!gone) showHead();
  }

  showHead();
  return {
    title: "Compare",
    start: async () => {
      await Promise.all(numbers.map(async (one) => details.set(one, await get(`/api/runs/${one}`))));
      if (gone) return;
      showDetails();
      await catchUp();
    },
    update: catchUp,
    redraw: () => {
      showHead();
      curves.redraw();
    },
    destroy: () => {
      gone = true;
      curves.destroy();
    },
    keys: {l: () => curves.toggleLog()},
  };
}
