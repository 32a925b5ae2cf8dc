// What the rating page keeps in the browser: answers on their way, drafts, and options.
import { random, Storage } from "../parts.js";

const DAY = 86_400_000;
const DRAFT_DAYS = 30;
const OWNER_SILENT = 180_000;  // a hidden tab may wake once a minute only
const OPTIONS = "kpdemo-rate-options";
const storage = new Storage("localStorage");
const SLOTS = { rating: "answer", skip: "answer", comment: "comment" };  // the later one of a pair stands

// Keys begin with the name that the server made of account and project, so that nobody is given another's.
export class Store {
  constructor(name) {
    this.prefix = `kpdemo-rate:${name}:`;
    this.memory = new Map();
    this.isSafe = true;
    this.tab = random();
    for (const key of this.#keys("draft:")) if (Date.now() - (this.read(key)?.at ?? 0) > DRAFT_DAYS * DAY) this.remove(key);
  }

  read(key) { return this.memory.get(key) ?? storage.read(this.prefix + key); }

  // In a private window, or when the room is used up, memory has to do; the page then says so.
  write(key, value) {
    this.memory.delete(key);
    if (storage.write(this.prefix + key, value)) return;
    this.memory.set(key, structuredClone(value));
    this.isSafe = false;
  }

  remove(key) {
    this.memory.delete(key);
    storage.remove(this.prefix + key);
  }

  draft(pair) { return this.read(`draft:${pair}`); }
  keepDraft(pair, draft) { this.write(`draft:${pair}`, { ...draft, at: Date.now() }); }
  dropDraft(pair) { this.remove(`draft:${pair}`); }

  // Those of the entries that no other tab took while this one was asleep.
  keepOutbox(entries, seen = Date.now()) {
    const key = `outbox:${this.tab}`;
    const taken = new Set(this.read(key)?.taken);
    const kept = entries.filter(({ id }) => !taken.has(id));
    if (kept.length) this.write(key, { entries: kept, seen });
    else this.remove(key);
    return kept;
  }

  // A page that goes leaves its answers to the next one, of this tab or another.
  leave(entries) { this.keepOutbox(entries, 0); }

  // The answers that closed, reloaded or sleeping pages left, oldest first.
  adopt() {
    const found = [];
    for (const [key, box] of this.#otherBoxes()) {
      const silent = Date.now() - box.seen;
      if (silent < OWNER_SILENT) continue;
      found.push(...this.#take(key, box, () => true));
      if (silent > DRAFT_DAYS * DAY) this.remove(key);
    }
    return found.sort((one, other) => one.at - other.at);
  }

  // What other tabs have not sent yet of pairs that are answered again here.
  supersede(entries) {
    const isOld = (old) => entries.some((entry) => old.pair === entry.pair && SLOTS[old.kind] === SLOTS[entry.kind]);
    for (const [key, box] of this.#otherBoxes()) this.#take(key, box, (old) => old.kind in SLOTS && isOld(old));
  }

  // Its owner, who may only be asleep, reads there what not to send.
  #take(key, { entries, seen, taken = [] }, isMeant) {
    const mine = entries.filter(isMeant);
    const left = entries.filter((entry) => !isMeant(entry));
    if (mine.length) this.write(key, { entries: left, seen, taken: [...taken, ...mine.map(({ id }) => id)] });
    return mine;
  }

  #otherBoxes() {
    const keys = this.#keys("outbox:").filter((key) => key !== `outbox:${this.tab}`);
    return keys.map((key) => [key, this.read(key)]).filter(([, box]) => box);
  }

  #keys(start) {
    const keys = storage.keys().filter((key) => key.startsWith(this.prefix + start));
    return keys.map((key) => key.slice(this.prefix.length));
  }
}

// Of the browser, not of an account: whether keys are on, which parts are unfolded.
export const options = () => storage.read(OPTIONS) ?? {};
export const keepOption = (name, value) => storage.write(OPTIONS, { ...options(), [name]: value });
