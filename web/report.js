// A report comes to life: charts in the place of its pictures, surfaces that turn, copy buttons. Without scripts it can
// be read all the same. Reports hold this file and those that it imports, put one after another, in one script.
import {Chart} from "./chart.js";
import {curveControls, kPlain} from "./curves.js";
import {showSurfaces} from "./surface.js";

const curveSettings = {...kPlain};

// <figure data-plot='{"by": "epoch", "curves": [{"name": "train", "colour": 0, "points": [[1, 0.5], ...]}]}'>
function chartOf(figure) {
  const plot = JSON.parse(figure.dataset.plot), drawing = figure.querySelector("svg");
  if (!drawing) return null;
  const caption = figure.querySelector("figcaption");
  const chart = new Chart(figure, {title: caption ? caption.textContent : "", x: plot.by, whole: plot.whole, top: plot.top, stacked: plot.stacked,
    small: plot.stacked, height: plot.stacked ? 92 : 190, replaces: drawing});
  figure.classList.add("live");
  const series = plot.curves.map((curve) => {
    const column = (rows, place) => rows.map((row) => row[place]);
    const band = curve.band ? {low: column(curve.band, 0), high: column(curve.band, 1)} : {};
    return {name: curve.name, place: curve.colour, x: column(curve.points, 0), y: column(curve.points, 1), ...band};
  });
  // Curves over epochs and steps are noisy and span powers of ten; others are as they were drawn.
  const settable = plot.whole && !plot.stacked;
  return {figure, settable, show: () => chart.set(series, settable ? curveSettings : kPlain)};
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (refused) {  // no clipboard for this page, or none at all: the old way
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (!copied) throw refused;
  }
}

function listenToCopy(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = button.parentNode.querySelector("pre, code");
    try {
      await copyText(text.textContent);
      button.textContent = "Copied";
    } catch (refused) {  // chosen, so that the keyboard can
      getSelection().selectAllChildren(text);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

for (const button of document.querySelectorAll("button.copy")) listenToCopy(button);
const reportCharts = [...document.querySelectorAll("figure[data-plot]")].map(chartOf).filter(Boolean);
const showCharts = () => { for (const one of reportCharts) one.show(); };
const firstSettable = reportCharts.find((one) => one.settable);
if (firstSettable) firstSettable.figure.parentElement.before(curveControls(curveSettings, showCharts));
showCharts();
const drawSurfaces = showSurfaces(document.querySelectorAll("canvas[data-grid]"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  showCharts();
  drawSurfaces();
});
