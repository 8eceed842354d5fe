// One run: what it is, its curves while they grow, its cell and weights over time, its pictures and files.
import {h, replace, section, table, details, number, count, duration, bytes, words, value} from "./dom.js";
import {state, get, figure, accuracy, secondsOf, select} from "./data.js";
import {RunEvents} from "./events.js";
import {CurvePanels} from "./curves.js";
import {ArchitectureView} from "./architecture.js";
import {drawGenotype, readGenotype} from "./cell.js";
import {ensembleSections} from "./ensemble.js";

export function openRun(page, number) {
  const run = () => state.byNumber.get(number);
  if (!run()) {
    replace(page, h("p", null, "There is no such run (any more). ", h("a", {href: "#/"}, "All runs")));
    return {title: "No such run", update() {}, keys: {}};
  }
  const events = new RunEvents(number), head = h("header", {class: "head"}), above = h("div"), below = h("div");
  const curveSection = section("Curves"), costSection = h("section", {hidden: true}, h("h2", null, "Search by cost"));
  const architectureSection = h("section", {hidden: true}, h("h2", null, "Cell and weights over time"));
  replace(page, head, above, costSection, curveSection, architectureSection, below);
  const curves = new CurvePanels(curveSection), costs = new CurvePanels(costSection, {controls: false});
  let architecture = null, detail = null, seen = "", gone = false;

  const sign = (one) => JSON.stringify([one.state, one.ended, one.numbers, one.message]);

  async function load() {
    seen = sign(run());
    detail = await get(`/api/runs/${number}`);
    if (gone) return;
    showDetail();
    showEvents();
  }

  function showHead() {
    const one = run();
    if (!one) return;
    replace(head, h("p", {class: "eyebrow"}, `${one.verb || "run"} · `, h("span", {class: "status " + one.state}, one.state), one.started ? ` · ${one.started.slice(0, 16).replace("T", " ")} UTC` : "",
        one.parent && state.byNumber.has(one.parent) ? [" · part of ", h("a", {href: `#/run/${one.parent}`}, state.byNumber.get(one.parent).name)] : null),
    h("h1", null, one.name),
    h("p", {class: "facts"}, (one.facts || []).map(([name, text]) => h("span", null, value(name) + " ", h("b", null, value(text))))),
    one.message ? h("p", {class: "notice " + one.state}, one.message) : null,
    events.collapse && one.epoch === events.collapse.epoch ? h("p", {class: "notice", id: "collapse"}, `The search has collapsed: ${events.collapse.text}.`) : null,
    tiles(one));
  }

  function tiles(one) {
    const tile = (title, text, note) => text ? h("div", null, h("dt", null, title), h("dd", null, text, note ? h("small", null, note) : null)) : null;
    const best = accuracy(one);
    return h("dl", {class: "tiles"},
        tile(one.figure ? one.figure.label : one.state === "running" ? "Accuracy so far" : "Accuracy, last epoch", best === undefined ? "" : `${best.toFixed(2)} %`),
        tile("Parameters", count(figure(one, "parameters"))), tile("Multiply-adds", count(figure(one, "multiply_adds")), "for one image"),
        tile("Epochs", one.epoch ? String(one.epoch) : "", one.step ? `${one.step} steps` : ""),
        tile("Events", String(one.events || 0), events.count && events.count < one.events ? `${events.count} read` : ""),
        tile("Time", duration(secondsOf(one))));
  }

  function showDetail() {
    const parts = (detail.parts || []).filter((part) => state.byNumber.has(part)).map((part) => state.byNumber.get(part));
    replace(above,
        h("p", {class: "downloads"}, (detail.files || []).map((file) => h("a", {class: "button", href: `/runs/${number}/files/${file.name}`, download: true},
            file.name, file.size !== undefined ? h("small", null, " " + bytes(file.size)) : null)),
        detail.report ? h("a", {class: "button", href: `/runs/${number}/report`, target: "_blank", rel: "noopener"}, "Report") : null,
        h("button", {type: "button", class: "button", onclick: () => { select(number, true); location.hash = "#/compare"; }}, "Compare")),
        detail.problem ? h("p", {class: "notice failed"}, detail.problem) : null,
        parts.length ? section("Parts", table(["run", "state", "accuracy"], parts.map((part) => [h("a", {href: `#/run/${part.number}`}, part.name),
          h("span", {class: "status " + part.state}, part.state), accuracy(part) === undefined ? "" : accuracy(part).toFixed(2) + " %"]))) : null);
    const genotype = detail.genotype && readGenotype(detail.genotype.json);
    const pictures = detail.pictures || [], result = flat(detail.result || {});
    replace(below,
        genotype ? section(genotype.cells.length > 1 ? "Cells found" : "Cell found", h("div", {class: "cells", id: "cell-found"}, drawGenotype(genotype)),
            Object.entries(detail.genotype.texts || {}).map(([form, text]) => details("As text: " + form, h("pre", null, text))),
            detail.genotype.table ? details("As a table of edges", h("pre", null, detail.genotype.table)) : null) : null,
        ensembleSections(detail.result, detail.sites || {}),
        pictures.length ? section("Pictures", groups(pictures)) : null,
        result.length ? section("Result", table(["", "value"], result)) : null,
        options(detail.options || []),
        h("footer", null, h("code", null, (detail.command || []).join(" ")), h("br"), `nascent ${detail.version || ""}`,
            (detail.resumed || []).map((when) => ` · resumed ${when}`)));
  }

  function groups(pictures) {
    const byGroup = new Map();
    for (const picture of pictures) {
      if (!byGroup.has(picture.group)) byGroup.set(picture.group, []);
      byGroup.get(picture.group).push(picture);
    }
    return [...byGroup].map(([group, some]) => [h("h3", null, group), h("div", {class: "panels pictures"}, some.map((picture) =>
      h("figure", null, h("img", {src: `/runs/${number}/pictures/${picture.place}`, alt: picture.caption, loading: "lazy"}), h("figcaption", null, picture.caption))))]);
  }

  function options(rows) {
    if (!rows.length) return null;
    const changed = rows.filter((row) => JSON.stringify(row.value) !== JSON.stringify(row.default));
    const made = (some) => table(["option", "value", "default", "meaning"], some.map((row) =>
      [h("code", null, row.key), value(row.value), JSON.stringify(row.value) === JSON.stringify(row.default) ? "" : value(row.default), h("span", {class: "soft"}, row.meaning)]));
    return section("Options", h("p", {class: "soft"}, `${changed.length} of ${rows.length} differ from their defaults.`),
        changed.length ? made(changed) : null, details(`All ${rows.length} options`, made(rows)));
  }

  function showEvents() {
    showHead();
    const panels = events.panels().map((panel) => ({id: panel.id, x: panel.kind === "step" ? "step" : "epoch",
      title: words(panel.group) + (panel.kind === "epoch" ? "" : panel.kind === "step" ? " of each step" : ` (${panel.kind})`),
      series: panel.curves.map((curve) => ({name: words(curve.key), x: curve.x, y: curve.y}))}));
    curves.show(panels);
    curveSection.hidden = panels.length === 0;
    const judged = events.judgements;
    costSection.hidden = judged.cost.length === 0;
    if (judged.cost.length) {
      costs.show([{id: "cost", title: "Validation accuracy", x: "seconds of validation", alwaysLegend: true, series: [
        {name: "best so far", x: judged.cost, y: judged.best, place: 0, steps: true},
        {name: "each architecture", x: judged.cost, y: judged.accuracy, points: true, place: 1, note: (i) => judged.architecture[i]}]}]);
    }
    if (events.architectures.length && detail) {
      architectureSection.hidden = false;
      if (!architecture) architecture = new ArchitectureView(architectureSection, detail.sites || {});
      architecture.show(events.architectures);
    }
  }

  async function catchUp() {
    const one = run();
    if (!one) return;
    const changed = sign(one) !== seen;
    if (events.total !== one.events || events.last !== one.events) {
      if (await events.update(get, () => { if (!gone) showEvents(); }) && !gone) showEvents();
    }
    if (changed && !gone) await load();
    if (!gone) showHead();
  }

  showHead();
  return {
    title: run().name,
    start: async () => {
      await load();
      await catchUp();
    },
    update: catchUp,
    redraw: () => {
      curves.redraw();
      costs.redraw();
      if (architecture) architecture.redraw();
    },
    destroy: () => {
      gone = true;
      curves.destroy();
      costs.destroy();
      if (architecture) architecture.destroy();
    },
    keys: {
      l: () => curves.toggleLog(), "[": () => architecture && architecture.step(-1), "]": () => architecture && architecture.step(1),
      p: () => architecture && architecture.playButton.click(),
      x: () => select(number, !state.selected.has(number)),
    },
  };
}

// Nested numbers and texts as rows: "outer · inner".
function flat(json, prefix = "") {
  const rows = [];
  for (const [key, one] of Object.entries(json)) {
    const name = prefix ? `${prefix} · ${words(key)}` : words(key);
    if (one && typeof one === "object" && !Array.isArray(one)) rows.push(...flat(one, name));
    else if (!Array.isArray(one) || one.every((item) => typeof item !== "object") && one.length <= 40) rows.push([name, value(one)]);
  }
  return rows;
}
