// Puts what the session holds into the form. Texts of pairs go in as text, never as markup.
import { showConsent } from "../consent.js";
import { _, decimal, ngettext } from "../../kpdemo/language.js";
import { button, element, gradeWords, notice, setText, time } from "../parts.js";
import { showTraining, trainingMessage } from "./training.js";

const AT_ONCE = 8000;
const REST_AFTER = 50;
const MESSAGES = {
  loading: () => _("Loading the next pair. Keys do nothing until it is shown."),
  dry: () => _("The next pair is on its way. Keys do nothing until it is shown."),
  waiting: () => _("Nothing to grade at the moment: other raters have the remaining pairs, and some may come back. "
    + "This page checks again every 20 seconds."),
  done: ({ rated }) => (rated
    ? `${ngettext("You have graded {count} pair, and none is left for you: any others are for other raters.",
      "You have graded {count} pairs, and none is left for you: any others are for other raters.", rated)} `
      + _("Thank you: all of it is saved. Your last answers are below.")
    : _("There are no pairs for you to grade: others have graded them, or none were imported yet. Ask the project's administrator.")),
  share: ({ rated }) => ngettext("Thank you: you have graded your share, {count} pair. All of it is saved.",
    "Thank you: you have graded your share, {count} pairs. All of it is saved.", rated),
  problem: (session) => session.problem,
  resting: ({ isReturned }) => (isReturned === null
    ? _("Saving your answers and giving back the pairs that you had open.")
    : `${_("You have stopped.")} ${isReturned ? _("All your answers are saved, and the pairs that you had open are free for other raters.") : ""}`),
  consent: () => "",
  guidelines: ({ training }) => _("Please read the guidelines below first.")
    + (training.isOn ? ` ${trainingMessage.begin(training.progress)}` : ""),
  failed: ({ training }) => trainingMessage.failed(training.progress),
  passed: ({ training }) => trainingMessage.passed(training.progress),
};

// What a rater can still have gets fewer as others grade: it stands beside what they did, never as "2 of 11".
const countOf = ({ rated, progress, training }) => {
  const total = progress?.total ?? 0;
  if (!total) return "";
  if (training.isOn) return _("{rated} of {total}", { rated, total });
  return total > rated ? _("{rated} graded, up to {left} left", { rated, left: total - rated }) : _("{rated} graded", { rated });
};

const held = () => _("Another pair: read it first, you can grade it in a moment.");

const pointName = (root, value) => root.querySelector(`#rate-scale [data-value="${value}"] b`).textContent;

// The grade and what it is called.
const numberAndWords = (root, steps, scale) => {
  if (steps === null) return ["", _("No grade yet: choose {lowest} to {highest}.", scale.ends)];
  const grade = scale.grade(steps);
  return [decimal(grade), gradeWords(grade, scale.points, (point) => pointName(root, point))];
};

// The points in the words of the pair's type.
const showWords = (root, type) => {
  const words = JSON.parse(root.querySelector("#rate-scale").dataset.words);
  const buttons = root.querySelectorAll("#rate-scale [data-value]"), named = [];
  for (const [at, texts] of (words[type] ?? words[""]).entries()) {
    [...buttons[at].querySelectorAll("[dir]")].forEach((place, which) => setText(place, texts[which]));
    if (texts[0]) named.push(`${buttons[at].dataset.value}\u00a0${texts[0]}`);
  }
  const legend = root.querySelector("#rate-names");
  if (legend) setText(legend, named.join(" · "));
};

const keptWords = (count, isSafe) => (isSafe
  ? ngettext("{count} answer kept in this browser.", "{count} answers kept in this browser.", count)
  : ngettext("{count} answer kept only while this page is open.", "{count} answers kept only while this page is open.", count));

const showSaved = (root, sender) => {
  const count = new Set(sender.outbox.map((entry) => entry.pair)).size;
  const isSafe = sender.store.isSafe;
  const words = {
    idle: "",
    saving: _("Saving…"),
    saved: sender.savedAt ? _("Saved {time}", { time: time(sender.savedAt) }) : "",
    trying: `${_("Not saved: trying again.")} ${keptWords(count, isSafe)}`,
    held: _("Not sent: {answers}", { answers: keptWords(count, isSafe) }),
    unreachable: _("No connection: trying again."),
  };
  const place = root.querySelector("#rate-saved");
  place.dataset.state = sender.state();
  setText(place, words[sender.state()]);
};

const showScale = (root, session) => {
  const { grade } = session.form;
  const { scale } = session, given = grade === null ? null : scale.grade(grade);
  const low = given === null ? scale.points[0] : scale.points.findLast((point) => point <= given);
  const width = scale.points[1] - scale.points[0];
  for (const button of root.querySelectorAll("#rate-scale [role=radio]")) {
    const value = Number(button.dataset.value);
    const distance = given === null ? width : Math.abs(value - given);
    button.setAttribute("aria-checked", String(distance === 0));
    button.classList.toggle("rate-near", distance > 0 && distance < width);
    button.tabIndex = value === low ? 0 : -1;
    button.disabled = session.isLocked;
  }
  const [number, words] = session.keys.isHeld && grade === null ? ["", held()] : numberAndWords(root, grade, scale);
  setText(root.querySelector("#rate-value b"), number);
  setText(root.querySelector("#rate-value span"), words);
  const steps = { up: scale.high, down: scale.low };
  for (const [action, end] of Object.entries(steps)) {
    root.querySelector(`[data-rate=${action}]`).disabled = session.isLocked || grade === null || grade === end;
  }
  const submit = root.querySelector("#rate-submit");
  const { feedback, isOn } = session.training;
  submit.disabled = !feedback && (grade === null || session.isLocked);
  const next = isOn ? _("Submit") : _("Submit and next");
  setText(submit.querySelector("span"), feedback ? _("Go on") : session.earlier ? _("Save this answer") : next);
};

const earlierWords = ({ earlier, isReadOnly, problem, ready }) => {
  if (isReadOnly) return `${_("This is an earlier answer.")} ${problem || _("In this project, grades cannot be changed.")}`;
  if (earlier.grade === null) {
    return ready.length
      ? _("You skipped this pair: you can grade it as long as nobody else has it, or go on with the current pair.")
      : _("You skipped this pair: you can grade it as long as nobody else has it, or close it.");
  }
  return ready.length
    ? _("This is an earlier answer: choose another grade and save it, or go on with the current pair.")
    : _("This is an earlier answer: choose another grade and save it, or close it.");
};

const showEarlier = (root, session) => {
  const note = root.querySelector("#rate-earlier");
  note.hidden = !session.earlier;
  if (session.earlier) setText(note.querySelector("span"), earlierWords(session));
  setText(note.querySelector("button span"), session.ready.length ? _("To the current pair") : _("Close"));
  root.querySelector("[data-rate=skip]").disabled = Boolean(session.earlier);
};

// Whether the comment is unfolded is the reader's choice, but one that is there is shown.
const showComment = (root, session, isNewPair) => {
  const { comment, isFlagged, isCommentNew } = session.form;
  const panel = root.querySelector("#rate-comment");
  const text = root.querySelector("#rate-comment-text");
  if (isNewPair && !panel.contains(document.activeElement)) panel.hidden = !comment && !isFlagged;
  if (text.value !== comment) text.value = comment;
  root.querySelector("#rate-flag").checked = isFlagged;
  root.querySelector("[data-rate=keep-comment]").disabled = !isCommentNew;
  const isKept = !isCommentNew && (comment || isFlagged);
  const isSent = !session.sender.outbox.some((entry) => entry.kind === "comment" && entry.pair === session.form.pair.id);
  setText(root.querySelector("#rate-comment-saved"), isKept ? (isSent ? _("Saved") : _("Saving…")) : "");
  setText(root.querySelector("#rate-comment-folded"), panel.hidden && isCommentNew ? _(": not saved yet") : "");
  root.querySelector("[data-rate=comment]").setAttribute("aria-expanded", String(!panel.hidden));
};

// Laying out a long text takes a while: its beginning is there at once, the rest a moment later.
const showText = (box, text) => {
  box.scrollTop = 0;
  box.textContent = text.slice(0, AT_ONCE);
  if (text.length <= AT_ONCE) return;
  const beginning = box.firstChild;
  setTimeout(() => {
    if (beginning.parentNode === box) beginning.appendData(text.slice(AT_ONCE));
  }, REST_AFTER);
};

// Definition and neighbours of a word or a sense, under it.
const meaningOf = ({ note, definition, groups }) => {
  const all = element("div", "", { className: "sense-more" });
  if (note) all.append(element("p", note, { className: "sense-note" }));
  if (definition) all.append(element("p", definition, { className: "sense-definition", dir: "auto" }));
  for (const { title, texts, more } of groups) {
    const list = element("ul");
    for (const text of texts) {
      const item = element("li", "", { dir: "auto" });
      item.append(element("b", text.words), ` ${text.definition}`);
      list.append(item);
    }
    if (more) list.append(element("li", _("and {more} more", { more })));
    const group = element("details", "", { open: true });
    group.append(element("summary", title), list);
    all.append(group);
  }
  return all;
};

const showPair = (root, session) => {
  const { pair } = session;
  const pairElement = root.querySelector("#rate-pair");
  const shown = `${pair.id}${session.earlier ? " earlier" : ""}`;
  const isNewPair = pairElement.dataset.shown !== shown;
  if (isNewPair) {
    pairElement.dataset.shown = shown;
    setText(root.querySelector("#rate-type"), pair.type_label);
    const own = JSON.parse(root.dataset.items ?? "{}")[pair.type];
    setText(root.querySelector("#rate-larger"), own?.larger ?? pair.larger_label);
    setText(root.querySelector("#rate-smaller"), own?.smaller ?? pair.smaller_label);
    setText(root.querySelector("#rate-question"), own?.question ?? pair.question);
    showWords(root, pair.type);
    for (const side of ["left", "right"]) {
      const box = root.querySelector(`#rate-${side}`);
      showText(box, pair[side]);
      if (pair[`${side}_meaning`]) box.append(meaningOf(pair[`${side}_meaning`]));
    }
    pairElement.setAttribute("aria-label", _("Pair, {type}", { type: pair.type_label }));
    for (const part of root.querySelectorAll("#rate-guidelines [data-type]")) part.hidden = part.dataset.type !== pair.type;
  }
  showEarlier(root, session);
  showScale(root, session);
  showComment(root, session, isNewPair);
  return isNewPair;
};

const actionButton = (text, action, id) => {
  const made = button(text);
  Object.assign(made.dataset, { rate: action, id });
  return made;
};

// Only notices that came or went are touched: a screen reader reads each once.
const showNotices = (root, session) => {
  const list = root.querySelector("#rate-notices");
  const wanted = new Set(session.notices.map(({ id }) => id));
  for (const note of [...list.children]) if (!wanted.has(note.dataset.id)) note.remove();
  const there = new Set([...list.children].map((note) => note.dataset.id));
  for (const { id, text, copy } of session.notices.filter((one) => !there.has(one.id))) {
    const buttons = [actionButton(_("Close"), "dismiss", id)];
    if (copy) {
      buttons.unshift(actionButton(_("Copy the comment"), "copy", id));
      Object.assign(buttons[0].dataset, { copy: "", content: copy });
    }
    const note = notice(text, copy, ...buttons);
    note.dataset.id = id;
    list.append(note);
  }
};

const showUndo = (root, session) => {
  const line = root.querySelector("#rate-undo");
  const { last } = session;
  const isOn = Boolean(last) && Date.now() < last.until && (session.mayRevise || last.pair.grade === null);
  line.classList.toggle("rate-off", !isOn);  // keeps its room, so that nothing jumps
  line.querySelector("button").disabled = !isOn;
  if (isOn) setText(line.querySelector("span"), last.said);
};

const showHistory = (root, session) => {
  const panel = root.querySelector("#rate-history");
  setText(root.querySelector("#rate-history-rule"), session.problem
    ? _("Open one to look at it.")
    : session.mayRevise
      ? _("Open one to look at it or to change it. Every change is kept.")
      : _("In this project, grades cannot be changed: open one to look at it."));
  const list = panel.querySelector("ol");
  const state = JSON.stringify([session.history === null, session.recent.map((pair) => [pair.id, pair.grade, pair.rated_at])]);
  if (!panel.open || list.dataset.state === state) return;
  list.dataset.state = state;
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.id : "";
  list.replaceChildren(...session.recent.map((pair) => {
    const item = element("li");
    const open = actionButton("", "open", pair.id);
    const [left, right] = [pair.left, pair.right].map((text) => element("span", text.slice(0, 120), { dir: "auto" }));
    open.append(element("b", pair.grade === null ? _("skipped") : decimal(pair.grade)), " ", left, " / ", right);
    item.append(open);
    return item;
  }));
  if (focused) list.querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
  if (!session.recent.length) list.textContent = session.history ? _("No answers yet.") : _("Your answers are on their way.");
};

// A rater who is done looks at the answers, not at the guidelines: they come first then, unfolded.
const placeHistory = (root, isDone) => {
  const panel = root.querySelector("#rate-history");
  const guidelines = root.querySelector("#rate-guidelines");
  if (isDone === (panel.nextElementSibling === guidelines)) return;
  // The guidelines move, since what moves loses the focus, and an answer may have it.
  if (isDone) panel.after(guidelines);
  else panel.before(guidelines);
  if (isDone) panel.open = true;
};

// What happens next, for who is done: whether to come back, whom to ask, and the code for the platform.
const nextOf = ({ phase, mayRevise, recent, completion, training }) => {
  const isScreenedOut = phase === "failed" && training.progress.tries_left === 0;
  if (!["done", "share", "resting"].includes(phase) && !isScreenedOut) return "";
  const comeBack = phase === "resting"
    ? _("You can come back at any time, by the link that you came by or by signing in, and go on where you were.")
    : !isScreenedOut && mayRevise && recent.length ? _("You can come back to look at your answers and change them.") : "";
  const ask = completion?.contact ? _("Questions? Ask {contact}.", completion) : _("Questions? Ask the person who invited you.");
  return `${comeBack} ${ask}`.trim();
};

const showEnd = (root, session) => {
  const next = nextOf(session);
  const { code, address } = next && !session.isResting ? session.completion ?? {} : {};
  setText(root.querySelector("#rate-next"), next);
  const place = root.querySelector("#rate-code");
  place.hidden = !code;
  setText(place.querySelector("code"), code ?? "");
  place.querySelector("button").dataset.content = code ?? "";
  const link = root.querySelector("#rate-return");
  link.hidden = !address;
  if (address) link.href = address;
  else link.removeAttribute("href");
};

const workOf = ({ ready, sender, isResting }) => ({ hasBegun: ready.length + sender.outbox.length > 0, isStopping: isResting });

// Show everything; whether another pair than before is shown.
export const render = (root, session) => {
  const { phase, progress } = session;
  const total = progress?.total ?? 0;
  root.dataset.phase = phase;
  setText(root.querySelector("#rate-count"), countOf(session));
  root.querySelector(".rate-done").hidden = !total;
  root.querySelector("#rate-type").hidden = phase !== "pair";
  Object.assign(root.querySelector("#rate-progress"), { value: session.rated, max: Math.max(1, total) });
  root.querySelector("#rate-work").hidden = phase !== "pair";
  const message = root.querySelector("#rate-message");
  message.hidden = phase === "pair";
  message.querySelector("a:not(#rate-return)").hidden = !["done", "share", "resting", "problem"].includes(phase);
  message.querySelector("[data-rate=resume]").hidden = phase !== "resting";
  if (phase !== "pair") setText(message.querySelector("span"), MESSAGES[phase](session));
  const isNewPair = phase === "pair" && showPair(root, session);
  showSaved(root, session.sender);
  showNotices(root, session);
  showUndo(root, session);
  const hasOnlyAnswers = (phase === "done" && total > 0) || (phase === "problem" && session.recent.length > 0);
  placeHistory(root, phase === "share" || hasOnlyAnswers);
  showHistory(root, session);
  root.querySelector("#rate-gate").hidden = phase !== "guidelines";
  if (phase === "guidelines") root.querySelector("#rate-guidelines").open = true;
  showTraining(root, session);
  showEnd(root, session);
  showConsent(root.querySelector("#rate-consent"), session.consent.asked, workOf(session), session.say);
  return isNewPair;
};
