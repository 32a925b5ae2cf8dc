// The rater's keys: what each does, when they wait for the next pair, and when they grade no pair at all.
(() => {
  "use strict";
  const parts = (window.kpdemoRate ??= {});
  parts.HOLD = 1000;
  const GRADING = /^([0-4[\]]|Arrow(Left|Right)|Enter)$/;
  const PATIENCE = 30_000;  // older keys were meant for a pair that nobody had seen yet

  class Keys {
    constructor(session) {
      this.session = session;
      this.typed = [];
      this.isHeld = false;  // the pair has changed without the rater's doing: no key for the old one grades the new one
      this.holding = 0;
    }

    // While the next pair is on its way, keys wait for it.
    press(key) {
      const { session } = this;
      if (this.isHeld && GRADING.test(key)) {
        session.say(`${session.pair ? "Another pair is shown now" : "The pair is gone"}: the key was not used.`);
        return;
      }
      if (!session.keysWait || (key === "Backspace" && !this.typed.length)) {
        this.#act(key);
        return;
      }
      this.typed.push({ key, at: Date.now() });
      session.changed();
    }

    replay() {
      const { session } = this;
      while (this.typed.length && !session.keysWait) {
        const { key, at } = this.typed.shift();
        if (session.pair && Date.now() - at < PATIENCE) {
          this.#act(key);
          continue;
        }
        this.typed = [];
        if (session.pair) session.notify("Keys that you typed while there was no connection were not used: nobody had seen the pair.");
      }
    }

    #act(key) {
      const { session } = this;
      if (/^[0-4]$/.test(key)) session.choose(Number(key) * parts.QUARTERS);
      else if (key === "[" || key === "ArrowLeft") session.move(-1);
      else if (key === "]" || key === "ArrowRight") session.move(1);
      else if (key === "Enter") session.submit();
      else if (key === "Backspace") session.back();
      else {
        this.typed = [];
        session.opened(key);
      }
    }

    hold() {
      this.isHeld = true;
      this.typed = [];
    }

    // The hold lasts until the new pair has been in sight for a moment.
    look() {
      clearTimeout(this.holding);
      if (!this.isHeld || !this.session.pair || document.hidden) return;
      this.holding = setTimeout(() => {
        this.isHeld = false;
        this.session.changed();
      }, parts.HOLD);
    }
  }

  Object.assign(parts, { Keys });
})();
