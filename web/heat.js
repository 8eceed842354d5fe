// Architecture weights over time: a row for every operation at every site, a column for every epoch.
import {h, colour, number} from "./dom.js";

const kLeft = 92, kTop = 4, kBottom = 22;

export class HeatMap {
  // history: {sites: [names], ops: [names], epochs: [numbers], rows: [epoch][site][op]}
  constructor(host, history, onPick) {
    this.history = history;
    this.onPick = onPick;
    this.canvas = h("canvas", {role: "img", tabindex: "0",
      "aria-label": `weights of ${history.ops.length} operations at ${history.sites.length} sites over ${history.epochs.length} epochs`});
    this.tip = h("div", {class: "tip", hidden: true});
    this.stage = h("div", {class: "stage"}, this.canvas, this.tip);
    host.append(this.stage);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.stage);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("click", (event) => {
      const {epoch} = this.under(event);
      if (epoch >= 0 && this.onPick) this.onPick(epoch);
    });
  }

  destroy() {
    this.observer.disconnect();
  }

  mark(epoch) {
    this.marked = epoch;
    this.draw();
  }

  layout() {
    const {sites, ops, epochs} = this.history, width = this.stage.clientWidth;
    const row = Math.max(3, Math.min(13, Math.floor(520 / (sites.length * ops.length)))), gap = 4;
    return {row, gap, width, height: kTop + kBottom + sites.length * (ops.length * row + gap),
      column: Math.max(0, width - kLeft - 8) / Math.max(1, epochs.length)};
  }

  draw() {
    const {sites, ops, epochs, rows} = this.history, {row, gap, width, height, column} = this.layout();
    if (!width) return;
    const scale = window.devicePixelRatio || 1, pen = this.canvas.getContext("2d");
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    const ink = colour("c0"), soft = colour("soft"), tint = colour("tint");
    // The strongest weight of all has the full colour, unless hardly anything is stronger than anything else.
    const strongest = Math.max(2 / Math.max(1, ops.length), ...rows.map((sites) => Math.max(0, ...sites.flat().filter(Number.isFinite))));
    sites.forEach((site, s) => {
      const top = kTop + s * (ops.length * row + gap);
      pen.fillStyle = soft;
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      pen.fillText(site, kLeft - 8, top + ops.length * row / 2);
      pen.fillStyle = tint;
      pen.fillRect(kLeft, top, column * epochs.length, ops.length * row);
      pen.fillStyle = ink;
      rows.forEach((weights, e) => ops.forEach((op, o) => {
        const weight = weights[s] ? weights[s][o] : 0;
        if (!(weight > 0)) return;
        pen.globalAlpha = Math.min(1, weight / strongest);
        pen.fillRect(kLeft + e * column, top + o * row, Math.max(column, 0.5), row - (row > 4 ? 1 : 0));
      }));
      pen.globalAlpha = 1;
    });
    pen.fillStyle = soft;
    pen.textAlign = "center";
    const every = Math.max(1, Math.ceil(epochs.length * 40 / Math.max(1, width - kLeft)));
    epochs.forEach((epoch, e) => {
      if (e % every === 0) pen.fillText(String(epoch), kLeft + (e + 0.5) * column, height - 9);
    });
    if (this.marked >= 0) {
      pen.strokeStyle = colour("c1");
      pen.lineWidth = 2;
      pen.strokeRect(kLeft + this.marked * column, kTop, Math.max(column, 2), height - kTop - kBottom);
    }
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect(), {row, gap, column} = this.layout(), {sites, ops, epochs} = this.history;
    const block = ops.length * row + gap, y = event.clientY - box.top - kTop, x = event.clientX - box.left;
    const site = Math.floor(y / block), op = Math.floor((y - site * block) / row), epoch = Math.floor((x - kLeft) / column);
    const inside = site >= 0 && site < sites.length && op >= 0 && op < ops.length && epoch >= 0 && epoch < epochs.length;
    return inside ? {site, op, epoch, x, y} : {epoch: -1};
  }

  point(event) {
    const {sites, ops, epochs, rows} = this.history, {site, op, epoch, x, y} = this.under(event);
    this.tip.hidden = epoch < 0;
    if (epoch < 0) return;
    this.tip.textContent = `epoch ${epochs[epoch]}, ${sites[site]}, ${ops[op]}: ${number(rows[epoch][site][op])}`;
    const left = x > this.stage.clientWidth / 2;
    this.tip.style.left = left ? "" : x + 12 + "px";
    this.tip.style.right = left ? this.stage.clientWidth - x + 12 + "px" : "";
    this.tip.style.top = y + 14 + "px";
  }
}

// A small matrix of numbers in coloured squares: disagreements, a posterior.
export function matrix(rowNames, columnNames, values, top, digits = 2) {
  return h("div", {class: "wide"}, h("table", {class: "matrix"},
      h("thead", null, h("tr", null, h("th"), columnNames.map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", null, values.map((row, r) => h("tr", null, h("th", {scope: "row"}, rowNames[r]), row.map((one) => {
        const square = h("td", null, typeof one === "number" ? one.toFixed(digits) : "");
        const share = Math.max(0, Math.min(1, one / (top || 1)));
        square.style.background = `color-mix(in srgb, var(--c0) ${Math.round(share * 70)}%, transparent)`;
        return square;
      }))))));
}
