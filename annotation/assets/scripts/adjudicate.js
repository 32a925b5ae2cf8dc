import { _, decimal } from "../kpdemo/language.js";
import { ask as askServer, gradeWords, isInUse, Scale, Storage } from "./parts.js";

const PATIENCE = 20_000, BETWEEN_LOOKS = 10_000;
const by = (id) => document.getElementById(id);
const form = () => by("adjudicate-form");
const view = () => document.querySelector("#adjudicate-item [data-drawn]"); // the form, or a pair without one
let grade = null; // in steps of the scale
let scale = null; // of the project
let waiting = 0; // a timer while an answer is due
let askedAt = ""; // the drawing that the answer that is due replaces
let keeps = false; // whether the answer that is due leaves the pair as it is
let filters = false; // whether it is to one who chooses a part or a type, and may choose another
let later = null; // where to go once the answer that is due has come
const sent = []; // the draft of each decision that was sent: a later one of the pair is another
let shownData = null; // of the pair as it was drawn last; Gradio changes it in place

// Drafts outlive an error, a reload and a lost sign-in; the tab keeps them, not the server.
const draftName = (data) => `kpdemo-adjudicate:${data.user}:${data.project}:${data.pair}`;
const drafts = new Storage("sessionStorage");
const options = new Storage("localStorage");
const keysOn = () => options.read("kpdemo-adjudicate-keys") ?? true;

const cause = () => form()?.querySelector("input[name=adjudicate-cause]:checked")?.value ?? "";
const number = (steps) => String(scale.grade(steps)); // as the server reads it
const pointName = (point) => form().querySelector(`#adjudicate-scale [data-quarters="${scale.steps(point)}"] b`).textContent;

const paint = () => {
  const chosen = grade !== null, points = form().querySelectorAll("#adjudicate-scale button");
  const values = scale.points.map((point) => scale.steps(point)), width = values[1] - values[0];
  const near = chosen ? values.toSorted((a, b) => Math.abs(a - grade) - Math.abs(b - grade))[0] : scale.low;
  for (const point of points) {
    const value = Number(point.dataset.quarters);
    point.setAttribute("aria-checked", String(chosen && value === grade));
    point.classList.toggle("rate-near", chosen && value !== grade && Math.abs(value - grade) < width);
    point.tabIndex = value === near ? 0 : -1;
  }
  by("adjudicate-value").querySelector("b").textContent = chosen ? decimal(scale.grade(grade)) : "";
  by("adjudicate-value").querySelector("span").textContent = chosen ? gradeWords(scale.grade(grade), scale.points, pointName) : _("No grade chosen yet");
  const mark = by("adjudicate-mark");
  if (by("adjudicate-said")?.dataset.kind === "missing") say("", "note");
  mark.hidden = !chosen;
  if (chosen) mark.style.setProperty("--at", String((grade - scale.low) / (scale.high - scale.low)));
  by("adjudicate-save").disabled = !chosen || !cause() || waiting !== 0;
  by("adjudicate-note").readOnly = waiting !== 0; // what is typed now would go with the form
};

const keepDraft = () => {
  const data = form().dataset;
  const draft = { quarters: grade, cause: cause(), note: by("adjudicate-note").value };
  const settled = { quarters: data.quarters === "" ? null : Number(data.quarters), cause: data.cause, note: by("adjudicate-note").defaultValue };
  const same = JSON.stringify(draft) === JSON.stringify(settled);
  if (same) drafts.remove(draftName(data));
  else drafts.write(draftName(data), draft);
  by("adjudicate-draft").hidden = same;
};

const fill = (quarters, why, note) => {
  grade = quarters;
  for (const radio of form().querySelectorAll("input[name=adjudicate-cause]")) radio.checked = radio.value === why;
  by("adjudicate-note").value = note;
};

const settle = () => {
  const data = form().dataset;
  fill(data.quarters === "" ? null : Number(data.quarters), data.cause, by("adjudicate-note").defaultValue);
};

const shownForm = (data) => {
  scale = new Scale(form().dataset);
  const draft = drafts.read(draftName(data));
  settle();
  if (draft) fill(draft.quarters, draft.cause, draft.note);
  by("adjudicate-draft").hidden = !draft;
  by("adjudicate-keys").checked = keysOn();
  paint();
};

// Called when a pair is on the page for the first time.
const shown = () => {
  shownData = view() ? { ...view().dataset } : null;
  if (!shownData) return;
  if (form()) shownForm(shownData);
  for (const part of document.querySelectorAll("#adjudicate-guidelines [data-type]")) part.hidden = part.dataset.type !== shownData.type;
  const address = new URL(location.href);
  address.searchParams.set("pair", shownData.pair);
  history.replaceState(history.state, "", address);
  document.querySelector(".adj-queue [aria-current]")?.scrollIntoView({ block: "nearest" });
};

const say = (text, kind) => {
  const said = by("adjudicate-said");
  Object.assign(said, { className: text ? "note" : "adj-said", textContent: text });
  said.dataset.kind = kind;
};

// Others grade and decide meanwhile: a note says so, and the queue stays as it is until it is refreshed.
const queueOf = () => document.querySelector(".adj-queue");
const tellNews = (text) => {
  const [said, button] = by("adjudicate-news").children;
  if (said.textContent !== text) said.textContent = text; // else it would be read out again
  button.hidden = !text;
};
const look = async () => {
  const queue = queueOf(), { user } = document.querySelector("header.site")?.dataset ?? {};
  const project = new URLSearchParams(location.search).get("project");
  if (!queue || waiting || !isInUse()) return;
  const path = `projects/${project}/adjudication?type=${encodeURIComponent(queue.dataset.type)}`;
  const { status, body } = await askServer(user, "GET", path);
  if (status !== 200 || waiting || queue !== queueOf()) return; // signed out, or drawn again: the next press tells
  const parts = [...queue.querySelectorAll("[data-count]")];
  if (parts.every(({ dataset }) => body[dataset.part] === Number(dataset.count))) { tellNews(""); return; }
  const [open, decided] = [body.open, body.decided].map((count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
  tellNews(_("Now {open} open, {decided} decided.", { open, decided }));
};
setInterval(look, BETWEEN_LOOKS);

const rest = () => { clearTimeout(waiting); waiting = 0; if (form()) paint(); };

const ask = (what, more = {}) => {
  if (waiting) {
    if (what === "show") later = more;
    return;
  }
  const queue = queueOf()?.dataset ?? {};
  keeps = Boolean(more.keeps);
  filters = "which" in more || "type" in more;
  const asked = { what, which: queue.which, type: queue.type, shown: queue.shown, ...more };
  if (what !== "show") {
    const name = draftName(form().dataset);
    asked.sent = String(sent.push({ name, draft: JSON.stringify(drafts.read(name)) }));
  }
  askedAt = view()?.dataset.drawn;
  waiting = setTimeout(() => {
    later = null;
    rest();
    say(_("The server did not answer, so this may not have been saved: check the connection and try again. What you chose and wrote is kept."), "problem");
  }, PATIENCE);
  if (form()) paint();
  document.querySelector("#adjudicate-said").dispatchEvent(new CustomEvent("adjudicate", { bubbles: true, detail: asked }));
};

// Whether the answer that is due draws another form; once one is drawn, its draft keeps what is chosen there.
const isReplaced = () => waiting !== 0 && view()?.dataset.drawn === askedAt;
const take = (quarters) => {
  if (isReplaced()) return;
  const step = Number(form().dataset.step);
  grade = scale.within(Math.round(quarters / step) * step);
  paint();
  keepDraft();
};
const move = (direction) => take(grade === null ? (direction > 0 ? scale.low : scale.high) : grade + direction * Number(form().dataset.step));
// The arrows of the scale, as on the rating page: a step, or to the point below or above.
const moveOnScale = (key) => {
  if (grade === null) take(scale.low);
  else if (key === "ArrowLeft" || key === "ArrowRight") move(key === "ArrowLeft" ? -1 : 1);
  else take(scale.pointBeside(grade, key === "ArrowUp" ? -1 : 1));
  form().querySelector("#adjudicate-scale [tabindex='0']").focus();
};
const decision = () => {
  const data = form().dataset;
  return { pair: data.pair, version: data.version, grade: grade === null ? "" : number(grade), cause: cause(), note: by("adjudicate-note").value };
};
// The button is off while something is missing; the key says what it is.
const saveByKey = () => {
  const missing = grade === null ? "grade" : !cause() ? "cause" : "";
  if (!missing) { ask("save", decision()); return; }
  say(missing === "grade" ? _("Choose a grade first.") : _("Choose a cause first."), "missing");
  const first = missing === "grade" ? "#adjudicate-scale [tabindex='0']" : "input[name=adjudicate-cause]";
  form().querySelector(first).focus();
};
// The queue as it is now; a pair that somebody may be deciding on stays as it is, and what others did to it is told on saving.
const refresh = () => {
  if (waiting) return; // what is due has the queue as it is now
  if (!view()) { ask("show"); return; }
  by("adjudicate-heading").focus({ preventScroll: true }); // the button goes
  tellNews("");
  ask("show", { pair: view().dataset.pair, keeps: "pair" });
};
const causeOf = (key) => form()?.querySelector(`input[name=adjudicate-cause][aria-keyshortcuts="${CSS.escape(key.toUpperCase())}"]`);
const chooseCause = (radio) => { if (!isReplaced()) { radio.checked = true; keepDraft(); paint(); } };
const go = (pair) => { if (pair) ask("show", { pair }); };

const act = (button) => {
  const data = button.dataset;
  switch (data.adjudicate) {
    case "part": ask("show", { which: data.part, shown: "" }); break;
    case "more": ask("show", { pair: view()?.dataset.pair ?? "", shown: String(Number(queueOf().dataset.shown) + 200) }); break;
    case "refresh": refresh(); break;
    case "pair": go(data.pair); break;
    case "choose": case "dot": take(Number(data.quarters)); break;
    case "down": move(-1); break;
    case "up": move(1); break;
    case "withdraw": ask("withdraw", { pair: form().dataset.pair, version: form().dataset.version }); break;
    case "save": ask("save", decision()); break;
    case "discard": drafts.remove(draftName(form().dataset)); settle(); by("adjudicate-draft").hidden = true; paint(); by("adjudicate-note").focus(); break;
  }
};

document.addEventListener("click", (event) => {
  if (isReplaced() && event.target.name === "adjudicate-cause") event.preventDefault(); // disabled, it would lose the focus
  const button = event.target.closest?.("button[data-adjudicate]");
  drawn();
  if (button && !button.disabled) act(button);
});
document.addEventListener("input", (event) => {
  if (event.target.id === "adjudicate-note" || event.target.name === "adjudicate-cause") { keepDraft(); paint(); }
});
document.addEventListener("change", (event) => {
  if (event.target.id === "adjudicate-type") ask("show", { type: event.target.value, shown: "" });
  if (event.target.id === "adjudicate-keys") options.write("kpdemo-adjudicate-keys", event.target.checked);
});

const writing = (target) => target.closest?.("textarea, select, input:not([type=radio], [type=checkbox]), [contenteditable=true]");
document.addEventListener("keydown", (event) => {
  drawn();
  if (!view() || event.isComposing) return;
  const isOn = by("adjudicate-keys")?.checked ?? keysOn();
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key === "Enter") {
    if (!isOn || !form()) return;
    event.preventDefault();
    if (!event.repeat && !waiting) saveByKey();
    return;
  }
  const isComposedKey = event.getModifierState("AltGraph"); // [ and ] on many keyboards
  if (event.metaKey || ((event.ctrlKey || event.altKey) && !isComposedKey) || writing(event.target)) return;
  if (event.target.closest?.("#adjudicate-scale") && /^Arrow(Left|Right|Up|Down)$/.test(event.key)) {
    event.preventDefault(); // a radio group has these, keys on or off
    moveOnScale(event.key);
    return;
  }
  if (!isOn) return;
  if (form() && scale.ofKey(event.key) !== null) take(scale.ofKey(event.key));
  else if (form() && event.key === "[") move(-1);
  else if (form() && event.key === "]") move(1);
  else if (event.repeat) return;
  else if (causeOf(event.key)) chooseCause(causeOf(event.key));
  else if (event.key.toLowerCase() === "n") go(by("adjudicate-next").dataset.pair);
  else if (event.key.toLowerCase() === "p") go(by("adjudicate-previous").dataset.pair);
  else return;
  event.preventDefault();
});

let comes = false; // the next pair was asked for here, and takes the focus
const drawn = () => {
  if (view()?.dataset.drawn === shownData?.drawn) return;
  shown();
  if (comes) by("adjudicate-heading")?.focus({ preventScroll: true });
  if (comes) by("adjudicate-heading")?.scrollIntoView({ block: innerWidth <= 700 ? "start" : "nearest" });
  comes = false;
};
drawn();
new MutationObserver(drawn).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["data-drawn"] });
document.addEventListener("kpdemo-refused", () => {
  later = null;
  rest();
});
document.addEventListener("adjudicate-answer", () => {
  const said = by("adjudicate-said"), old = shownData, isLate = waiting === 0;
  const isProblem = said?.dataset.kind === "problem";
  const saved = sent[said?.dataset.saved - 1];
  if (saved && JSON.stringify(drafts.read(saved.name)) === saved.draft) drafts.remove(saved.name);
  // Nobody waits any more for an answer that is late: who goes on with a pair is led back to it.
  if (isLate && old && drafts.read(draftName(old))) later = { pair: old.pair };
  comes = !isLate && !isProblem && !keeps && !filters;
  rest();
  drawn();
  const then = isProblem ? null : later;
  later = null;
  if (then) ask("show", then);
});
