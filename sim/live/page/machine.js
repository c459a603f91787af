"use strict";
// The engine in WebAssembly: its memory, and what its words mean.

class Machine {
  constructor(about, program, contents) {
    this.about = about;
    this.engine = about.engine;
    const module = new WebAssembly.Module(program);
    this.code = new WebAssembly.Instance(module).exports;
    this.bytes = new Uint8Array(this.code.memory.buffer);
    this.words = new Uint32Array(this.code.memory.buffer);
    this.contents = contents;
    this.tables = new Map();
    this.engine.tables.forEach(([name, bytes, filled], number) => {
      this.tables.set(name, { at: this.code.table(number), bytes, filled });
    });
    this.places = new Map();
    this.engine.groups.forEach((group, number) => {
      group.cells.forEach((cell, place) => cell && this.places.set(cell, [number, place]));
    });
    const channels = about.bench.channels;
    this.count = channels.name.length;
    this.links = channels.cell.map((cell, n) => this.linkOf(cell, channels.port[n], channels.layout[n]));
    this.fill();
  }

  /** Everything as after reset. */
  fill() {
    let at = 0;
    for (const { at: to, bytes, filled } of this.tables.values()) {
      if (filled) {
        this.bytes.set(this.contents.subarray(at, at + bytes), to);
        at += bytes;
      } else this.bytes.fill(0, to, to + bytes);
    }
    this.cycle = 0;
    this.code.reset();
    this.code.publish_all();
  }

  advance(cycles) {
    const done = this.code.advance(cycles);
    this.cycle += done;
    return done === cycles;
  }

  /** Which assertion failed, in which cell. */
  event() {
    const [event, group, place] = [0, 1, 2].map((part) => this.code.event(part));
    return event < 0 ? null : { event, cell: this.engine.groups[group].cells[place] };
  }

  // Inputs

  /** Set a port of the boundary; one that the fabric does not have is left. */
  set(port, value) {
    if (!(port in this.engine.boundary)) return;
    const [base, widths] = this.engine.boundary[port];
    widths.forEach((width, word) => {
      const part = Number(BigInt.asUintN(32, BigInt(value) >> BigInt(32 * word)));
      for (const table of ["now", "next"])
        this.words[this.tables.get(table).at / 4 + base + word] = width === 1 ? -(part & 1) : part;
    });
  }

  /** The value of some wires, of the low word first. */
  wires(wires, width) {
    const now = this.code.wires() / 4;
    return bitsOf(wires.map((wire) => this.words[now + wire]), 0, width);
  }

  strap(cell, port, words) {
    const [number, place] = this.places.get(cell);
    const group = this.engine.groups[number];
    if (!(port in group.inputs)) return;
    const [row, width] = group.inputs[port];
    const first = this.tables.get(`straps_${number}`).at / 4;
    for (let word = 0; word * 32 < width; word++) {
      const value = words[word] ?? 0;
      const at = this.laneOf(place, group.rows[1], row + word);
      this.words[first + at] = width - 32 * word === 1 ? -(value & 1) : value;
    }
  }

  /** Where the lane of a cell is in an array [vector][row][lane]. */
  laneOf(place, rows, row) {
    const { lanes } = this.engine;
    return (Math.floor(place / lanes) * rows + row) * lanes + place % lanes;
  }

  // Wires

  /** The number of the first wire of an output. */
  wireOf(cell, port) {
    const [number, place] = this.places.get(cell);
    const group = this.engine.groups[number];
    const output = group.outputs[port];
    if (!output) return null;
    return [group.first + this.laneOf(place, group.rows[0], output[0]), output[1]];
  }

  /** The wire that drives an input; 0 if it is a strap. */
  inputOf(cell, port, word = 0) {
    const [number, place] = this.places.get(cell);
    return this.driverOf(number, place, this.engine.groups[number].inputs[port][0] + word);
  }

  driverOf(number, place, row) {
    const group = this.engine.groups[number];
    const at = this.tables.get(`index_${number}`).at / 4 + this.laneOf(place, group.rows[1], row);
    const index = this.words[at];
    if (!group.pairs.includes(row)) return index;
    // As `half` in the C program reads it.
    const { half } = this.engine;
    const choice = index % (2 * half);
    const first = this.words[at - place % half + Math.floor(choice / half)];
    return Math.floor(first / (4 * half)) * half + choice % half;
  }

  linkOf(cell, port, layout) {
    const fields = this.about.bench.layouts[layout];
    const width = Math.max(...fields.map(([, at, bits]) => at + bits));
    const [payload] = this.wireOf(cell, `${port}.payload`);
    return {
      valid: this.wireOf(cell, `${port}.valid`)[0],
      input: [cell, `${port}.ready`],
      payload,
      count: Math.ceil(width / 32),
    };
  }

  readyOf(link) {
    link.ready ??= this.inputOf(...link.input);
    return link.ready;
  }

  port(cell, port) {
    const found = this.wireOf(cell, port);
    if (!found) return 0;
    const [wire, width] = found;
    const now = this.code.wires() / 4;
    let value = 0;
    for (let word = 0; word * 32 < width; word++) {
      const bits = Math.min(32, width - 32 * word);
      const part = this.words[now + wire + this.engine.lanes * word];
      value += (bits === 32 ? part : part & (2 ** bits - 1)) * 2 ** (32 * word);
    }
    return value;
  }

  most(cells, port) {
    return cells.reduce((most, cell) => Math.max(most, this.port(cell, port)), 0);
  }

  // State

  register(number, place, register) {
    const group = this.engine.groups[number];
    const width = group.registers[register];
    const at = this.laneOf(place, group.registers.length, register);
    const value = this.words[this.tables.get(`state_${number}`).at / 4 + at];
    return width === 32 ? value : (value & (2 ** width - 1)) >>> 0;
  }

  /** A row of a memory, as words. */
  row(number, place, memory, row) {
    const about = this.engine.groups[number].memories[memory];
    if (about.registers) return about.registers[row].map((each) => this.register(number, place, each));
    const first = this.tables.get(`memory_${number}_${memory}`).at;
    const words = [];
    for (let word = 0; word < about.words; word++) {
      const at = first + ((place * about.rows + row) * about.words + word) * about.bytes;
      let value = 0;
      for (let byte = about.bytes - 1; byte >= 0; byte--) value = value * 256 + this.bytes[at + byte];
      words.push(value);
    }
    return words;
  }

  /** Write all rows of a memory whose rows are single words. */
  fillMemory(cell, name, rows) {
    const [number, place] = this.places.get(cell), { memories } = this.engine.groups[number];
    const memory = memories.findIndex((each) => each.name === name), about = memories[memory];
    const { at } = this.tables.get(`memory_${number}_${memory}`);
    if (about.words > 1) throw new Error(`Rows of ${cell}.${name} have several words`);
    rows.forEach((value, row) => {
      for (let byte = 0; byte < about.bytes; byte++)
        this.bytes[at + (place * about.rows + row) * about.bytes + byte] = Math.floor(value / 256 ** byte) % 256;
    });
  }

  /** The sum of a memory over cells, row by row. */
  memorySum(cells, name) {
    let total = null;
    for (const cell of cells) {
      const [number, place] = this.places.get(cell);
      const memories = this.engine.groups[number].memories;
      const memory = memories.findIndex((each) => each.name === name);
      const { rows } = memories[memory];
      total ??= new Float64Array(rows);
      const { at } = this.tables.get(`memory_${number}_${memory}`);
      const first = at / 4 + place * rows; // counters of 32 bits
      for (let row = 0; row < rows; row++) total[row] += this.words[first + row];
    }
    return total;
  }

  /** The words of a signal inside a cell, computed from the state. */
  signal(number, place, signal) {
    const { nodes } = this.about.kinds[number];
    const values = new Map();
    const value = (index) => {
      if (!values.has(index)) values.set(index, this.evaluated(number, place, nodes[index], value));
      return values.get(index);
    };
    return signal.words.map(value);
  }

  evaluated(number, place, [op, width, attr, ...args], value) {
    const mask = width === 32 ? 0xffffffff : 2 ** width - 1;
    switch (op) {
      case "const": return attr >>> 0;
      case "register": return this.register(number, place, attr);
      case "input": return this.input(number, place, attr[0], attr[1], mask);
      case "read": {
        const [memory, word] = attr;
        const row = value(args[0]);
        return row < this.engine.groups[number].memories[memory].rows
          ? this.row(number, place, memory, row)[word] : 0;
      }
      case "and": return (value(args[0]) & value(args[1])) >>> 0;
      case "or": return (value(args[0]) | value(args[1])) >>> 0;
      case "xor": return (value(args[0]) ^ value(args[1])) >>> 0;
      case "add": return ((value(args[0]) + value(args[1])) & mask) >>> 0;
      case "sub": return ((value(args[0]) - value(args[1])) & mask) >>> 0;
      case "mul": return (Math.imul(value(args[0]), value(args[1])) & mask) >>> 0;
      case "eq": return +(value(args[0]) === value(args[1]));
      case "ult": return +(value(args[0]) < value(args[1]));
      case "mux": return value(args[0]) & 1 ? value(args[1]) : value(args[2]);
      case "slice": return ((value(args[0]) >>> attr) & mask) >>> 0;
      case "cat": return args.reduce((all, arg, n) => (all | (value(arg) << attr[n])) >>> 0, 0);
      default: throw new Error(`No operation ${op}`);
    }
  }

  input(number, place, port, word, mask) {
    const group = this.engine.groups[number];
    const [row] = group.inputs[port];
    const wire = this.driverOf(number, place, row + word);
    const found = wire
      ? this.words[this.code.wires() / 4 + wire]
      : this.words[this.tables.get(`straps_${number}`).at / 4 + this.laneOf(place, group.rows[1], row + word)];
    return (found & mask) >>> 0;
  }

  // Queues

  level(number, place, queue) {
    const words = this.signal(number, place, queue.level);
    return queue.ones ? queue.keys.filter((_, row) => bitsOf(words, row, 1)).length : bitsOf(words, 0, queue.level.width);
  }

  /** The words of the packets in a queue, from its head on. */
  items(number, place, queue) {
    const level = this.level(number, place, queue);
    if (queue.keys) {
      const used = this.signal(number, place, queue.level);
      return queue.keys.map((key, row) => [key, row]).filter(([, row]) => bitsOf(used, row, 1)).map(([key, row]) =>
        joined([[this.row(number, place, queue.records, row), queue.width], [this.signal(number, place, key), key.width]]));
    }
    if (queue.joined) {
      return queue.joined.slice(0, level).map((parts) => joined(parts.map((part) =>
        [this.signal(number, place, part), part.width])));
    }
    if (queue.slots) {
      const all = queue.slots.map((slot) => this.signal(number, place, slot));
      return queue.flag === undefined ? all.slice(0, level)
        : all.filter((words) => bitsOf(words, queue.flag, 1));
    }
    if (!queue.banks) return [];
    const head = (part) => bitsOf(this.signal(number, place, queue[part]), 0, queue[part].width);
    const [bank, row] = [head("head_bank"), head("head_row")];
    const { banks, order } = queue, first = order.indexOf(row) * banks.length + bank, found = [];
    for (let n = 0; n < level; n++) {
      const at = (first + n) % (banks.length * order.length);
      const bankAt = at % banks.length, rowAt = order[Math.floor(at / banks.length)];
      const words = this.row(number, place, banks[bankAt], rowAt);
      found.push(queue.own
        ? this.row(number, place, queue.own[words[0]],
          rowAt * 2 ** queue.head_bank.width + bankAt)
        : words);
    }
    return found;
  }
}

/** Values side by side, as words: each given as its words and width. */
function joined(parts) {
  const bits = [];
  for (const [words, width] of parts)
    for (let at = 0; at < width; at++) bits.push((words[at >>> 5] >>> (at & 31)) & 1);
  const found = new Array(Math.ceil(bits.length / 32)).fill(0);
  bits.forEach((bit, at) => { found[at >>> 5] = (found[at >>> 5] | (bit << (at & 31))) >>> 0; });
  return found;
}
