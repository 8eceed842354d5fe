// The table of runs.
import {h, replace, number, count, duration} from "./dom.js";
import {state, select, chosen, figure, accuracy, secondsOf} from "./data.js";

const kFirst = 300;  // rows that are made at once

const kColumns = [
  {key: "name", title: "Run", of: (run) => run.name, cell: nameCell},
  {key: "state", title: "State", of: (run) => run.state, cell: (run) => h("span", {class: "status " + run.state}, run.state)},
  {key: "verb", title: "Verb", of: (run) => run.verb || ""},
  {key: "started", title: "Started", of: (run) => run.started || "", cell: startedCell},
  {key: "epoch", title: "Epochs", of: (run) => run.epoch || 0, numeric: true, cell: (run) => run.epoch ? String(run.epoch) : ""},
  {key: "accuracy", title: "Accuracy", of: accuracy, numeric: true, cell: accuracyCell},
  {key: "parameters", title: "Parameters", of: (run) => figure(run, "parameters"), numeric: true, cell: (run) => count(figure(run, "parameters"))},
  {key: "multiply_adds", title: "Multiply-adds", of: (run) => figure(run, "multiply_adds"), numeric: true, cell: (run) => count(figure(run, "multiply_adds"))},
  {key: "seconds", title: "Time", of: secondsOf, numeric: true, cell: (run) => duration(secondsOf(run))},
];

function nameCell(run) {
  const facts = (run.facts || []).map(([, text]) => text).join(" · ");
  return [run.parent ? h("span", {class: "soft"}, "↳ ") : null, h("a", {href: `#/run/${run.number}`}, run.name),
    run.message ? h("div", {class: "soft message"}, run.message) : facts ? h("div", {class: "soft"}, facts) : null];
}

function startedCell(run) {
  if (!run.started) return "";
  const seconds = (Date.now() - Date.parse(run.started)) / 1000;
  return h("time", {datetime: run.started, title: run.started}, duration(seconds) + " ago");
}

function accuracyCell(run) {
  const value = accuracy(run);
  if (value === undefined || value === null) return "";
  return h("span", {title: run.figure ? run.figure.label : "so far"}, `${value.toFixed(2)} %${run.figure ? "" : " …"}`);
}

// "cifar10 accuracy>90 state=done": every word must fit. Words with < > = compare a column, a fact or a number.
export function matcher(text) {
  const tests = text.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const parts = /^([\w.]+)(<=|>=|=|<|>)(.+)$/.exec(word);
    if (!parts) return (run) => haystack(run).includes(word);
    const [, key, sign, wanted] = parts;
    return (run) => compare(field(run, key), sign, wanted);
  });
  return (run) => tests.every((test) => test(run));
}

const haystack = (run) =>
  [run.name, run.verb, run.state, run.message, ...(run.facts || []).flat()].join(" ").toLowerCase();

function field(run, key) {
  const column = kColumns.find((one) => one.key === key);
  if (column) return column.of(run);
  const fact = (run.facts || []).find(([name]) => String(name).toLowerCase().replaceAll(" ", "_") === key);
  return fact ? fact[1] : figure(run, key);
}

function compare(found, sign, wanted) {
  if (found === undefined || found === null) return false;
  const number = Number(wanted);
  if (sign === "=") return String(found).toLowerCase() === wanted || (Number.isFinite(number) && Number(found) === number);
  if (!Number.isFinite(number) || typeof found !== "number") return false;
  return {"<": found < number, ">": found > number, "<=": found <= number, ">=": found >= number}[sign];
}

export function openRuns(page) {
  const view = {sort: sessionStorage.getItem("sort") || "started", down: sessionStorage.getItem("down") !== "no", all: false, cursor: 0};
  const filter = h("input", {type: "search", id: "filter", placeholder: "Filter: words, accuracy>90, state=done  ( / )",
    "aria-label": "Filter runs", value: sessionStorage.getItem("filter") || "", oninput: () => {
      sessionStorage.setItem("filter", filter.value);
      view.cursor = 0;
      show();
    }});
  const tally = h("span", {class: "soft", id: "tally"});
  const compareLink = h("a", {href: "#/compare", class: "button", id: "compare-chosen"}, "Compare");
  const body = h("tbody");
  const more = h("button", {type: "button", hidden: true, onclick: () => { view.all = true; show(); }});
  const headers = kColumns.map((column) => h("th", {scope: "col", class: column.numeric ? "numeric" : null},
      h("button", {type: "button", class: "sort", "data-key": column.key, onclick: () => {
        view.down = view.sort === column.key ? !view.down : Boolean(column.numeric || column.key === "started");
        view.sort = column.key;
        sessionStorage.setItem("sort", view.sort);
        sessionStorage.setItem("down", view.down ? "yes" : "no");
        show();
      }}, column.title)));
  replace(page, h("div", {class: "controls"}, filter, compareLink, tally),
      h("div", {class: "wide"}, h("table", {class: "runs"}, h("thead", null, h("tr", null, h("th", {scope: "col", class: "pick"}), headers)), body)), more);

  let shown = [];

  function sorted() {
    const column = kColumns.find((one) => one.key === view.sort) || kColumns[0], sign = view.down ? -1 : 1;
    const fits = matcher(filter.value);
    const list = state.runs.filter(fits);
    const rank = (run) => column.of(run);
    // Those without a value come last, whichever way.
    return list.sort((a, b) => {
      const x = rank(a), y = rank(b);
      if ((x ?? "") === "" || (y ?? "") === "") return ((x ?? "") === "" ? 1 : 0) - ((y ?? "") === "" ? 1 : 0);
      if (x !== y) return sign * (x < y ? -1 : 1);
      return a.name < b.name ? -1 : 1;
    });
  }

  function row(run, place) {
    const picked = state.selected.has(run.number);
    const box = h("input", {type: "checkbox", checked: picked, "aria-label": `Choose ${run.name}`, onchange: () => {
      select(run.number, box.checked);
      show();
    }});
    return h("tr", {class: [picked ? "picked" : "", place === view.cursor ? "cursor" : ""].join(" ").trim() || null, "data-run": run.number},
        h("td", {class: "pick"}, box),
        kColumns.map((column) => h("td", {class: column.numeric ? "numeric" : null, "data-title": column.title},
            column.cell ? column.cell(run) : String(column.of(run)))));
  }

  function show() {
    shown = sorted();
    view.cursor = Math.min(view.cursor, Math.max(0, shown.length - 1));
    const made = view.all ? shown : shown.slice(0, kFirst);
    if (state.runs.length === 0) {
      replace(body, h("tr", null, h("td", {colspan: kColumns.length + 1, class: "soft", id: "empty"},
          `There are no runs in ${state.folder || "this folder"} yet. They appear here by themselves.`)));
    } else if (shown.length === 0) {
      replace(body, h("tr", null, h("td", {colspan: kColumns.length + 1, class: "soft", id: "empty"}, "No run fits the filter.")));
    } else {
      replace(body, made.map(row));
    }
    more.hidden = made.length === shown.length;
    more.textContent = `Show all ${shown.length}`;
    headers.forEach((header, i) => header.setAttribute("aria-sort",
        kColumns[i].key !== view.sort ? "none" : view.down ? "descending" : "ascending"));
    tally.textContent = shown.length === state.runs.length ? `${state.runs.length} runs` : `${shown.length} of ${state.runs.length} runs`;
    const picked = chosen().length;
    compareLink.textContent = picked ? `Compare ${picked}` : "Compare";
    compareLink.classList.toggle("idle", picked < 2);
  }

  function move(by) {
    view.cursor = Math.max(0, Math.min(shown.length - 1, view.cursor + by));
    show();
    const here = body.querySelector(".cursor");
    if (here) here.scrollIntoView({block: "nearest"});
  }

  const pick = () => {
    const run = shown[view.cursor];
    if (!run) return;
    select(run.number, !state.selected.has(run.number));
    show();
  };
  show();
  return {
    title: "Runs",
    update: show,
    keys: {
      "/": () => filter.focus(), j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), x: pick,
      Enter: () => { if (shown[view.cursor]) location.hash = `#/run/${shown[view.cursor].number}`; },
    },
  };
}
