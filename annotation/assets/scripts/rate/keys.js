// The rater's keys: what each does, where they go, and when they do nothing. A key is for the pair that was on the screen when it was pressed.
import { _ } from "../../kpdemo/language.js";

// Milliseconds until a key counts for a pair that came without the rater's doing.
export const timing = { hold: 1000 };

const GRADING = /^([0-9[\]]|Arrow(Left|Right|Up|Down)|Enter)$/;

export class Keys {
  constructor(session) {
    this.session = session;
    this.seenAt = Infinity;  // since when the pair has been on the screen
    this.isHeld = false;     // no key counts until the pair has been in sight for a moment
    this.holding = 0;
  }

  press(key, at) {
    const { session } = this;
    if (GRADING.test(key) && !this.isMeant(at)) return;
    if (/^[0-9]$/.test(key)) session.choose(session.scale.ofKey(key));
    else if (key === "[" || key === "ArrowLeft") session.move(-1);
    else if (key === "]" || key === "ArrowRight") session.move(1);
    else if (key === "ArrowUp") session.movePoint(-1);
    else if (key === "ArrowDown") session.movePoint(1);
    else if (key === "Enter") session.submit();
    else if (key === "Backspace") session.back();
    else session.opened(key);
  }

  // Whether what was pressed at this moment is for the pair that is shown. Once something is dropped, what
  // follows is half of it: that is for no pair either.
  isMeant(at) {
    const { session } = this;
    if (!this.isHeld && at >= this.seenAt) return true;
    this.hold();
    session.changed();
    session.say(session.pair ? _("Another pair is shown now: the key was not used.") : _("No pair is shown: the key was not used."));
    return false;
  }

  hold() {
    if (this.isHeld) return;
    this.isHeld = true;
    this.#wait();
  }

  // Another pair is shown, or none.
  turn() {
    this.seenAt = Infinity;
    const { form } = this.session;
    if (form) requestAnimationFrame(() => setTimeout(() => this.#see(form)));  // after the frame that shows it
    this.#wait();
  }

  // The page has gone out of sight, or come back.
  look() { this.#wait(); }

  #see(form) {
    if (this.session.form === form) this.seenAt = performance.now();
  }

  #wait() {
    clearTimeout(this.holding);
    if (!this.isHeld || !this.session.pair || document.hidden) return;
    this.holding = setTimeout(() => {
      this.isHeld = false;
      this.session.changed();
    }, timing.hold);
  }
}

// What had the focus is gone: what is next has it, the answer that had been opened, or the sentence in its place.
export const land = (root, { phase, training }, before) => {
  if (phase === training.phase) root.querySelector("[data-rate=training]").focus();
  else if (before === document.body || phase === "consent") return;  // a text to agree to takes the focus by itself
  else if (phase === "pair") root.querySelector("#rate-pair").focus({ preventScroll: true });
  else {
    root.querySelector("#rate-message").focus();
    const [id, isEarlier] = root.querySelector("#rate-pair").dataset.shown?.split(" ") ?? [];
    if (isEarlier && before.closest("#rate-work")) root.querySelector(`#rate-history[open] [data-id="${id}"]`)?.focus();
  }
};
