"use strict";
// The worker: owns a machine, and answers the page's requests in their order.

class Runner {
  constructor(about, program, contents) {
    this.about = about;
    this.machine = new Machine(about, program, contents);
    this.queues = queueList(about, this.machine.places);
    this.fast = this.queues.map(([number, place, queue]) => this.directly(number, place, queue));
    this.width = Math.max(1, ...this.machine.links.map((link) => link.count));
    this.dead = new Set();
    this.sources = new Set(about.bench.sources);
    this.program = about.program ? new RunningProgram(this.machine, about.program) : null;
  }

  /** Where the level of a queue is, if it is a register. */
  directly(number, place, queue) {
    const { words, width } = queue.level;
    const node = words.length === 1 && !queue.ones ? this.about.kinds[number].nodes[words[0]] : null;
    if (!node || node[0] !== "register") return null;
    const count = this.machine.engine.groups[number].registers.length;
    const at = this.machine.laneOf(place, count, node[2]);
    return [this.machine.tables.get(`state_${number}`).at / 4 + at, 2 ** width - 1];
  }

  // What the page asks for

  /** As after reset, with these settings: the sources send, and the window is open. */
  restart(setting, options = { send: 1, measure: 1 }) {
    this.machine.fill();
    this.program?.restart();
    this.setting = setting;
    this.apply(setting);
    if (setting.tables) this.write(setting.tables);
    for (const gate of this.dead) this.machine.strap(gate, "dead", [1]);
    for (const [port, value] of Object.entries({ ...options, ...setting.inputs })) this.machine.set(port, value);
    return this.frame({});
  }

  /** New straps of all sources while they run; a new seed is used after a restart only. */
  apply(setting) {
    this.setting = setting;
    this.about.bench.sources.forEach((cell, terminal) => {
      for (const [port, words] of Object.entries(sourceStraps(this.about, setting, terminal)))
        this.machine.strap(cell, port, words);
    });
  }

  /** Close or open the gates of links. */
  break(channels, dead) {
    for (const channel of channels) {
      const gate = this.about.bench.channels.gate[channel];
      this.dead[dead ? "add" : "delete"](gate);
      this.machine.strap(gate, "dead", [+dead]);
    }
    return this.frame({});
  }

  /** New contents of memories, by cell and name: they are as they were built after a reset. */
  write(tables) {
    for (const [cell, memories] of Object.entries(tables))
      for (const [name, rows] of Object.entries(memories)) this.machine.fillMemory(cell, name, rows);
  }

  inputs(values) {
    for (const [port, value] of Object.entries(values)) this.machine.set(port, value);
    return this.frame({});
  }

  /** Run cycles, or as many as fit into some milliseconds. */
  advance({ cycles = 0, budget = 0, ...wanted }) {
    if (this.program) return this.advanceProgram({ cycles, budget, ...wanted });
    let good = true;
    if (budget) {
      const end = performance.now() + budget;
      this.part ??= 1;
      while (good && performance.now() < end) {
        const start = performance.now();
        good = this.machine.advance(this.part);
        const rate = this.part / Math.max(performance.now() - start, 0.02);
        this.part = Math.max(1, Math.min(Math.round(rate * budget / 4), 100000));
      }
    } else good = this.machine.advance(cycles);
    return this.frame(wanted);
  }

  /** The same, but no further than the end of the program, and never so far that a console runs over;
      or, with `core`, until that core is at another line, or at `line`. */
  advanceProgram({ cycles = 0, budget = 0, core = null, line = null, ...wanted }) {
    const { program, machine } = this, end = performance.now() + budget;
    const first = core === null ? null : program.line(core);
    const goesOn = line !== null ? () => program.line(core) !== line
      : core !== null ? () => program.line(core) === first || !program.line(core)
      : budget ? () => performance.now() < end : () => cycles > 0;
    let good = true;
    for (let turn = 0; good && !program.over && turn < 200000 && goesOn(); turn++) {
      const part = core !== null ? 1 : budget ? program.rows : Math.min(cycles, program.rows);
      good = machine.advance(part);
      cycles -= part;
      program.look();
    }
    return this.frame(wanted);
  }

  /** What is seen in this cycle: handshakes, packets on links, levels of queues, counters. */
  frame({ histogram = false, look = null, contents = false }) {
    const { machine } = this, { links, words, code, engine: { lanes } } = machine;
    code.settle_all();
    const now = code.wires() / 4;
    const state = new Uint8Array(links.length);
    const payload = new Uint32Array(links.length * this.width);
    for (let n = 0; n < links.length; n++) {
      const link = links[n];
      const valid = words[now + link.valid] & 1;
      state[n] = valid | (words[now + machine.readyOf(link)] & 1) << 1;
      if (valid)
        for (let w = 0; w < link.count; w++) payload[n * this.width + w] = words[now + link.payload + lanes * w];
    }
    const levels = new Uint16Array(this.queues.length);
    for (let n = 0; n < levels.length; n++) {
      const direct = this.fast[n];
      levels[n] = direct ? words[direct[0]] & direct[1] : machine.level(...this.queues[n]);
    }
    const counts = (name) => {
      const { at, bytes } = machine.tables.get(name);
      return words.slice(at / 4, (at + bytes) / 4);
    };
    return {
      cycle: machine.cycle,
      event: machine.event(),
      state, payload, levels,
      width: this.width,
      crossed: counts("crossed"),
      refused: counts("refused"),
      counters: this.counters(),
      histogram: histogram ? machine.memorySum(this.about.bench.sinks, "total_histogram") : null,
      look: look ? this.look(look) : null,
      contents: contents ? this.contents(levels) : null,
      told: this.about.design ? this.told() : null,
      program: this.program?.frame() ?? null,
      headers: contents && this.about.bench.entries.length ? this.headers() : null,
    };
  }

  /** The signals that a design names, and its outputs. */
  told() {
    const { machine } = this;
    const signals = this.about.signals.map(([cell, name]) => {
      const [number, place] = machine.places.get(cell), signal = this.about.kinds[number].signals[name];
      return [`${cell}.${name}`, bitsOf(machine.signal(number, place, signal), 0, signal.width)];
    });
    return [...signals, ...Object.entries(this.about.outputs).map(([name, { wires, width }]) => [name, machine.wires(wires, width)])];
  }

  /** What the queues of nodes hold: number of the queue, its layout, and the items from its head on. */
  contents(levels) {
    const found = [];
    this.queues.forEach(([number, place, queue, cell], n) => {
      if (!levels[n] || !queue.fields || queue.keys || this.sources.has(cell)) return;
      queue.layout ??= fieldsOf(queue.fields);
      found.push([n, queue.layout, this.machine.items(number, place, queue)]);
    });
    return found;
  }

  /** Of the packets that have entered last, by key: the tag of the header, and how many flits of it
      have entered. */
  headers() {
    const { machine: { tables, words, engine }, about } = this, found = new Map();
    const each = 1 + engine.header_words, at = tables.get("headers").at / 4, begun = tables.get("begun").at / 4;
    about.bench.entries.forEach((channel, n) => {
      const layout = layoutsOf(about)[about.bench.channels.layout[channel]];
      for (let kept = Math.max(0, words[begun + n] - engine.kept); kept < words[begun + n]; kept++) {
        const first = at + (n * engine.kept + kept % engine.kept) * each;
        const own = words.slice(first + 1, first + each);
        found.set(keyOf(layout, own), { tag: bitsOf(own, ...layout.tag), sent: words[first], packet: decoded(layout, own) });
      }
    });
    return found;
  }

  counters() {
    const { sources, sinks, meters } = this.about.bench;
    const found = {};
    for (const port of ["generated", "rejected", "injected", "entered"]) found[port] = this.sum(sources, port);
    for (const port of ["delivered", "measured", "timed", "latency_sum", "total_sum", "misrouted", "damaged"])
      found[port] = this.sum(sinks, port);
    const late = this.late(sinks, "delivered");
    found.delivered += late;
    found.inside = this.inside - late;
    found.total_max = this.machine.most(sinks, "total_max");
    for (const [name, cells] of Object.entries(meters)) {
      found[`meter ${name}`] = this.sum(cells, "total");
      found[`window ${name}`] = this.sum(cells, "measured");
    }
    return found;
  }

  /** Packets in the network. */
  get inside() {
    const { bench: { meters, sources, sinks }, measure: rules } = this.about;
    const metered = (name) => name in meters ? this.sum(meters[name], "total") : 0;
    const entered = this.sum(sources, rules?.copies ? "copies" : "injected");
    return entered - (rules?.resubmits ? 0 : metered("dropped")) - metered("corrupted") - this.sum(sinks, "delivered");
  }

  /** The sum of a port over cells; where its words are is looked up once. */
  sum(cells, port) {
    const key = `${cells[0]} ${port}`;
    this.sums ??= new Map();
    if (!this.sums.has(key)) {
      const wires = cells.map((cell) => this.machine.wireOf(cell, port)).filter(Boolean);
      const words = [];
      for (const [wire, width] of wires)
        for (let word = 0; word * 32 < width; word++) words.push([word, wire + this.machine.engine.lanes * word, Math.min(32, width - 32 * word)]);
      const count = Math.max(0, ...words.map(([word]) => word + 1));
      this.sums.set(key, Array.from({ length: count }, (_, n) => {
        const own = words.filter(([word]) => word === n);
        return [Int32Array.from(own, ([, wire]) => wire), own[0][2] === 32 ? 0xffffffff : 2 ** own[0][2] - 1];
      }));
    }
    const { words, code } = this.machine, now = code.wires() / 4;
    let total = 0;
    this.sums.get(key).forEach(([wires, mask], word) => {
      let part = 0;
      for (const wire of wires) part += (words[now + wire] & mask) >>> 0;
      total += part * 2 ** (32 * word);
    });
    return total;
  }

  /** What counters that are one cycle behind will add. */
  late(cells, port) {
    const { machine, about } = this;
    this.behind ??= cells.flatMap((cell) => {
      const [number, place] = machine.places.get(cell), register = about.kinds[number].late[port];
      const rows = machine.engine.groups[number].registers.length;
      return register === undefined ? [] : [machine.tables.get(`state_${number}`).at / 4 + machine.laneOf(place, rows, register)];
    });
    return this.behind.reduce((sum, at) => sum + (machine.words[at] & 1), 0);
  }

  /** The inside of a cell: its queues, arbiters and box states. */
  look(cell) {
    const [number, place] = this.machine.places.get(cell);
    const kind = this.about.kinds[number];
    const words = (signal) => this.machine.signal(number, place, signal);
    this.machine.code.settle_all();
    return {
      cell,
      kind: kind.kind,
      queues: kind.queues.map((queue) => ({
        name: queue.name,
        level: this.machine.level(number, place, queue),
        items: this.machine.items(number, place, queue),
      })),
      arbiters: kind.arbiters.map(({ name, request, granted }) => ({
        name, request: words(request), granted: words(granted), count: request.width,
      })),
      states: kind.states.map(({ name, signal }) => ({ name, value: bitsOf(words(signal), 0, signal.width) })),
      memories: this.machine.engine.groups[number].memories
        .map((memory, n) => [memory, n])
        .filter(([memory]) => memory.name === "words")
        .map(([memory, n]) => ({
          name: memory.name,
          rows: Array.from({ length: Math.min(memory.rows, 8) }, (_, row) =>
            bitsOf(this.machine.row(number, place, n, row), 0, memory.width)),
        })),
    };
  }

  /** A run as `multicube sim` makes it: warm-up, window, and the packets born in it. */
  measure({ setting, warmup, cycles, dead = [] }) {
    this.dead = new Set(dead.map((channel) => this.about.bench.channels.gate[channel]));
    this.restart(setting, { send: 1, measure: 0 });
    return new Measurement(this).run({ setting, warmup, cycles });
  }

  /** The tables that make up the state, in the order of the compiled engine's own. */
  state() {
    const { machine } = this;
    const at = machine.code.wires();
    const found = [machine.bytes.slice(at, at + 4 * machine.engine.wires)];
    machine.engine.groups.forEach((group, number) => {
      const names = [`state_${number}`, ...group.memories.map((_, n) => `memory_${number}_${n}`)];
      for (const name of names) {
        const table = machine.tables.get(name);
        if (table) found.push(machine.bytes.slice(table.at, table.at + table.bytes));
      }
    });
    return found;
  }
}

if (typeof WorkerGlobalScope !== "undefined") {
  let runner = null;
  self.onmessage = async ({ data: [id, name, args] }) => {
    try {
      if (name === "load") runner = new Runner(...args);
      const result = name === "load" ? null : await runner[name](...args);
      self.postMessage([id, result]);
    } catch (error) {
      self.postMessage([id, null, String(error?.stack ?? error)]);
    }
  };
}
