// Curves on a canvas: axes, logarithms, smoothing, zoom, values under the pointer. The live page and reports share them.
//
//   const chart = new Chart(element, {title: "Loss", x: "epoch"});
//   chart.set([{name: "train", x: [1, 2], y: [0.7, 0.5]}], {smoothing: 0.6, logY: true});
//
// Drag to zoom, or the wheel with Ctrl; double click to see all; with the keyboard + − ← → and 0. Curves may have any
// number of points: of those that share a column of the screen, the least and the largest are drawn.
import {h, number, colour, seriesColour} from "./dom.js";

const kMargin = {left: 58, right: 12, top: 8, bottom: 26};
const kSmallMargin = {left: 4, right: 4, top: 2, bottom: 16};  // a panel among many: no numbers beside it
const kDots = 30;  // of so few points each is marked

// Round numbers in a range, about `most` of them and at least `apart` from one another.
export function ticks(low, high, most, apart = 0) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(apart, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
  const all = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) all.push(Number((i * step).toPrecision(12)));
  return all;
}

// As many digits as it takes to tell the ticks apart.
export function tickDigits(all) {
  const step = all.length > 1 ? Math.abs(all[1] - all[0]) : 0, largest = Math.max(...all.map(Math.abs));
  return step > 0 && largest > 0 ? Math.max(4, Math.ceil(Math.log10(largest / step)) + 1) : 4;
}

// Powers of ten in a range of positive numbers, with 2 and 5 times them where there are few.
export function logTicks(low, high) {
  const all = [], few = Math.log10(high / low) < 3;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of few ? [1, 2, 5] : [1]) {
      const at = Number((factor * 10 ** power).toPrecision(6));
      if (at >= low * 0.9999 && at <= high * 1.0001) all.push(at);
    }
  }
  return all.length > 1 ? all : [low, high];
}

// Exponential moving average without the pull towards the start: each value counts `weight` times the one after it.
export function smoothed(values, weight) {
  if (!(weight > 0)) return values;
  const result = new Array(values.length);
  let sum = 0, mass = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) {
      sum = sum * weight + values[i];
      mass = mass * weight + 1;
    }
    result[i] = mass > 0 ? sum / mass : NaN;
  }
  return result;
}

// First place whose x is not below `at`; x ascends.
export function lowerBound(x, at) {
  let low = 0, high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearest(x, at) {
  const after = lowerBound(x, at);
  if (after === 0) return 0;
  return after === x.length || at - x[after - 1] <= x[after] - at ? after - 1 : after;
}

// What lies where in a stack of series: for each, its points with what is below them and where they end.
export function stack(series) {
  const below = new Map();
  return series.map(({x, y}) => x.map((at, i) => {
    const from = below.get(at) || 0, to = from + (Number.isFinite(y[i]) ? y[i] : 0);
    below.set(at, to);
    return {x: at, from, to};
  }));
}

export class Chart {
  // options: title, x: what runs along; height; whole: no tick between whole numbers; top: the y axis goes from 0 to here;
  // stacked: series lie one on another; small: few ticks; replaces: a drawing in whose place the chart is, in a figure
  // that has its title and legend already.
  constructor(host, options = {}) {
    this.options = {height: 220, ...options};
    this.margin = options.small ? kSmallMargin : kMargin;
    this.series = [];
    this.zoom = null;
    this.canvas = h("canvas", {tabindex: "0", role: "img", "aria-label": options.title || "chart"});
    this.legend = h("p", {class: "legend"});
    this.tip = h("div", {class: "tip", hidden: true});
    this.stage = h("div", {class: "stage"}, this.canvas, this.tip);
    if (options.replaces) {
      this.element = this.stage;
      options.replaces.after(this.stage);
    } else {
      this.element = h("figure", {class: "chart"},
          h("figcaption", null, options.title || "", options.x ? h("span", {class: "by"}, "by " + options.x) : null),
          this.stage, this.legend);
      host.append(this.element);
    }
    this.listen();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.stage);
  }

  destroy() {
    this.observer.disconnect();
    this.element.remove();
  }

  // series: {name, x, y, place: which colour, points: dots instead of a line, steps: stays until the next point,
  // low, high: bounds of what is shaded around it}
  set(series, {smoothing = 0, logX = false, logY = false} = {}) {
    this.series = series.map((one, i) => ({place: i, ...one, drawn: one.points || one.steps ? one.y : smoothed(one.y, smoothing)}));
    this.smoothing = smoothing;
    this.logX = logX;
    this.logY = logY;
    this.drawLegend();
    this.draw();
  }

  drawLegend() {
    this.legend.textContent = "";
    if (this.series.length < 2 && !this.options.alwaysLegend) return;
    for (const one of this.series) {
      const mark = h("i");
      mark.style.background = seriesColour(one.place);
      this.legend.append(h("span", null, mark, one.name));
    }
  }

  // What is shown: all there is, or what was zoomed to.
  ranges() {
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (const {x} of this.series) {
      for (let i = 0; i < x.length; i++) if (!this.logX || x[i] > 0) { x0 = Math.min(x0, x[i]); break; }
      if (x.length) x1 = Math.max(x1, x[x.length - 1]);
    }
    const full = [x0, x1];
    if (this.zoom) [x0, x1] = this.zoom;
    for (const one of this.series) {
      const {x} = one, from = lowerBound(x, x0), to = lowerBound(x, x1);
      for (const y of one.low ? [one.drawn, one.low, one.high] : [one.drawn]) {
        for (let i = from; i < Math.min(x.length, to + 1); i++) {
          if (!Number.isFinite(y[i]) || x[i] > x1 || (this.logY && y[i] <= 0)) continue;
          y0 = Math.min(y0, y[i]);
          y1 = Math.max(y1, y[i]);
        }
      }
    }
    if (!(x1 >= x0) || !(y1 >= y0)) return null;
    if (x0 === x1) { x0 = this.logX ? x0 / 2 : x0 - 1; x1 = this.logX ? x1 * 2 : x1 + 1; }
    if (this.options.top && !this.logY) return {x0, x1, y0: 0, y1: this.options.top, full};
    const pad = this.logY ? 0 : (y1 - y0) * 0.05 || Math.abs(y0) * 0.05 || 1;
    return this.logY ? {x0, x1, y0: y0 / 1.1, y1: y1 * 1.1, full} : {x0, x1, y0: y0 - pad, y1: y1 + pad, full};
  }

  draw() {
    const width = this.stage.clientWidth, height = this.options.height, scale = window.devicePixelRatio || 1;
    if (!width) return;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = width + "px";
      this.canvas.style.height = height + "px";
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    this.view = this.ranges();
    if (!this.view) {
      pen.fillStyle = colour("soft");
      const some = this.series.some((one) => one.x.length > 0);
      pen.fillText(some ? "Nothing above zero." : "Nothing to draw yet.", this.margin.left, height / 2);
      this.tip.hidden = true;
      return;
    }
    const {left, right, top, bottom} = this.margin;
    this.box = {left, right: width - right, top, bottom: height - bottom};
    this.drawAxes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(this.box.left, this.box.top - 2, this.box.right - this.box.left, this.box.bottom - this.box.top + 4);
    pen.clip();
    if (this.options.stacked) this.drawStack(pen);
    else {
      for (const one of this.series) this.drawBand(pen, one);
      for (const one of this.series) this.drawSeries(pen, one);
    }
    pen.restore();
    if (this.pointer !== undefined) this.drawPointer(pen);
    if (this.drag) {
      pen.globalAlpha = 0.15;
      pen.fillStyle = colour("accent");
      pen.fillRect(Math.min(this.drag.from, this.drag.to), this.box.top, Math.abs(this.drag.to - this.drag.from),
          this.box.bottom - this.box.top);
      pen.globalAlpha = 1;
    }
  }

  placeX(x) {
    const {x0, x1} = this.view, {left, right} = this.box;
    const share = this.logX ? Math.log(x / x0) / Math.log(x1 / x0) : (x - x0) / (x1 - x0);
    return left + share * (right - left);
  }

  placeY(y) {
    const {y0, y1} = this.view, {top, bottom} = this.box;
    const share = this.logY ? Math.log(y / y0) / Math.log(y1 / y0) : (y - y0) / (y1 - y0);
    return bottom - share * (bottom - top);
  }

  valueX(pixel) {
    const {x0, x1} = this.view, {left, right} = this.box;
    const share = (pixel - left) / (right - left);
    return this.logX ? x0 * (x1 / x0) ** share : x0 + share * (x1 - x0);
  }

  drawAxes(pen) {
    const {x0, x1, y0, y1} = this.view, {left, right, top, bottom} = this.box;
    pen.strokeStyle = colour("grid");
    pen.fillStyle = colour("axis");
    pen.lineWidth = 1;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.textBaseline = this.options.small ? "top" : "middle";
    if (this.options.small) return this.drawEnds(pen);
    const marks = this.logY ? logTicks(y0, y1) : ticks(y0, y1, (bottom - top) / 32), digits = this.logY ? 4 : tickDigits(marks);
    for (const y of marks) {
      const at = Math.round(this.placeY(y)) + 0.5;
      line(pen, left, at, right, at);
      pen.fillText(number(y, digits), left - 6, at);
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const across = this.logX ? logTicks(x0, x1) : ticks(x0, x1, (right - left) / 50, this.options.whole ? 1 : 0);
    for (const x of across) {
      const at = Math.round(this.placeX(x)) + 0.5;
      line(pen, at, bottom, at, bottom + 4);
      const text = number(x, this.logX ? 4 : tickDigits(across)), half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(at, right + this.margin.right - half), bottom + 8);
    }
    pen.strokeStyle = colour("axis");
    line(pen, left, bottom + 0.5, right, bottom + 0.5);
  }

  // The first and the last number, where there is no room for more.
  drawEnds(pen) {
    const {left, right, bottom} = this.box, [first, last] = this.zoom || this.view.full;
    pen.font = "10px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.fillText(number(first, 3), left, bottom + 4);
    pen.textAlign = "right";
    if (last > first) pen.fillText(number(last, 3), right, bottom + 4);
  }

  drawStack(pen) {
    stack(this.series).forEach((points, s) => {
      if (!points.length) return;
      // What was seen but once is a bar.
      const at = points.length > 1 ? points.map((point) => this.placeX(point.x)) : [this.box.left, this.box.right];
      const place = points.length > 1 ? (i) => points[i] : () => points[0];
      pen.fillStyle = seriesColour(this.series[s].place);
      pen.globalAlpha = 0.85;
      pen.beginPath();
      at.forEach((x, i) => pen.lineTo(x, this.placeY(place(i).to)));
      for (let i = at.length - 1; i >= 0; i--) pen.lineTo(at[i], this.placeY(place(i).from));
      pen.fill();
    });
    pen.globalAlpha = 1;
  }

  drawBand(pen, one) {
    if (!one.low) return;
    const shown = one.x.map((x, i) => i).filter((i) => this.drawable(one.x[i], one.low[i]) && this.drawable(one.x[i], one.high[i]));
    pen.fillStyle = seriesColour(one.place);
    pen.globalAlpha = 0.12;
    pen.beginPath();
    for (const i of shown) pen.lineTo(this.placeX(one.x[i]), this.placeY(one.high[i]));
    for (const i of shown.reverse()) pen.lineTo(this.placeX(one.x[i]), this.placeY(one.low[i]));
    pen.fill();
    pen.globalAlpha = 1;
  }

  drawSeries(pen, one) {
    pen.strokeStyle = pen.fillStyle = seriesColour(one.place);
    if (one.points) {
      pen.globalAlpha = 0.7;
      for (let i = 0; i < one.x.length; i++) {
        if (!this.drawable(one.x[i], one.y[i])) continue;
        pen.beginPath();
        pen.arc(this.placeX(one.x[i]), this.placeY(one.y[i]), 2.2, 0, 7);
        pen.fill();
      }
      pen.globalAlpha = 1;
      return;
    }
    if (this.smoothing > 0) {
      pen.globalAlpha = 0.22;
      pen.lineWidth = 1;
      this.trace(pen, one.x, one.y);
    }
    pen.globalAlpha = 1;
    pen.lineWidth = 1.7;
    this.trace(pen, one.x, one.drawn, one.steps);
    const from = lowerBound(one.x, this.view.x0), to = Math.min(one.x.length, lowerBound(one.x, this.view.x1) + 1);
    for (let i = from; i < to && to - from <= kDots; i++) {
      if (!this.drawable(one.x[i], one.drawn[i])) continue;
      pen.beginPath();
      pen.arc(this.placeX(one.x[i]), this.placeY(one.drawn[i]), one.x.length === 1 ? 3 : 2, 0, 7);
      pen.fill();
    }
  }

  drawable(x, y) {
    return Number.isFinite(y) && Number.isFinite(x) && !(this.logX && x <= 0) && !(this.logY && y <= 0);
  }

  trace(pen, x, y, steps) {
    const from = Math.max(0, lowerBound(x, this.view.x0) - 1), to = Math.min(x.length, lowerBound(x, this.view.x1) + 2);
    pen.beginPath();
    let column = NaN, low = 0, high = 0, last = 0, open = false;
    const close = () => {
      if (open && low !== high) {
        pen.lineTo(column, low);
        pen.lineTo(column, high);
        pen.lineTo(column, last);
      }
    };
    for (let i = from; i < to; i++) {
      if (!this.drawable(x[i], y[i])) {
        close();
        open = false;
        column = NaN;
        continue;
      }
      const exact = this.placeX(x[i]), at = to - from > 4000 ? Math.round(exact) : exact, height = this.placeY(y[i]);
      if (at === column) {
        low = Math.min(low, height);
        high = Math.max(high, height);
        last = height;
        continue;
      }
      close();
      if (open && steps) pen.lineTo(at, last);
      if (open) pen.lineTo(at, height);
      else pen.moveTo(at, height);
      open = true;
      column = at;
      low = high = last = height;
    }
    close();
    pen.stroke();
  }

  drawPointer(pen) {
    const at = this.valueX(this.pointer), rows = [];
    let mark = null;
    for (const one of this.series) {
      if (!one.x.length) continue;
      const i = nearest(one.x, at);
      if (one.x[i] < this.view.x0 || one.x[i] > this.view.x1 || !this.drawable(one.x[i], one.drawn[i])) continue;
      if (mark === null || Math.abs(one.x[i] - at) < Math.abs(mark - at)) mark = one.x[i];
      rows.push({one, i});
    }
    this.tip.hidden = mark === null;
    if (mark === null) return;
    pen.strokeStyle = colour("axis");
    pen.setLineDash([3, 3]);
    line(pen, this.placeX(mark), this.box.top, this.placeX(mark), this.box.bottom);
    pen.setLineDash([]);
    this.tip.textContent = "";
    this.tip.append(h("b", null, `${this.options.x || "x"} ${number(mark, 6)}`));
    for (const {one, i} of rows.slice(0, 14)) {
      pen.fillStyle = seriesColour(one.place);
      pen.beginPath();
      if (!this.options.stacked) pen.arc(this.placeX(one.x[i]), this.placeY(one.drawn[i]), 3.5, 0, 7);
      pen.fill();
      const dot = h("i");
      dot.style.background = seriesColour(one.place);
      const spread = one.low ? ` (${number(one.low[i], 4)} to ${number(one.high[i], 4)})` : "";
      this.tip.append(h("div", null, dot, one.name ? `${one.name} ` : "", h("b", null, number(one.y[i], 5)), spread, one.note ? " " + one.note(i) : ""));
    }
    this.placeTip(this.placeX(mark));
  }

  // Beside a place, on the side that has more room, and never beyond the window: a phone would show a wider page.
  placeTip(at) {
    const stage = this.stage.getBoundingClientRect(), wide = this.tip.offsetWidth, edge = 4;
    const beside = at > (this.box.left + this.box.right) / 2 ? at - 12 - wide : at + 12;
    const last = document.documentElement.clientWidth - edge - wide - stage.left;
    this.tip.style.left = Math.max(edge - stage.left, Math.min(beside, last)) + "px";
    this.tip.style.top = this.options.small ? this.options.height + edge + "px" : "";
  }

  zoomTo(x0, x1) {
    if (!this.view) return;
    const [first, last] = this.view.full;
    x0 = Math.max(x0, first);
    x1 = Math.min(x1, last);
    this.zoom = x1 > x0 && (x0 > first || x1 < last) ? [x0, x1] : null;
    this.draw();
  }

  showAll() {
    this.zoom = null;
    this.draw();
  }

  // Closer (factor < 1) or further, about a place; or sideways by a share of what is shown.
  change(factor, shift = 0, about = 0.5) {
    if (!this.view) return;
    const {left, right} = this.box, width = right - left, centre = left + width * about;
    const move = (pixel) => this.valueX(centre + (pixel - centre) * factor + shift * width);
    this.zoomTo(move(left), move(right));
  }

  listen() {
    const place = (event) => event.clientX - this.canvas.getBoundingClientRect().left;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (!this.view || event.button !== 0) return;
      this.drag = {from: place(event), to: place(event)};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.view) return;
      this.pointer = place(event);
      if (this.drag) this.drag.to = this.pointer;
      this.draw();
    });
    this.canvas.addEventListener("pointerup", () => {
      const drag = this.drag;
      this.drag = null;
      if (drag && Math.abs(drag.to - drag.from) > 6) {
        this.zoomTo(this.valueX(Math.min(drag.from, drag.to)), this.valueX(Math.max(drag.from, drag.to)));
      }
    });
    this.canvas.addEventListener("pointercancel", () => { this.drag = null; });
    this.canvas.addEventListener("pointerleave", () => {
      this.pointer = undefined;
      this.tip.hidden = true;
      this.draw();
    });
    this.canvas.addEventListener("dblclick", () => this.showAll());
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey || !this.view) return;
      event.preventDefault();
      this.change(event.deltaY > 0 ? 1.25 : 0.8, 0, (place(event) - this.box.left) / (this.box.right - this.box.left));
    }, {passive: false});
    this.canvas.addEventListener("keydown", (event) => {
      const act = {"+": () => this.change(0.7), "=": () => this.change(0.7), "-": () => this.change(1.4), "0": () => this.showAll(),
        ArrowLeft: () => this.change(1, -0.2), ArrowRight: () => this.change(1, 0.2)}[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    });
  }
}

function line(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}
