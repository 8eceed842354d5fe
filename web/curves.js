// Panels of curves with their common settings: smoothing, logarithms.
import {h} from "./dom.js";
import {Chart} from "./chart.js";

// What a page that may not keep anything remembers: nothing.
function remembered() {
  try {
    return JSON.parse(localStorage.getItem("curves") || "{}");
  } catch (refused) {
    return {};
  }
}

export const kPlain = {smoothing: 0, logX: false, logY: false};
const settings = {...kPlain, ...remembered()};

// The row of settings; `changed` is called whenever one is.
export function curveControls(settings, changed) {
  const said = h("output", null, settings.smoothing.toFixed(2));
  const slider = h("input", {type: "range", min: "0", max: "0.99", step: "0.01", value: settings.smoothing, id: "smoothing", oninput: () => {
    settings.smoothing = Number(slider.value);
    said.textContent = settings.smoothing.toFixed(2);
    changed();
  }});
  const box = (id, name, text) => {
    const check = h("input", {type: "checkbox", id, checked: settings[name], onchange: () => {
      settings[name] = check.checked;
      changed();
    }});
    return h("label", null, check, " ", text);
  };
  return h("div", {class: "controls"}, h("label", null, "Smoothing ", slider, " ", said), box("log-x", "logX", "log x"), box("log-y", "logY", "log y"),
      h("span", {class: "soft"}, "Drag to zoom, double click for all"));
}

export class CurvePanels {
  constructor(host, {controls = true} = {}) {
    this.charts = new Map();
    this.panels = h("div", {class: "panels"});
    this.controls = controls ? curveControls(settings, () => this.change()) : "";
    host.append(this.controls, this.panels);
  }

  change() {
    localStorage.setItem("curves", JSON.stringify(settings));
    for (const {chart, series} of this.charts.values()) chart.set(series, settings);
  }

  toggleLog() {
    this.controls.querySelector("#log-y").click();
  }

  // panels: [{id, title, x, series}]
  show(panels) {
    for (const [id, {chart}] of this.charts) {
      if (panels.some((panel) => panel.id === id)) continue;
      chart.destroy();
      this.charts.delete(id);
    }
    for (const panel of panels) {
      if (!this.charts.has(panel.id)) {
        const whole = panel.x === "epoch" || panel.x === "step";
        this.charts.set(panel.id, {chart: new Chart(this.panels, {title: panel.title, x: panel.x, alwaysLegend: panel.alwaysLegend, whole})});
      }
      const entry = this.charts.get(panel.id);
      entry.series = panel.series;
      entry.chart.set(panel.series, settings);
    }
  }

  redraw() {
    for (const {chart} of this.charts.values()) {
      chart.drawLegend();
      chart.draw();
    }
  }

  destroy() {
    for (const {chart} of this.charts.values()) chart.destroy();
  }
}
