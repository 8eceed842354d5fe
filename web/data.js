// What the server knows, kept up to date while somebody looks.

export const state = {
  runs: [],
  byNumber: new Map(),
  folder: "",
  version: "",
  selected: new Set(JSON.parse(sessionStorage.getItem("selected") || "[]")),
  problem: "",
};

export class ServerProblem extends Error {}

export async function get(address) {
  let response;
  try {
    response = await fetch(address, {cache: "no-store", credentials: "same-origin"});
  } catch {
    throw new ServerProblem("The server does not answer. Is 'nascent serve' still running?");
  }
  if (response.status === 401) throw new ServerProblem("This page needs the address that 'nascent serve' has printed: open that one.");
  if (!response.ok) throw new Error((await response.text()).trim() || `The server answers ${response.status}.`);
  return response.json();
}

// True where anything about the runs has changed.
export async function refresh() {
  const answer = await get("/api/runs" + (state.version ? `?known=${state.version}` : ""));
  if (!answer.runs) return false;
  state.version = answer.version;
  state.folder = answer.folder;
  state.runs = answer.runs;
  state.byNumber = new Map(answer.runs.map((run) => [run.number, run]));
  return true;
}

export function select(number, yes) {
  if (yes) state.selected.add(number);
  else state.selected.delete(number);
  sessionStorage.setItem("selected", JSON.stringify([...state.selected]));
}

export const chosen = () => [...state.selected].filter((number) => state.byNumber.has(number));

// A number of a run's result by its last word, wherever it stands: "test_top1", "best.test_top1".
export function figure(run, name) {
  const numbers = run.numbers || {};
  if (name in numbers) return numbers[name];
  const key = Object.keys(numbers).find((one) => one.endsWith("." + name));
  return key === undefined ? undefined : numbers[key];
}

// The accuracy that stands for a run: of its result, or the newest of its epochs.
export function accuracy(run) {
  if (run.figure) return run.figure.value;
  const latest = run.latest || {};
  return latest.test_top1 ?? latest.valid_top1 ?? latest.train_top1;
}

export function secondsOf(run) {
  const told = figure(run, "seconds");
  if (told !== undefined) return told;
  if (!run.started) return undefined;
  const end = run.state === "running" || !run.ended ? Date.now() : Date.parse(run.ended);
  return run.state === "running" || run.ended ? (end - Date.parse(run.started)) / 1000 : undefined;
}

export const columns = {
  accuracy: {title: "Accuracy", unit: " %", of: accuracy},
  parameters: {title: "Parameters", of: (run) => figure(run, "parameters")},
  multiply_adds: {title: "Multiply-adds", of: (run) => figure(run, "multiply_adds")},
  latency: {title: "Latency", of: (run) => figure(run, "latency") ?? figure(run, "latency_ms")},
  seconds: {title: "Time", of: secondsOf},
};

export const lastName = (run) => run.name.split("/").pop();
