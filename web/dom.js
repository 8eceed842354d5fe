// Elements, and numbers as people read them. Text only ever becomes text: nothing here parses markup.

// h("a", {href: "#/", class: "soft", onclick: f}, "text", child, ...)
export function h(tag, properties, ...children) {
  return build(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function build(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "open") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== undefined && child !== null && child !== false) element.append(child);
  }
}

export function replace(element, ...children) {
  element.textContent = "";
  append(element, children);
}

// A colour of the page, as the style sheet has it now.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

export const kColours = 10;
export const seriesColour = (place) => colour("c" + (place % kColours));

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return Number(value.toPrecision(Math.max(1, digits - 1))).toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1))));
}

// 3.35 M, 528 k.
export function count(value) {
  if (value === null || value === undefined) return "";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= size) return `${number(value / size, 3)} ${unit}`;
  }
  return number(value);
}

export function bytes(value) {
  for (const [size, unit] of [[2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"]]) {
    if (value >= size) return `${number(value / size, 3)} ${unit}`;
  }
  return `${value} B`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86400) return `${number(seconds / 3600, 2)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

// Words of a key: "train_loss" as "train loss".
export const words = (key) => key.replaceAll("_", " ");

export function value(json) {
  if (json === null || json === undefined) return "";
  if (json === true) return "yes";
  if (json === false) return "no";
  if (typeof json === "number") return Number.isInteger(json) ? String(json) : number(json, 6);
  if (Array.isArray(json)) return json.map(value).join(", ");
  return typeof json === "object" ? JSON.stringify(json) : String(json);
}

// A table from a header and rows of cells, each text or an element.
export function table(header, rows, properties) {
  return h("div", {class: "wide"}, h("table", properties,
      h("thead", null, h("tr", null, header.map((title) => h("th", {scope: "col"}, title)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell)))))));
}

export const section = (title, ...children) => h("section", null, h("h2", null, title), ...children);

export const details = (title, ...children) => h("details", null, h("summary", null, title), ...children);
