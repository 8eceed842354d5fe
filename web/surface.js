// Surfaces in perspective: every <canvas data-grid="columns;v,v,..."> of a report, all turning together and over one
// scale of heights and colours, so that they can be compared. The picture before a canvas is hidden only once its surface
// is drawn.
import {h, colour, number} from "./dom.js";

const kStops = [[45, 17, 96], [75, 47, 143], [47, 111, 159], [61, 160, 127], [165, 200, 74], [253, 240, 160]];
const kView = {turn: 0.6, tilt: 0.95, zoom: 1};

function shade(share, light) {
  const place = Math.max(0, Math.min(0.9999, share)) * (kStops.length - 1), i = Math.floor(place), part = place - i;
  return "rgb(" + kStops[i].map((low, k) => Math.round(Math.min(255, (low + part * (kStops[i + 1][k] - low)) * light))).join(",") + ")";
}

// {columns, rows, values}, NaN where there is none, and what is to be seen of them: the highest fiftieth is cut off.
export function gridOf(text) {
  const [count, list] = text.split(";"), values = list.split(",").map(Number), columns = Number(count);
  const known = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!known.length) return null;
  return {columns, rows: values.length / columns, values, low: known[0], top: known[Math.floor(0.98 * (known.length - 1))]};
}

// What all of them run over.
export function scaleOf(grids) {
  const low = Math.min(...grids.map((grid) => grid.low)), top = Math.max(...grids.map((grid) => grid.top));
  return {low, top: top > low ? top : low + 1};
}

// The scale's ends beside an upright at the corner that is seen outermost.
function drawHeightAxis(pen, project, {low, top}) {
  const [x, y] = [[-1, -1], [1, -1], [1, 1], [-1, 1]].sort((a, b) => project(...a, 0)[0] - project(...b, 0)[0])[0];
  const foot = project(x, y, -0.75), head = project(x, y, 0.75);
  pen.beginPath();
  pen.moveTo(foot[0], foot[1]);
  pen.lineTo(head[0], head[1]);
  pen.stroke();
  pen.fillStyle = colour("soft");
  pen.font = "22px system-ui, sans-serif";
  for (const [value, place, baseline] of [[low, foot, "bottom"], [top, head, "top"]]) {
    const label = number(value, 3), beside = place[0] - 8;
    pen.textBaseline = baseline;
    pen.textAlign = beside < pen.measureText(label).width ? "left" : "right";
    pen.fillText(label, pen.textAlign === "left" ? place[0] + 8 : beside, place[1]);
  }
}

function drawSurface(canvas, grid, scale, view) {
  const pen = canvas.getContext("2d"), {width, height: tall} = canvas, {columns, rows, values} = grid;
  const heightAt = (place) => Math.min(1, (values[place] - scale.low) / (scale.top - scale.low));
  const ct = Math.cos(view.turn), st = Math.sin(view.turn), ci = Math.cos(view.tilt), si = Math.sin(view.tilt);
  const project = (x, y, z) => {
    const a = x * ct - y * st, b = x * st + y * ct, depth = b * si + z * ci, size = 0.26 * width * view.zoom * 5 / (5 - depth * 0.9);
    return [width / 2 + a * size, tall * 0.445 + (b * ci - z * si) * size, depth];
  };
  const outline = (corners) => {
    pen.beginPath();
    for (const [x, y] of corners) pen.lineTo(x, y);
    pen.closePath();
  };
  pen.clearRect(0, 0, width, tall);
  pen.strokeStyle = colour("axis");
  pen.lineWidth = 1;
  outline([[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => project(x, y, -0.75)));
  pen.stroke();
  const faces = [];
  for (let j = 0; j + 1 < rows; j++) {
    for (let i = 0; i + 1 < columns; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], at = corners.map(([c, r]) => heightAt(r * columns + c));
      const level = (at[0] + at[1] + at[2] + at[3]) / 4;
      if (Number.isNaN(level)) continue;
      const slope = (at[1] + at[2] - at[0] - at[3]) * columns * 0.25;
      const places = corners.map(([c, r], k) => project(2 * c / (columns - 1) - 1, 1 - 2 * r / (rows - 1), at[k] * 1.5 - 0.75));
      faces.push({places, level, light: 0.86 + 0.28 / (1 + Math.exp(slope * ct)), depth: places.reduce((sum, place) => sum + place[2], 0)});
    }
  }
  pen.lineWidth = 0.7;
  for (const face of faces.sort((a, b) => a.depth - b.depth)) {
    outline(face.places);
    pen.fillStyle = shade(face.level, face.light);
    pen.strokeStyle = shade(face.level, face.light * 0.8);
    pen.fill();
    pen.stroke();
  }
  pen.strokeStyle = colour("axis");
  pen.lineWidth = 1;
  drawHeightAxis(pen, project, scale);
}

// Gives back what draws them all anew.
export function showSurfaces(canvases) {
  const view = {...kView}, surfaces = [...canvases].map((canvas) => ({canvas, grid: gridOf(canvas.dataset.grid)})).filter(({grid}) => grid);
  if (!surfaces.length) return () => {};
  const scale = scaleOf(surfaces.map(({grid}) => grid));
  const draw = () => { for (const {canvas, grid} of surfaces) drawSurface(canvas, grid, scale, view); };
  for (const {canvas} of surfaces) {
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `surface, heights from ${number(scale.low, 3)} to ${number(scale.top, 3)}`);
    canvas.parentElement.classList.add("live");
    listenTo(canvas, view, draw);
  }
  const together = surfaces.length > 1 ? " Heights and colours of all run over one scale; what is higher is cut off." : "";
  const hint = "Drag to turn all surfaces together; Ctrl and the wheel come closer, a double click goes back." + together;
  surfaces[0].canvas.parentElement.parentElement.before(h("p", {class: "soft"}, hint));
  draw();
  return draw;
}

function listenTo(canvas, view, draw) {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    from = event;
    canvas.setPointerCapture(event.pointerId);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { from = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    view.turn += (event.clientX - from.clientX) * 0.01;
    view.tilt = Math.max(0.05, Math.min(1.5, view.tilt - (event.clientY - from.clientY) * 0.01));
    from = event;
    draw();
  });
  canvas.addEventListener("dblclick", () => {
    Object.assign(view, kView);
    draw();
  });
  // The wheel alone scrolls the page.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    view.zoom = Math.max(0.5, Math.min(3, view.zoom * Math.exp(-event.deltaY * 0.001)));
    draw();
  }, {passive: false});
}
