// Which view is open, the keys, light and dark, and the beat that asks the server what is new while somebody looks.
import {h, replace} from "./dom.js";
import {state, refresh, chosen} from "./data.js";
import {openRuns} from "./runs.js";
import {openRun} from "./run.js";
import {openCompare} from "./compare.js";
import {openExplore} from "./explore.js";

const page = document.getElementById("page"), pulse = document.getElementById("pulse"), keyList = document.getElementById("keys");
const kBeat = 1000, kIdleBeat = 2000;  // milliseconds, while a run is going and while none is
let view = null, timer = null;

function viewOf(hash) {
  const [name, argument] = hash.replace(/^#\/?/, "").split("/");
  if (name === "run") return {name: "runs", open: () => openRun(page, Number(argument))};
  if (name === "compare") return {name, open: () => openCompare(page)};
  if (name === "explore") return {name, open: () => openExplore(page)};
  return {name: "runs", open: () => openRuns(page)};
}

async function open() {
  if (view && view.destroy) view.destroy();
  const {name, open: make} = viewOf(location.hash);
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const opened = view = make();
  document.title = `${view.title} · nascent`;
  scrollTo(0, 0);
  if (view.start) await attempt(() => opened.start());
}

// What goes wrong is said on the page, and tried again with the next beat.
async function attempt(act) {
  try {
    await act();
    say("");
  } catch (problem) {
    say(problem.message || String(problem));
  }
}

function say(problem) {
  const running = state.runs.filter((run) => run.state === "running").length;
  pulse.className = problem ? "problem" : running ? "live" : "";
  pulse.textContent = problem || (running ? `${running} running` : "");
}

async function beat() {
  clearTimeout(timer);
  timer = null;
  if (document.hidden) return;
  await attempt(async () => {
    if (await refresh() && view) await view.update();
  });
  if (document.hidden || timer) return;
  timer = setTimeout(beat, state.runs.some((run) => run.state === "running") ? kBeat : kIdleBeat);
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function toggleTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  localStorage.setItem("theme", dark ? "light" : "dark");
  setTheme(dark ? "light" : "dark");
  if (view && view.redraw) view.redraw();
}

const kKeys = [["g", "table of runs"], ["c", "compare the chosen runs"], ["e", "explore all runs"], ["/", "filter"], ["j k", "down, up"], ["Enter", "open the run"], ["x", "choose the run"],
  ["l", "logarithmic y axis"], ["[ ]", "an epoch back, on"], ["p", "play the epochs"], ["+ − ← → 0", "zoom a chart that has the focus"], ["t", "light or dark"], ["Esc", "back"], ["?", "this list"]];

function showKeys() {
  replace(keyList, h("h2", null, "Keys"), h("dl", null, kKeys.map(([key, meaning]) => [h("dt", null, h("kbd", null, key)), h("dd", null, meaning)])),
      h("form", {method: "dialog"}, h("button", null, "Close")));
  keyList.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    keyList.close();
  });
  keyList.showModal();
}

const kGlobal = {
  g: () => { location.hash = "#/"; }, c: () => { location.hash = "#/compare"; }, e: () => { location.hash = "#/explore"; }, t: toggleTheme, "?": showKeys,
  Escape: () => { if (location.hash.length > 2) location.hash = "#/"; },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keyList.open) return;
  const typing = event.target.matches("input[type=search], select, textarea");
  if (typing) {
    if (event.key === "Escape" || event.key === "Enter") event.target.blur();
    return;
  }
  if (event.target.matches("a, button, summary, input") && ["Enter", " ", "ArrowUp", "ArrowDown"].includes(event.key)) return;
  const act = (view && view.keys[event.key]) || kGlobal[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
document.getElementById("theme").addEventListener("click", toggleTheme);
document.getElementById("help").addEventListener("click", showKeys);
document.addEventListener("visibilitychange", beat);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view && view.redraw && view.redraw());
addEventListener("hashchange", open);
setTheme(localStorage.getItem("theme"));

// Nothing is drawn twice: the first view opens once the runs are known.
await attempt(refresh);
for (const number of [...state.selected]) if (!state.byNumber.has(number)) state.selected.delete(number);
await open();
beat();
export {chosen};
