// The events of one run, as far as they have arrived: curves by kind and key, the architectures, the judgements.

export class RunEvents {
  constructor(number) {
    this.number = number;
    this.busy = null;
    this.clear();
  }

  clear() {
    this.generation = "";
    this.last = 0;
    this.count = 0;
    this.total = 0;
    this.curves = new Map();      // "epoch train_loss" → {kind, key, x: [], y: []}
    this.architectures = [];      // {epoch, ops, cells, genotype}
    this.judgements = {cost: [], accuracy: [], best: [], architecture: []};
    this.collapse = null;         // the newest: {epoch, text}
  }

  // Takes in what is new; true where there was something. Calls `onPart` after every chunk, so that long histories are
  // drawn while they arrive.
  async update(get, onPart) {
    if (this.busy) return this.busy;
    this.busy = this.fetchAll(get, onPart);
    try {
      return await this.busy;
    } finally {
      this.busy = null;
    }
  }

  async fetchAll(get, onPart) {
    let changed = false;
    for (;;) {
      const chunk = await get(`/api/runs/${this.number}/events?after=${this.last}` +
          (this.generation ? `&generation=${this.generation}` : ""));
      if (chunk.reset && this.count > 0) {
        this.clear();
        changed = true;
      }
      this.generation = chunk.generation;
      this.last = chunk.last;
      this.total = chunk.total;
      for (const event of chunk.events) this.take(event);
      if (chunk.events.length > 0) changed = true;
      if (!chunk.more) return changed;
      if (onPart) onPart();
    }
  }

  take([, kind, epoch, step, values]) {
    this.count++;
    if (!values || typeof values !== "object") return;
    if (kind === "architecture") {
      if (values.cells && typeof values.cells === "object") this.architectures.push({epoch: epoch + 1, ...values});
      return;
    }
    if (kind === "collapse") this.collapse = {epoch: epoch + 1, text: String(values.text || "")};
    if (kind === "judgement") this.judge(values);
    for (const key in values) {
      if (typeof values[key] !== "number") continue;
      const name = kind + " " + key;
      let curve = this.curves.get(name);
      if (!curve) this.curves.set(name, curve = {kind, key, x: [], y: []});
      curve.x.push(kind === "step" ? step : epoch + 1);
      curve.y.push(values[key]);
    }
  }

  // What a search by judgements has spent, and the best it had by then.
  judge({seconds, valid_top1: accuracy, architecture}) {
    if (typeof seconds !== "number" || typeof accuracy !== "number") return;
    const all = this.judgements, last = all.cost.length - 1;
    all.cost.push((last < 0 ? 0 : all.cost[last]) + seconds);
    all.accuracy.push(accuracy);
    all.best.push(last < 0 ? accuracy : Math.max(all.best[last], accuracy));
    all.architecture.push(String(architecture || ""));
  }

  // Curves that belong in one picture: losses together, accuracies together, all else by itself; epochs before steps.
  panels() {
    const panels = new Map();
    for (const curve of this.curves.values()) {
      if (curve.kind === "judgement") continue;
      const group = curve.key.endsWith("loss") ? "loss" : /top[15]$/.test(curve.key) ? "accuracy" : curve.key;
      const id = curve.kind + " " + group;
      if (!panels.has(id)) panels.set(id, {id, kind: curve.kind, group, curves: []});
      panels.get(id).curves.push(curve);
    }
    const rank = ({kind, group}) =>
      (kind === "epoch" ? 0 : kind === "step" ? 100 : 200) + (group === "loss" ? 0 : group === "accuracy" ? 1 : 2);
    return [...panels.values()].sort((a, b) => rank(a) - rank(b));
  }
}
