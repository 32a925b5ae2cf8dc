// What is typed stays in the browser until the server has it: a copy for each page, so that none drops another's.
(() => {
  "use strict";
  const parts = (window.kpdemoWrite ??= {});
  const OWNER_SILENT = 180_000;  // a hidden tab may wake once a minute only

  class Copies {
    constructor(storage) {
      this.name = `kpdemo-write:${storage}`;
      this.own = `${this.name}:${window.kpdemoRate.random()}`;
      this.isNew = true;
    }

    keep(copy, seen = Date.now()) {
      try { localStorage.setItem(this.own, JSON.stringify({ at: Date.now(), ...copy, seen })); } catch { /* full */ }
    }

    drop() { this.#remove(this.own); }

    // A page that goes leaves its copy to the next one.
    leave() {
      const copy = this.#read(this.own);
      if (copy) this.keep(copy, 0);
    }

    // This page's own, and at first those of other pages, newest first. One whose page may live on stays there too.
    take() {
      const found = [];
      for (const key of this.isNew ? this.#keys() : [this.own]) {
        const copy = this.#read(key);
        if (copy) found.push(copy);
        if (key === this.own || Date.now() - (copy?.seen ?? 0) > OWNER_SILENT) this.#remove(key);
      }
      this.isNew = false;
      return found.sort((one, other) => (other.at ?? 0) - (one.at ?? 0));
    }

    // One without a page's name is of an earlier version.
    #keys() {
      try {
        return Object.keys(localStorage).filter((key) => key === this.name || key.startsWith(`${this.name}:`));
      } catch { return []; }
    }

    #read(key) { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } }
    #remove(key) { try { localStorage.removeItem(key); } catch { /* none */ } }
  }

  Object.assign(parts, { Copies });
})();
