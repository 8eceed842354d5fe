// All runs at once: options against results in a scatter plot with its Pareto front, and in parallel coordinates.
import {h, svg, replace, number, words, value} from "./dom.js";
import {ticks, logTicks} from "./chart.js";
import {state, get, columns, lastName} from "./data.js";

// Those that no other run beats in both: cheaper by x, better by y.
export function paretoFront(points, higherIsBetter = true) {
  const better = (a, b) => higherIsBetter ? a > b : a < b;
  const front = [];
  for (const point of [...points].sort((a, b) => a.x - b.x || (better(a.y, b.y) ? -1 : 1))) {
    if (front.length === 0 || better(point.y, front[front.length - 1].y)) front.push(point);
  }
  return front;
}

// 3.35M, 528k, 0.025.
function short(at) {
  const power = at === 0 ? 0 : Math.floor(Math.log10(Math.abs(at)) / 3);
  return Math.abs(at) >= 1e4 && power < 5 ? number(at / 1000 ** power, 3) + ["", "k", "M", "G", "T"][power] : number(at);
}

export function openExplore(page) {
  let options = {}, gone = false;
  const settings = {x: "parameters", y: "accuracy", logX: false, low: false, axes: null, brushes: {}};
  const scatter = h("div", {id: "scatter"}), parallel = h("div", {id: "parallel"}), choices = h("p", {class: "choices"});
  const pickX = h("select", {id: "scatter-x", onchange: () => { settings.x = pickX.value; showScatter(); }});
  const pickY = h("select", {id: "scatter-y", onchange: () => { settings.y = pickY.value; showScatter(); }});
  const box = (name, text) => {
    const check = h("input", {type: "checkbox", onchange: () => { settings[name] = check.checked; showScatter(); }});
    return h("label", null, check, " ", text);
  };
  replace(page, h("header", {class: "head"}, h("h1", null, "Explore")),
      h("section", null, h("h2", null, "Accuracy against cost"),
          h("div", {class: "controls"}, h("label", null, "x ", pickX), h("label", null, "y ", pickY), box("logX", "log x"), box("low", "less y is better")), scatter),
      h("section", null, h("h2", null, "Options and results"), choices, parallel));

  // What runs have: figures of the result by their own names, and options that differ.
  function fields() {
    const all = new Map(Object.entries(columns).map(([key, column]) => [key, {key, title: column.title, of: column.of}]));
    for (const run of state.runs) {
      for (const key of Object.keys(run.numbers || {})) {
        if (!all.has(key)) all.set(key, {key, title: words(key), of: (one) => (one.numbers || {})[key]});
      }
      for (const key of Object.keys(options[run.number] || {})) {
        if (!all.has("option " + key)) all.set("option " + key, {key: "option " + key, option: true, title: key, of: (one) => (options[one.number] || {})[key]});
      }
    }
    for (const [key, field] of all) if (!state.runs.some((run) => known(field.of(run)))) all.delete(key);
    return all;
  }

  const known = (found) => found !== undefined && found !== null && found !== "";

  function fillChoices(all) {
    for (const [pick, key] of [[pickX, "x"], [pickY, "y"]]) {
      const numeric = [...all.values()].filter((field) => state.runs.some((run) => typeof field.of(run) === "number"));
      if (!numeric.some((field) => field.key === settings[key]) && numeric.length) settings[key] = numeric[key === "x" ? Math.min(1, numeric.length - 1) : 0].key;
      replace(pick, numeric.map((field) => h("option", {value: field.key}, field.title)));
      pick.value = settings[key];
    }
  }

  function showScatter() {
    const all = fields(), x = all.get(settings.x), y = all.get(settings.y);
    const points = !x || !y ? [] : state.runs.map((run) => ({run, x: x.of(run), y: y.of(run)}))
        .filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y) && !(settings.logX && point.x <= 0));
    if (points.length === 0) {
      replace(scatter, h("p", {class: "soft"}, "No run has both figures yet."));
      return;
    }
    const wide = Math.max(300, scatter.clientWidth || 700), tall = 340, box = {left: 62, right: wide - 16, top: 12, bottom: tall - 40};
    const range = (values) => {
      const low = Math.min(...values), high = Math.max(...values), pad = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1;
      return [low - pad, high + pad];
    };
    let [x0, x1] = range(points.map((point) => point.x));
    if (settings.logX) [x0, x1] = [Math.min(...points.map((point) => point.x)) / 1.2, Math.max(...points.map((point) => point.x)) * 1.2];
    const [y0, y1] = range(points.map((point) => point.y));
    const px = (at) => box.left + (settings.logX ? Math.log(at / x0) / Math.log(x1 / x0) : (at - x0) / (x1 - x0)) * (box.right - box.left);
    const py = (at) => box.bottom - (at - y0) / (y1 - y0) * (box.bottom - box.top);
    const front = paretoFront(points, !settings.low), onFront = new Set(front.map((point) => point.run.number));
    replace(scatter, svg("svg", {viewBox: `0 0 ${wide} ${tall}`, class: "plot", role: "img", "aria-label": `${y.title} against ${x.title}, ${front.length} runs on the Pareto front`},
        ticks(y0, y1, 6).map((at) => [svg("path", {d: `M${box.left} ${py(at)}H${box.right}`, class: "grid"}), svg("text", {x: box.left - 6, y: py(at) + 4, class: "mark end"}, number(at))]),
        (settings.logX ? logTicks(x0, x1) : ticks(x0, x1, wide / 110)).map((at) => svg("text", {x: px(at), y: box.bottom + 16, class: "mark"}, short(at))),
        svg("text", {x: (box.left + box.right) / 2, y: tall - 6, class: "mark"}, x.title), svg("text", {x: 4, y: 10, class: "mark start"}, y.title),
        svg("path", {d: front.map((point, i) => (i ? `H${px(point.x)}V${py(point.y)}` : `M${px(point.x)} ${py(point.y)}`)).join(""), class: "front"}),
        points.map((point) => svg("a", {href: `#/run/${point.run.number}`},
            svg("circle", {cx: px(point.x), cy: py(point.y), r: onFront.has(point.run.number) ? 6 : 4.5, class: (onFront.has(point.run.number) ? "dot best" : "dot") + (state.selected.has(point.run.number) ? " picked" : "")},
                svg("title", null, `${point.run.name}\n${x.title} ${short(point.x)}\n${y.title} ${number(point.y)}`))))),
    h("p", {class: "soft", id: "front"}, `Pareto front: ${front.map((point) => lastName(point.run)).join(", ")}`));
  }

  function showChoices(all) {
    if (!settings.axes) {
      const differing = [...all.values()].filter((field) => field.option && !/path|out|folder|overwrite|threads/.test(field.key)).slice(0, 6).map((field) => field.key);
      settings.axes = [...differing, ...["parameters", "seconds", "accuracy"].filter((key) => all.has(key))];
    }
    replace(choices, [...all.values()].slice(0, 60).map((field) => {
      const check = h("input", {type: "checkbox", checked: settings.axes.includes(field.key), onchange: () => {
        settings.axes = check.checked ? [...settings.axes, field.key] : settings.axes.filter((key) => key !== field.key);
        showParallel();
      }});
      return h("label", {class: "chip"}, check, " ", field.title);
    }));
  }

  function axisOf(field) {
    const found = state.runs.map((run) => field.of(run)).filter(known);
    if (found.every((one) => typeof one === "number")) {
      const low = Math.min(...found), high = Math.max(...found);
      return {field, place: (one) => high > low ? (one - low) / (high - low) : 0.5, marks: high > low ? [[low, 0], [high, 1]] : [[low, 0.5]]};
    }
    const names = [...new Set(found.map(value))].sort();
    return {field, place: (one) => names.length > 1 ? names.indexOf(value(one)) / (names.length - 1) : 0.5,
      marks: names.slice(0, 12).map((name, i) => [name, names.length > 1 ? i / (names.length - 1) : 0.5])};
  }

  function showParallel() {
    const all = fields(), axes = settings.axes.map((key) => all.get(key)).filter(Boolean).map(axisOf);
    if (axes.length < 2 || state.runs.length === 0) {
      replace(parallel, h("p", {class: "soft"}, "Choose at least two of these."));
      return;
    }
    const step = Math.max(110, Math.floor(((parallel.clientWidth || 700) - 120) / Math.max(1, axes.length - 1)));
    const wide = step * (axes.length - 1) + 150, tall = 320, top = 40, bottom = tall - 20;
    const px = (i) => 70 + i * step, py = (share) => bottom - share * (bottom - top);
    const inBrush = (run) => axes.every(({field, place}) => {
      const brush = settings.brushes[field.key];
      return !brush || known(field.of(run)) && place(field.of(run)) >= brush[0] && place(field.of(run)) <= brush[1];
    });
    const scores = state.runs.map((run) => columns.accuracy.of(run)).filter(Number.isFinite);
    const low = Math.min(...scores), high = Math.max(...scores);
    const lines = state.runs.map((run) => {
      const corners = axes.map(({field, place}, i) => known(field.of(run)) ? [px(i), py(place(field.of(run)))] : null);
      let path = "";
      corners.forEach((corner, i) => { if (corner) path += (i && corners[i - 1] ? "L" : "M") + corner.join(" "); });
      const score = columns.accuracy.of(run), share = Number.isFinite(score) && high > low ? (score - low) / (high - low) : 0.5;
      const line = svg("path", {d: path, class: "strand" + (inBrush(run) ? "" : " out") + (state.selected.has(run.number) ? " picked" : "")}, svg("title", null, `${run.name}${Number.isFinite(score) ? ` ${score.toFixed(2)} %` : ""}`));
      line.style.stroke = `color-mix(in oklab, var(--c1) ${Math.round(100 - share * 100)}%, var(--c0))`;
      return svg("a", {href: `#/run/${run.number}`}, line);
    });
    const frame = svg("svg", {viewBox: `0 0 ${wide} ${tall}`, class: "plot", role: "img", "aria-label": "parallel coordinates"}, lines, axes.map((axis, i) => {
      const brush = settings.brushes[axis.field.key];
      return svg("g", null, svg("path", {d: `M${px(i)} ${top}V${bottom}`, class: "axis"}),
          svg("text", {x: px(i), y: i % 2 ? 12 : 26, class: "mark"}, axis.field.title),
          axis.marks.map(([name, share]) => svg("text", {x: px(i) + 6, y: py(share) + 4, class: "mark start value"}, typeof name === "number" ? short(name) : String(name).slice(0, 16))),
          brush ? svg("rect", {x: px(i) - 8, y: py(brush[1]), width: 16, height: Math.max(2, py(brush[0]) - py(brush[1])), class: "brush"}) : null,
          svg("rect", {x: px(i) - 14, y: top - 6, width: 28, height: bottom - top + 12, class: "catch", "data-axis": axis.field.key}));
    }));
    frame.style.minWidth = Math.min(wide, 110 * axes.length) + "px";
    replace(parallel, h("div", {class: "wide"}, frame), h("p", {class: "soft", id: "strands"},
        `${state.runs.filter(inBrush).length} of ${state.runs.length} runs. Drag along an axis to keep those within; click it to keep all.`));
    brushing(frame, (pixel) => Math.max(0, Math.min(1, (bottom - pixel) / (bottom - top))), tall);
  }

  function brushing(frame, share, tall) {
    let from = null, key = null;
    const at = (event) => {
      const box = frame.getBoundingClientRect();
      return share((event.clientY - box.top) * tall / box.height);
    };
    frame.addEventListener("pointerdown", (event) => {
      key = event.target.getAttribute && event.target.getAttribute("data-axis");
      from = key ? at(event) : null;
      if (key) event.preventDefault();
    });
    frame.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const to = at(event);
      if (Math.abs(to - from) < 0.02) delete settings.brushes[key];
      else settings.brushes[key] = [Math.min(from, to), Math.max(from, to)];
      from = null;
      showParallel();
    });
  }

  function show() {
    const all = fields();
    fillChoices(all);
    showScatter();
    showChoices(all);
    showParallel();
  }

  const load = async () => {
    options = (await get("/api/options")).options;
    if (!gone) show();
  };
  const observer = new ResizeObserver(() => { if (!gone) { showScatter(); if (settings.axes) showParallel(); } });
  return {
    title: "Explore",
    start: async () => {
      await load();
      observer.observe(page);
    },
    update: load,
    destroy: () => {
      gone = true;
      observer.disconnect();
    },
    keys: {},
  };
}
