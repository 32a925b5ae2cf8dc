// What is typed stays in the browser until the server has it: a copy for each page, so that none drops another's.
import { random, Storage } from "../parts.js";

const storage = new Storage("localStorage");
const ofTab = new Storage("sessionStorage");
const OWNER_SILENT = 180_000;  // a hidden tab may wake once a minute only

export class Copies {
  constructor(storage) {
    this.name = `kpdemo-write:${storage}`;
    this.own = `${this.name}:${random()}`;
    this.isNew = true;
    this.taken = new Map();  // copies of pages that may live on, as they were when this page took their text
  }

  keep(copy, seen = Date.now()) {
    storage.write(this.own, { at: Date.now(), ...copy, seen });
  }

  // The server has the text, also of the copies that it came from; a page that still tries has written its own again.
  drop() {
    for (const [key, text] of this.taken) if (storage.text(key) === text) storage.remove(key);
    this.taken.clear();
    storage.remove(this.own);
  }

  // A page that goes leaves its copy to the next one.
  leave() {
    const copy = storage.read(this.own);
    if (copy) this.keep(copy, 0);
  }

  // This page's own, and at first those of other pages, newest first. One whose page may live on stays there too.
  take() {
    const found = [];
    for (const key of this.isNew ? this.#keys() : [this.own]) {
      const copy = storage.read(key);
      if (copy) found.push(copy);
      if (key === this.own || Date.now() - (copy?.seen ?? 0) > OWNER_SILENT) storage.remove(key);
      else this.taken.set(key, storage.text(key));
    }
    this.isNew = false;
    return found.sort((one, other) => (other.at ?? 0) - (one.at ?? 0));
  }

  // Why an item is to be left blank: a page reloaded before the server has it shows it again.
  keepReason(id, text) { ofTab.write(`${this.name}:reason`, { id, text }); }

  reasonFor(id) {
    const kept = ofTab.read(`${this.name}:reason`);
    if (kept && kept.id === id) return kept.text;
    ofTab.remove(`${this.name}:reason`);
    return "";
  }

  #keys() { return storage.keys().filter((key) => key.startsWith(`${this.name}:`)); }
}
