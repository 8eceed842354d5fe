// How a search's cell and its weights changed: a slider over epochs, the cell as it leaned then, heat maps of all weights.
import {h, replace} from "./dom.js";
import {drawGenotype, readGenotype} from "./cell.js";
import {HeatMap} from "./heat.js";

export class ArchitectureView {
  constructor(host, siteNames) {
    this.siteNames = siteNames;
    this.follow = true;  // stays at the newest epoch until somebody moves the slider
    this.maps = [];
    this.slider = h("input", {type: "range", min: "0", max: "0", step: "1", value: "0", id: "epoch-slider", "aria-label": "Epoch",
      oninput: () => {
        this.follow = Number(this.slider.value) === this.events.length - 1;
        this.stop();
        this.showCell();
      }});
    this.said = h("output", {id: "epoch-shown"});
    this.playButton = h("button", {type: "button", onclick: () => this.timer ? this.stop() : this.play()}, "Play");
    this.cells = h("div", {class: "cells", id: "cell-over-time"});
    this.heats = h("div", {id: "weights-over-time"});
    host.append(h("div", {class: "controls"}, h("label", null, "Epoch ", this.slider), this.said, this.playButton), this.cells, this.heats);
    this.events = [];
  }

  show(events) {
    if (events.length === 0 || events === this.events && events.length === this.length) return;
    this.events = events;
    this.length = events.length;
    this.slider.max = String(events.length - 1);
    if (this.follow) this.slider.value = this.slider.max;
    this.showCell();
    this.showHeat();
  }

  showCell() {
    const place = Number(this.slider.value), event = this.events[place];
    if (!event) return;
    this.said.textContent = `${event.epoch} of ${this.events[this.events.length - 1].epoch}`;
    const genotype = readGenotype(event.genotype);
    replace(this.cells, genotype ? drawGenotype(genotype) : h("p", {class: "soft"}, "This epoch's event names no cell."));
    for (const map of this.maps) map.mark(place);
  }

  showHeat() {
    for (const map of this.maps) map.destroy();
    this.maps = [];
    const newest = this.events[this.events.length - 1];
    const ops = (this.events.find((event) => Array.isArray(event.ops)) || {ops: []}).ops.map(String);
    this.heats.textContent = "";
    for (const type of Object.keys(newest.cells)) {
      const rows = this.events.map((event) => (event.cells[type] && event.cells[type].probabilities) || []);
      const sites = rows[rows.length - 1].length, known = newest.cells[type].sites || this.siteNames[type] || [];
      const names = Array.from({length: sites}, (_, i) => known.length === sites ? String(known[i]) : String(i + 1));
      const figure = h("figure", null, h("figcaption", null, `Weights of the ${type === "cell" ? "cell" : type + " cell"}`,
          h("span", {class: "by"}, `by epoch; at every site from top to bottom: ${ops.join(", ")}`)));
      this.heats.append(figure);
      const map = new HeatMap(figure, {sites: names, ops, epochs: this.events.map((event) => event.epoch), rows}, (epoch) => this.goTo(epoch));
      map.marked = Number(this.slider.value);
      this.maps.push(map);
    }
  }

  goTo(place) {
    this.slider.value = String(Math.max(0, Math.min(this.events.length - 1, place)));
    this.follow = Number(this.slider.value) === this.events.length - 1;
    this.showCell();
  }

  step(by) {
    this.stop();
    this.goTo(Number(this.slider.value) + by);
  }

  play() {
    if (Number(this.slider.value) === this.events.length - 1) this.goTo(0);
    this.playButton.textContent = "Stop";
    this.timer = setInterval(() => {
      this.goTo(Number(this.slider.value) + 1);
      if (Number(this.slider.value) === this.events.length - 1) this.stop();
    }, 250);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.playButton.textContent = "Play";
  }

  redraw() {
    for (const map of this.maps) map.draw();
  }

  destroy() {
    this.stop();
    for (const map of this.maps) map.destroy();
  }
}
