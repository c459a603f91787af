"use strict";
// A run as `multicube sim` makes it (sim/run/random_run.py): warm-up, window, and the packets born in it.

/** What a run has counted, at an edge between two parts of the window. */
class Measurement {
  constructor(runner) {
    this.runner = runner;
    this.about = runner.about;
    this.rules = runner.about.measure;
  }

  count(end, port) { return this.runner.sum(this.about.bench[end], port); }

  get cycle() { return this.runner.machine.cycle; }

  get accepted() { return this.count("sources", "generated") - this.count("sources", "rejected"); }

  /** Packets in front of the network and in it. */
  get population() { return this.accepted - this.count("sources", "injected") + this.runner.inside; }

  async until(cycle) {
    while (this.cycle < cycle) {
      if (!this.runner.machine.advance(Math.min(cycle - this.cycle, 500))) throw new Error("An assertion failed");
      await null;
    }
  }

  async run({ setting, warmup, cycles }) {
    const { machine } = this.runner, { pace, patience, delay } = this.rules;
    await this.until(warmup);
    const begin = this.cycle, before = this.accepted, offered = this.count("sources", "generated");
    machine.set("measure", 1);
    const parts = Math.min(this.rules.parts, cycles), samples = [];
    let born = null, generated;
    for (let part = 0; part <= parts; part++) {
      const when = begin + roundEven(part * (cycles / parts)) + delay;
      if (born === null && begin + cycles <= when) {
        await this.until(begin + cycles);
        machine.set("measure", 0);
        born = this.accepted - before;
        generated = this.count("sources", "generated") - offered;
      }
      await this.until(when);
      samples.push([this.count("sources", "generated"), this.population]);
    }
    if (!this.saturated(samples)) await this.follow(begin + cycles, cycles, born);
    machine.set("send", 0);
    await this.empty(pace, patience, delay);
    const counters = this.runner.counters(), timed = this.count("sinks", "timed");
    return {
      load: setting.load, born, generated, counters, saturated: this.saturated(samples), // sources may be full by now
      throughput: counters.measured / (cycles * this.about.bench.sources.length),
      offered: generated / (cycles * this.about.bench.sources.length),
      latency: timed ? counters.total_sum / timed : null,
      histogram: machine.memorySum(this.about.bench.sinks, "total_histogram"),
      untimed: this.rules.known ? born - timed : null,
    };
  }

  /** Whether queues grow in the second half of the window, by more than is allowed or chance. */
  saturated(samples) {
    if (this.count("sources", "rejected")) return true;
    const growth = samples.slice(1).map(([generated, population], n) => [generated - samples[n][0], population - samples[n][1]]);
    const late = growth.slice(Math.floor(growth.length / 2)), count = Math.min(this.rules.batches, late.length);
    const each = Math.floor(late.length / count), longer = late.length % count;
    const batches = Array.from({ length: count }, (_, n) => {
      const first = n * each + Math.min(n, longer);
      return late.slice(first, first + each + (n < longer ? 1 : 0)).reduce(([n0, x0], [n1, x1]) => [n0 + n1, x0 + x1], [0, 0]);
    });
    const [offered, more] = late.reduce(([n0, x0], [n1, x1]) => [n0 + n1, x0 + x1], [0, 0]);
    if (!offered || count < this.rules.batches) return false;
    const rate = more / offered;
    const squares = batches.reduce((sum, [n, x]) => sum + (x - n * rate) ** 2, 0);
    const chance = this.rules.student * Math.sqrt(squares / (count * (count - 1))) / (offered / count);
    return rate > Math.max(this.rules.tolerance, chance);
  }

  /** Wait for the packets that were born in the window, at most as long as it lasted. */
  async follow(end, longest, born) {
    let moved = end, seen = -1;
    while (this.cycle - end < longest) {
      await this.until(this.cycle + this.rules.pace);
      const timed = this.count("sinks", "timed");
      if (timed !== seen) [moved, seen] = [this.cycle, timed];
      if (this.rules.known) { if (timed >= born || this.cycle - moved > this.rules.patience) return; }
      else if (this.cycle - end > 2 * this.runner.machine.most(this.about.bench.sinks, "total_max")) return;
    }
  }

  /** Run until the network is empty, or nothing has moved for a long time. */
  async empty(pace, patience, delay) {
    const unfinished = () => this.runner.inside + this.count("sources", "pending");
    let moved = this.cycle, left = unfinished(), least = left;
    while (left && this.cycle - moved < patience) {
      await this.until(this.cycle + pace);
      left = unfinished();
      if (left < least) [least, moved] = [left, this.cycle];
    }
    await this.until(this.cycle + delay);
  }
}
