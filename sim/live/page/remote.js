"use strict";
// The worker, as the page sees it, and what the page's file holds for it.

/** A worker of its own with a machine: answers requests in order. */
class Remote {
  constructor(program, contents) {
    const text = byId("worker").textContent.replaceAll("<\\/", "</");
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data: [id, result, error] }) => {
      const [resolve, reject] = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) reject(new Error(error)); else resolve(result);
    };
    this.ready = this.ask("load", ABOUT, program, contents);
  }

  ask(name, ...args) {
    return new Promise((resolve, reject) => {
      this.waiting.set(this.next, [resolve, reject]);
      this.worker.postMessage([this.next++, name, args]);
    });
  }

  close() { this.worker.terminate(); }
}

function bytesOf(id) {
  const text = atob(byId(id).textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
