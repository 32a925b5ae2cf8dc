// The sense chooser: gathers what is typed and chosen, and asks the server through the page's answer line.
import { _ } from "../kpdemo/language.js";
import { Stopwatch, Storage } from "./parts.js";

const PATIENCE = 20_000;
const by = (id) => document.getElementById(id);
const value = (id) => by(id)?.value ?? "";
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`)?.value ?? "";
let waiting = 0; // a timer while an answer is due
let due = ""; // what that answer is to
let sent = ""; // the draft that a pair is made of
let later = null; // what was asked last meanwhile
let shown = false; // whether a sense to compare with was asked for
let focusOn = ""; // what gets the focus once the answer is there
let timed = ""; // the task whose time is taken
let watch = new Stopwatch();

const say = (text, kind) => {
  const said = by("senses-said");
  Object.assign(said, { className: text ? "note" : "senses-said", textContent: text });
  said.dataset.kind = kind;
};
const isOwn = () => chosen("senses-meaning") === "own";
const meaning = () => (isOwn() ? chosen("senses-closest") : chosen("senses-meaning"));
const writing = () => by("senses-form")?.dataset.writing ?? "";
const gathered = () => ({
  word: value("senses-word"), part: value("senses-part"), grade: value("senses-grade"),
  definition: isOwn() ? value("senses-definition") : "", own: isOwn(), meaning: meaning(),
  writing: writing(), seconds: watch.seconds,
  key: value("senses-key") || document.querySelector(".senses-choice")?.dataset.key || "",
});

// What is typed outlives a reload; the tab keeps it, not the server. A definition is of the word it was typed for.
const drafts = new Storage("sessionStorage");
const OF_WORD = ["senses-definition", "senses-closest-word", "senses-blank-note"];
const TYPED = ["senses-word", "senses-part", "senses-grade", ...OF_WORD];
const draftName = () => {
  const { user } = document.querySelector("header.site")?.dataset ?? {};
  return `kpdemo-senses:${user}:${new URLSearchParams(location.search).get("project")}:${writing()}`;
};
const keepDraft = ({ target }) => {
  if (!TYPED.includes(target.id)) return;
  const word = value("senses-word"), draft = drafts.read(draftName()) ?? {};
  if (draft["senses-word"] !== word) for (const id of OF_WORD) delete draft[id];
  drafts.write(draftName(), { ...draft, "senses-word": word, [target.id]: target.value });
};
const fillDraft = () => {
  const draft = by("senses-form") && drafts.read(draftName());
  if (!draft) return;
  for (const id of TYPED) {
    const isOfOther = OF_WORD.includes(id) && draft["senses-word"] !== value("senses-word");
    if (draft[id] && !isOfOther && by(id) && !by(id).value) by(id).value = draft[id];
  }
  const own = document.querySelector("input[name=senses-meaning][value=own]");
  if (!own || chosen("senses-meaning") || !value("senses-definition")) return;
  own.checked = true;
  by("senses-own").hidden = false;
};
document.addEventListener("input", keepDraft);
document.addEventListener("change", keepDraft);

const rest = () => {
  clearTimeout(waiting);
  waiting = 0;
  by("senses-page").removeAttribute("aria-busy");
};
// What was pressed goes once the answer that is due has come, with what is chosen then; after what changes
// something, whose answer may be another word, it does not.
const CHANGES = ["make", "leave", "describe"];
const ask = (what, gather = () => ({}), focus = "") => {
  if (waiting && what !== "show") {
    if (!CHANGES.includes(due)) later = () => ask(what, gather, focus);
    return;
  }
  if (!waiting || !CHANGES.includes(due)) due = what;
  if (what === "make" || what === "leave") sent = draftName();
  clearTimeout(waiting);
  focusOn = focus;
  by("senses-page").setAttribute("aria-busy", "true");
  waiting = setTimeout(() => {
    forget();
    say(_("The server did not answer: check the connection and try again. What you chose and wrote is still here."), "problem");
  }, PATIENCE);
  by("senses-said").dispatchEvent(new CustomEvent("senses", { bubbles: true, detail: { what, ...gather() } }));
};
const show = (key) => {
  for (const radio of document.querySelectorAll("input[name=senses-near]")) radio.checked = radio.value === key;
  for (const dot of document.querySelectorAll(".senses-dot")) dot.classList.toggle("senses-on", dot.dataset.key === key);
  ask("show", () => ({ key }));
  shown = true;
};
// What was chosen from an earlier word does not belong to the next one.
const clear = (...ids) => { for (const id of ids) for (const part of by(id)?.querySelectorAll(".senses") ?? []) part.remove(); };
const lookAround = (filter = "", focus = "") => {
  if (meaning()) ask("around", () => ({ meaning: meaning(), filter }), focus);
  else later = null;
};
// A list comes after another meaning was ticked: nobody is to choose from it.
const dropOthers = () => {
  const list = document.querySelector("#senses-around [data-meaning]");
  if (list && meaning() && list.dataset.meaning !== meaning()) list.remove();
};

const look = () => { fillDraft(); dropOthers(); };
look();
timed = writing();
new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });
document.addEventListener("submit", (event) => {
  if (event.target.closest("#senses-blank") && event.submitter?.value === "blank") {
    ask("leave", () => ({ writing: writing(), note: value("senses-blank-note") }));
  }
  const asks = {
    "senses-form": () => ask("look_up", gathered),
    "senses-meanings-form": () => { if (isOwn()) ask("closest", () => ({ closest: value("senses-closest-word") })); },
    "senses-filter-form": () => lookAround(value("senses-filter"), "senses-filter"),
  };
  const asked = asks[event.target.id];
  if (!asked) return;
  event.preventDefault();
  asked();
});
document.addEventListener("change", (event) => {
  const { name } = event.target;
  if (name === "senses-meaning") {
    by("senses-own").hidden = !isOwn();
    clear("senses-around", "senses-choice");
    if (isOwn()) { later = null; by("senses-definition").focus(); }
    else { clear("senses-closest"); lookAround(); }
  } else if (name === "senses-closest") lookAround();
  else if (name === "senses-near") show(event.target.value);
});
document.addEventListener("click", (event) => {
  const dot = event.target.closest?.(".senses-dot");
  if (dot) show(dot.dataset.key);
  const { senses } = event.target.closest?.("[data-senses]")?.dataset ?? {};
  if (senses === "make") ask("make", gathered);
  if (senses === "leave") by("senses-blank").showModal();
  if (senses === "describe") ask("describe");
});
// As on the writing page, only while somebody can look at it.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) watch.pause();
  else watch.resume();
});
const forget = () => { later = null; rest(); };
document.addEventListener("kpdemo-refused", forget);
document.addEventListener("senses-answer", () => {
  rest();
  if (by("senses-said").dataset.kind === "saved" && CHANGES.includes(due)) drafts.remove(sent);
  if (timed && timed !== writing()) watch = new Stopwatch();
  timed = writing();
  if (shown) document.querySelector(".senses-choice")?.scrollIntoView({ block: "nearest" });
  shown = false;
  const field = focusOn && by(focusOn);
  focusOn = "";
  if (field) { field.focus(); field.setSelectionRange?.(field.value.length, field.value.length); }
  const then = by("senses-said").dataset.kind === "problem" ? null : later;
  later = null;
  then?.();
});
