// Sends what was answered, in order, one at a time, until the server has it.
import { _ } from "../../kpdemo/language.js";
import { ask, random } from "../parts.js";

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 15_000;

const ROUTES = {
  rating: (entry) => ["PUT", `pairs/${entry.pair}/rating`],
  training: (entry) => ["PUT", `training/${entry.training}/rating`],
  comment: (entry) => ["PUT", `pairs/${entry.pair}/comment`],
  skip: (entry) => ["POST", `pairs/${entry.pair}/skip`],
};

export class Sender {
  constructor({ project, user, store, received, refused, taken, lost, changed }) {
    Object.assign(this, { project, user, store, received, refused, taken, lost, changed });
    this.outbox = [];
    this.wantsQueue = false;
    this.running = null;
    this.isStopped = false;
    this.isHeld = false;  // nothing is sent until the rater has agreed to the project's text
    this.failures = 0;
    this.savedAt = null;
    this.wake = () => {};
  }

  // Answers whether there was something to adopt.
  adopt() {
    const found = this.isStopped ? [] : this.store.adopt();
    if (found.length) this.#keep([...found, ...this.outbox]);
    return found.length > 0;
  }

  add(...entries) {
    this.store.supersede(entries);
    this.#keep([...this.outbox, ...entries.map((entry) => ({ id: random(), at: Date.now(), ...entry }))]);
    this.run();
  }

  askQueue() {
    this.wantsQueue = true;
    this.run();
  }

  release() {
    this.isHeld = false;
    this.run();
  }

  post(path, body) { return ask(this.user, "POST", path, body); }
  get(path) { return ask(this.user, "GET", path); }

  leave() {
    this.isStopped = true;
    this.store.leave(this.outbox);
  }

  // Pairs whose grade or skip the server may not have yet.
  pending() { return new Set(this.outbox.filter((entry) => entry.kind !== "comment").map((entry) => entry.pair)); }

  // What is left to send of a pair that was refused.
  withdraw(pair) {
    const taken = this.outbox.filter((entry) => entry.pair === pair);
    this.#keep(this.outbox.filter((entry) => entry.pair !== pair));
    return taken;
  }

  state() {
    if (this.outbox.length) return this.isHeld ? "held" : this.failures ? "trying" : "saving";
    if (this.failures) return "unreachable";
    return this.savedAt ? "saved" : "idle";
  }

  // Until all is sent; a call while it runs is the same run.
  run() {
    this.running ??= this.#run().finally(() => {
      this.running = null;
      if (this.#hasWork) this.run();
    });
    return this.running;
  }

  get #hasWork() { return !this.isStopped && ((this.outbox.length > 0 && !this.isHeld) || this.wantsQueue); }

  async #run() {
    while (this.#hasWork) {
      this.#keep(this.outbox);
      await this.#step(this.isHeld ? undefined : this.outbox[0]);
    }
  }

  async #step(entry) {
    if (!entry) this.wantsQueue = false;  // later requests get what the server knows by then
    const { status, body } = entry
      ? await ask(this.user, ...ROUTES[entry.kind](entry), entry.body)
      : await this.get(`projects/${this.project}/queue`);
    if (this.isStopped) return;
    if (status === 0 || status === 429 || status >= 500) {
      if (!entry) this.wantsQueue = true;
      await this.#pause();
      return;
    }
    this.failures = 0;
    if (status === 401) {
      this.isStopped = true;
      this.lost();
      return;
    }
    if (entry && status === 428) {
      this.isHeld = this.wantsQueue = true;
      return;
    }
    if (entry) this.#keep(this.outbox.filter((other) => other.id !== entry.id));
    else this.isHeld = Boolean(body.consent);
    if (status < 300) {
      if (body.saved_at) this.savedAt = new Date(body.saved_at);
      this.received(body, entry);
    } else {
      this.refused(entry, body.error ?? _("The server answered {status}: tell your administrator.", { status }));
    }
    this.changed();
  }

  // Also says that this page lives.
  #keep(outbox) {
    this.outbox = this.store.keepOutbox(outbox);
    if (this.outbox.length === outbox.length) return;
    const taken = outbox.filter((entry) => !this.outbox.includes(entry));
    this.wantsQueue = true;
    queueMicrotask(() => this.taken(taken));  // the session may be about to add an answer
  }

  // Again after 1, 2, 4 … seconds, or as soon as the browser says that it is online.
  async #pause() {
    const wait = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.failures);
    this.failures += 1;
    this.changed();
    await new Promise((resolve) => {
      this.wake = resolve;
      setTimeout(resolve, wait);
    });
  }
}
