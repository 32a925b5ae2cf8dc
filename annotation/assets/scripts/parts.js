// Pieces that the scripts of several pages are made of.
import { _, language } from "../kpdemo/language.js";

// How long somebody could look at what is on the page: hidden pages stop it.
export class Stopwatch {
  #before;
  #since = null;

  constructor(seconds = 0) {
    this.#before = seconds;
    this.resume();
  }

  get #exact() { return this.#before + (this.#since === null ? 0 : (performance.now() - this.#since) / 1000); }
  get seconds() { return Math.round(this.#exact * 10) / 10; }
  resume() { if (!document.hidden) this.#since ??= performance.now(); }
  pause() { [this.#before, this.#since] = [this.#exact, null]; }
}

// A browser may keep nothing, as in a private window, or no more: what was to be kept is lost then, the page is not.
export class Storage {
  #name;

  constructor(name) { this.#name = name; }

  text(key) { try { return window[this.#name].getItem(key); } catch { return null; } }
  read(key) { try { return JSON.parse(this.text(key)); } catch { return null; } }
  write(key, value) { try { window[this.#name].setItem(key, JSON.stringify(value)); return true; } catch { return false; } }
  remove(key) { try { window[this.#name].removeItem(key); } catch { /* it was never there */ } }
  keys() { try { return Object.keys(window[this.#name]); } catch { return []; } }
}

export const time = (moment) => moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const PATIENCE = 20_000;
const KEEPALIVE_LIMIT = 50_000;  // browsers refuse more for a request that outlives its page

// What the server answers to the page that was made for this user. Status 0: nothing, or nothing of ours.
export const ask = async (user, method, path, body) => {
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    const response = await fetch(`/annotate/api/${path}`, {
      method,
      body: text,
      headers: { accept: "application/json", "accept-language": language(), "x-rater": user, ...(text && { "content-type": "application/json" }) },
      cache: "no-store",
      credentials: "same-origin",
      redirect: "manual",  // else a lost session looks like an answer: the sign-in page
      keepalive: text !== undefined && text.length < KEEPALIVE_LIMIT,
      signal: AbortSignal.timeout(PATIENCE),
    });
    if (response.type === "opaqueredirect") return { status: 401, body: {} };
    return { status: response.status, body: await response.json() };
  } catch {
    return { status: 0, body: {} };
  }
};

export const random = () => Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(36)).join("");

// Text goes in as text, never as markup; `properties` as `dir` or `className`.
export const element = (name, text = "", properties = {}) => Object.assign(document.createElement(name), { textContent: text, ...properties });

// What is as it was stays untouched: a screen reader would read it once more.
export const setText = (place, text) => { if (place.textContent !== text) place.textContent = text; };

// A notice that stays until it is closed, with a text that stands nowhere else; a screen reader reads it once.
export const notice = (sentence, text, ...buttons) => {
  const note = element("div", "", { className: "note" });
  note.setAttribute("role", "alert");
  note.append(element("p", sentence, { dir: "auto" }));
  if (text) note.append(element("blockquote", text, { dir: "auto" }));
  note.append(...buttons);
  return note;
};
export const button = (text) => element("button", text, { type: "button", className: "keep" });

// "Somewhat similar", or "between 2 Somewhat related but not similar and 3 Somewhat similar".
// A project's own name may run from right to left: the words around it keep their order.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const isolated = (name) => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name);
export const gradeWords = (grade, points, nameOf) => {
  const low = points.findLast((point) => point <= grade), high = points.find((point) => point >= grade);
  const numbered = (point) => `${point} ${isolated(nameOf(point))}`.trim();
  if (low === high) return nameOf(low);
  return nameOf(low) || nameOf(high) ? _("between {low} and {high}", { low: numbered(low), high: numbered(high) }) : "";
};

// The scale of a project: the page has whole numbers of its steps from 0, as the database, and the server grades.
export class Scale {
  constructor({ scaleStep, points }) {
    this.size = Number(scaleStep);
    this.points = JSON.parse(points);
    this.low = this.steps(this.points[0]);
    this.high = this.steps(this.points.at(-1));
  }

  steps(grade) { return Math.round(grade / this.size); }
  grade(steps) { return Number((steps * this.size).toFixed(6)); }
  within(steps) { return Math.min(this.high, Math.max(this.low, steps)); }
  // The point below (-1) or above (1) a grade, else the end; of none the lowest.
  pointBeside(steps, direction) {
    if (steps === null) return this.low;
    const points = this.points.map((point) => this.steps(point));
    const beside = direction < 0 ? points.findLast((point) => point < steps) : points.find((point) => point > steps);
    return beside ?? (direction < 0 ? this.low : this.high);
  }
  // The digit of a point; where points are farther apart than one, digits would not say which they mean.
  ofKey(key) {
    const isWhole = this.points[1] - this.points[0] === 1;
    return isWhole && /^[0-9]$/.test(key) && this.points.includes(Number(key)) ? this.steps(Number(key)) : null;
  }
  get ends() { return { lowest: this.points[0], highest: this.points.at(-1) }; }
}

// A table or code that is wider than its place scrolls there; only then keys have to reach it.
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
export const watchWidths = (place) => {
  for (const wide of place.querySelectorAll(".rate-guidelines :is(table, pre)")) widths.observe(wide);
};

// What a page asks by itself keeps the session: not for one that nobody looks at, or has used for an hour.
const LONGEST_UNUSED = 3_600_000;
let used = Date.now();
for (const kind of ["keydown", "pointerdown"]) document.addEventListener(kind, () => { used = Date.now(); }, true);
export const isInUse = () => !document.hidden && Date.now() - used <= LONGEST_UNUSED;

// A part that is drawn again keeps the folds open that were open.
let folds = [];
export const keepFolds = () => { folds = [...document.querySelectorAll("details[open][id]")].map(({ id }) => id); };
export const openFolds = () => {
  for (const id of folds) document.getElementById(id)?.setAttribute("open", "");
};
