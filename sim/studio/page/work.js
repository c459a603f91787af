"use strict";
// Work: what the server does for this page, how far it is, and how it is stopped.

/** Milliseconds after which is asked again. */
const ASK_AGAIN = { waiting: 1000, running: 250 };

/** How far a task is, in numbers where there are any. */
function farness({ state, ahead, progress, seconds, words }) {
  const parts = [];
  if (state === "waiting") parts.push(ahead ? `waiting for ${ahead} other${ahead > 1 ? "s" : ""}` : "waiting");
  else if (progress?.total) parts.push(`${progress.done} of ${progress.total}${words ? ` ${words}` : ""}`, ...progress.done ? [] : [progress.text.split(", ").at(-1)]);
  else parts.push(progress ? progress.text || "ending" : "starting");
  return [...parts.filter(Boolean), `${seconds.toFixed(0)} s`].join(", ");
}

class Work {
  constructor() {
    this.running = new Map(); // by key: the tasks that have not ended, and what they are for
  }

  /**
   * A task from its start to its end; null if it was stopped. `what` is what it is for, so that all
   * that is for the same can be stopped; `seen` is called with each of its records.
   */
  async run(kind, request, { what = kind, words = "", seen = () => {} } = {}) {
    let task = await asked("tasks", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ kind, ...request }) });
    const row = this.row(task);
    this.running.set(task.key, { what, row });
    try {
      while (task.state === "waiting" || task.state === "running") {
        this.show(row, { ...task, words });
        seen(task);
        await new Promise((done) => setTimeout(done, ASK_AGAIN[task.state]));
        task = await asked(`tasks/${task.key}`);
      }
      seen(task);
    } finally {
      this.running.delete(task.key);
      row.remove();
      byId("work").hidden = !this.running.size;
    }
    if (task.state === "failed") throw new Error(task.error);
    return task.state === "done" ? task : null;
  }

  row({ key, command }) {
    const row = element("li", { "data-key": key }, element("code", {}, command), element("progress", { "aria-label": "Done" }),
      element("span", { class: "far" }), element("button", { type: "button", onclick: () => this.stop(key), "aria-label": `Stop ${command}` }, "Stop"));
    byId("work-list").append(row);
    byId("work").hidden = false;
    return row;
  }

  show(row, task) {
    const bar = row.querySelector("progress"), { progress } = task;
    if (progress?.total) { bar.max = progress.total; bar.value = progress.done; } else bar.removeAttribute("value");
    row.querySelector(".far").textContent = farness(task);
  }

  /** End a task; who waits for it gets null. */
  stop(key) { return asked(`tasks/${key}`, { method: "DELETE" }); }

  stopAll(what) {
    return Promise.all([...this.running].filter(([, task]) => task.what === what).map(([key]) => this.stop(key)));
  }
}
