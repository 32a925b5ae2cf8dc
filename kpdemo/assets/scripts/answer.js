// The answer on the public page: whether it is still that of text and options, what the browser keeps of it, and the
// marked text as a file or on paper.
import { _, language } from "./language.js";

const KEPT = "kpdemo-answer";
const VERSION = `${import.meta.url} ${language()}`;  // of another version, an answer may look wrong
const LONG = 20_000;  // characters; longer texts are not read again by themselves
const PATIENCE = 400;
const place = () => document.querySelector("#predict-page");
const isThere = () => Boolean(document.querySelector("#predict-record"));
let read = null;  // the text of the answer
let asked = "";  // and its options
let byItself = false;
let waiting = 0;

// An empty field is null until somebody typed there.
const written = (options) => JSON.stringify(options.map((value) => value || ""));
const isOld = (old) => { place()?.toggleAttribute("data-old", old); };

// Called with all that was asked, and the answer in two parts.
export const arrive = (...shown) => {
  read = shown[0];
  asked = written(shown.slice(1, -2));
  isOld(false);
  try {
    sessionStorage.removeItem(KEPT);
    sessionStorage.setItem(KEPT, JSON.stringify([VERSION, ...shown]));
  } catch { /* a text that is too long for the store, or a browser that has none */ }
  if (byItself) { byItself = false; return; }
  const top = document.querySelector("#predict-result")?.getBoundingClientRect().top ?? 0;
  if (top < 0 || top > innerHeight / 2) document.querySelector("#predict-heading").scrollIntoView();
};

// What stood in options and answer before the page was loaded again; the text comes back by itself.
export const restore = (places) => {
  let kept = [];
  try { kept = JSON.parse(sessionStorage.getItem(KEPT)) ?? []; } catch { /* a browser that has no store */ }
  const [version, text, ...others] = kept;
  if (version !== VERSION || others.length !== places) return Array(places).fill({ __type__: "update" });
  read = text;
  asked = written(others.slice(0, -2));
  setTimeout(outdate);
  return others;
};

export const outdate = () => {
  const text = document.querySelector("#predict-document textarea")?.value ?? "";
  isOld(isThere() && read !== null && text !== read);
};

// Other options choose from what was ranked for the text, or read it again; of a long text that is read again, or has
// changed, the answer is marked as old.
export const apply = (reading, ...options) => {
  if (!isThere()) return;
  clearTimeout(waiting);
  const refused = document.querySelector("#predict-result .refusal");
  if (written(options) === asked && !refused) { outdate(); return; }
  isOld(true);
  if (read === null) return;
  const text = document.querySelector("#predict-document textarea")?.value ?? "";
  const before = asked ? JSON.parse(asked) : [];
  const isChosen = text === read && "ranked" in document.querySelector("#predict-record").dataset
    && reading.every((place) => (options[place] || "") === before[place]);
  if (!isChosen && Math.max(text.length, read.length) >= LONG) return;
  waiting = setTimeout(() => {
    byItself = true;
    document.querySelector("#predict-run").click();
  }, PATIENCE);
};

const LOOK = `body { font: 16px/1.6 system-ui, sans-serif; max-width: 72ch; margin: 24px auto; padding: 0 16px; }
.text { white-space: pre-wrap; unicode-bidi: plaintext; overflow-wrap: anywhere; line-height: 1.9; }
mark { color: inherit; background: #d6ecf9; border-bottom: 2px solid #0072b2; box-decoration-break: clone; print-color-adjust: exact; }
.kp-2 { border-color: #d55e00; padding-bottom: 4px; } .kp-3 { border-color: #009e73; padding-bottom: 8px; }
.kp-4 { border-color: #cc79a7; padding-bottom: 12px; } .filler { background: none; border-bottom-style: dotted; }
.left-out { color: #475569; }`;

// The keyphrases and the marked text as a page of its own.
const exported = () => {
  const page = document.implementation.createHTMLDocument(_("Keyphrases"));
  page.documentElement.lang = document.querySelector("#predict-text").lang || "en";
  const style = page.createElement("style");
  style.textContent = LOOK;
  const encoding = page.createElement("meta");
  encoding.setAttribute("charset", "utf-8");
  page.head.prepend(encoding);
  page.head.append(style);
  const list = page.createElement("ol");
  for (const row of document.querySelectorAll(".phrases:not(details *) > li > .phrase-row")) {
    const item = page.createElement("li");
    item.dir = "auto";
    item.textContent = `${row.querySelector(".phrase").textContent} · ${row.querySelector(".score").textContent}`;
    list.append(item);
  }
  const text = page.createElement("div");
  text.className = "text";
  text.dir = "auto";
  text.innerHTML = document.querySelector("#predict-text").innerHTML;
  for (const folded of text.querySelectorAll("details")) folded.open = true;
  const heading = page.createElement("h1");
  heading.textContent = _("Keyphrases");
  page.body.append(heading, list, text);
  return new Blob([`<!doctype html>${page.documentElement.outerHTML}`], { type: "text/html;charset=utf-8" });
};

const save = (address) => {
  const link = document.createElement("a");
  link.href = address;
  link.download = "keyphrases.html";
  link.click();
};

const print = (address) => {
  const sheet = open(address);
  sheet?.addEventListener("load", () => sheet.print());
};

document.addEventListener("click", (event) => {
  const inMenu = event.target.closest?.(".menu");
  const pressed = event.target.closest?.(".menu button");
  for (const menu of document.querySelectorAll(".menu[open]")) {
    if (menu !== inMenu) menu.open = false;
    else if (pressed) setTimeout(() => { menu.open = false; }, "copy" in pressed.dataset ? 800 : 0);  // it says "Copied"
  }
  const button = event.target.closest?.("button[data-export]");
  if (!button) return;
  const address = URL.createObjectURL(exported());
  (button.dataset.export === "save" ? save : print)(address);
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
});
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const menu of document.querySelectorAll(".menu[open]")) {
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
});
