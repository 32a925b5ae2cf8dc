// The writing page: one item at a time; what is typed is saved on the server half a second later.
import { _, speak } from "../../kpdemo/language.js";
import { signInAgain } from "../page.js";
import { ask as askServer, Stopwatch, watchWidths } from "../parts.js";
import { afterConsent, agreeTo, isConsentAsked, isHeld, takeConsent } from "./consent.js";
import { Copies } from "./copies.js";
import { notify, showCheck, showDesk, showField, showRecent, showSaved, showTask } from "./view.js";

const PAUSE = 500;
const LOOK_AGAIN = 20_000;
const LONGEST_PAUSE = 15_000;

let root = null;
let copies = null;
let task = null;
let field = null;
let check = null;
let version = 0;
let isDirty = false;
let isBusy = false; // submitting, or leaving the item blank
let running = null;
let timer = null;
let failures = 0;
let savedAt = null;
let confirmed = "";
let watch = null;

const find = (selector) => root.querySelector(selector);
const ask = (method, path, body) => askServer(root.dataset.user, method, path, body);
const content = () => ({ text: field.value, version, seconds: watch.seconds });
const isLong = () => field.value.length > Number(root.dataset.longest);

const keepCopy = () => copies.keep({ id: task.id, version, text: field.value });
const dropCopy = () => copies.drop();

const stateOf = () => {
  if (isHeld(isDirty)) return "held";
  if (isBusy) return failures ? "unsent" : "sending";
  if (isDirty) return isLong() ? "long" : failures ? "trying" : "saving";
  return savedAt ? "saved" : "idle";
};

const show = () => {
  const needsConfirming = Boolean(check?.warnings.length) && confirmed === field.value && !isDirty;
  showCheck(root, check, !field.value.trim(), needsConfirming);
  showSaved(root, stateOf(), savedAt);
  find("#write-submit").disabled = isBusy || !field.value.trim() || isLong();
  find("[data-write=blank]").disabled = isBusy;
  field.readOnly = isBusy;
};

const receive = (desk) => {
  clearTimeout(timer);
  const isAgreementDue = takeConsent(root, desk, task !== null);
  if (task) show();
  if (isAgreementDue) return;
  const isSame = desk.task && task?.id === desk.task.id;
  showDesk(root, desk);
  if (isSame && isDirty) save();
  else openTask(desk.task);
};

const openTask = (next) => {
  const unsaved = copies.take();
  if (next?.id !== task?.id) find("#write-blank-note").value = copies.reasonFor(next?.id);
  for (const copy of unsaved.filter(({ id, text }) => id !== next?.id && text.trim())) {
    notify(root, _("This text was not saved, and its item is no longer open here:"), copy.text);
  }
  task = next;
  isDirty = false;
  confirmed = "";
  if (!task) return;
  ({ version, check } = task);
  watch = new Stopwatch(task.seconds);
  showTask(root, task);
  field = showField(root, task, changed);
  field.value = task.text;
  for (const copy of unsaved.filter(({ id }) => id === task.id)) {
    if (copy.text === task.text || copy.text === field.value) continue;
    if (copy.version === version && !isDirty) {
      field.value = copy.text;
      changed();
    } else notify(root, _("This text was not saved, and another one has replaced it:"), copy.text);
  }
  savedAt = null;
  show();
};

const changed = () => {
  isDirty = true;
  confirmed = "";
  keepCopy();
  show();
  clearTimeout(timer);
  if (isLong()) check = { words: 0, sentences: 0, problem: _("The text has {length} characters: shorten it to {most}.", { length: field.value.length, most: root.dataset.longest }), warnings: [] };
  else timer = setTimeout(save, PAUSE);
  show();
};

// One request at a time; true once the server has what stands in the field.
const save = () => {
  running ??= saveOnce().finally(() => { running = null; });
  return running;
};

const saveOnce = async () => {
  while (isDirty && task && !isLong()) {
    const sent = content();
    const { id } = task;
    const { status, body } = await ask("PUT", `writings/${id}/draft`, sent);
    if (task?.id !== id) return false;
    if (status === 200) {
      failures = 0;
      version = body.version;
      savedAt = new Date(body.saved_at);
      check = body.check;
      isDirty = field.value !== sent.text;
      if (isDirty) keepCopy();
      else dropCopy();
      show();
      if (body.lost) {
        notify(root, body.lost, field.value);
        isDirty = false;
        dropCopy();
        await look();
        return false;
      }
    } else if (!(await refused(status, body))) return false;
  }
  return !isDirty;
};

// What was refused; true when it may be tried again.
const refused = async (status, body) => {
  if (status === 0 || status === 429 || status >= 500) {
    failures += 1;
    if (isDirty) keepCopy();  // this page still has it
    show();
    await new Promise((resolve) => { setTimeout(resolve, Math.min(LONGEST_PAUSE, 1000 * 2 ** failures)); });
    return true;
  }
  if (status === 401) {
    keepCopy();
    signInAgain();
    return false;
  }
  failures = 0;
  if (status === 428) {
    if (isDirty) keepCopy();
    await look();
    return false;
  }
  const mine = field.value;
  if (status === 412) {
    const found = await ask("GET", `writings/${task.id}`);
    if (found.status === 200) {
      notify(root, body.error, mine);
      dropCopy();
      openTask(found.body);
      return false;
    }
  }
  if (status === 422) {
    check = { words: check?.words ?? 0, sentences: check?.sentences ?? 0, problem: body.error, warnings: [] };
    isDirty = false;
    show();
    return false;
  }
  notify(root, body.error ?? _("The server answered {status}: tell your administrator.", { status }), mine);
  isDirty = false;
  dropCopy();
  await look();
  return false;
};

// Until `work` is done nothing can be typed or pressed: it would be for an item that is gone by then.
const whileBusy = async (work) => {
  if (isBusy) return;
  const { activeElement } = document;
  clearTimeout(timer);
  find("#write-recent ol").inert = isBusy = true;
  show();
  try {
    await work();
  } finally {
    find("#write-recent ol").inert = isBusy = false;
    if (task) show();
    else showSaved(root, "idle", null);
    if (document.activeElement === document.body) activeElement.focus();  // it was lost with the disabled button
  }
};

const submit = () => task && field.value.trim() && whileBusy(async () => {
  if (!(await save()) || !task) return;
  if (check?.warnings.length && confirmed !== field.value) {
    confirmed = field.value;
    return;
  }
  await send(`writings/${task.id}/submit`, content());
});

const leaveBlank = (note) => task && whileBusy(async () => {
  const { id } = task;
  await save();
  if (task?.id === id && !isConsentAsked()) await send(`writings/${id}/blank`, { note });
  afterConsent(() => { if (task?.id === id) leaveBlank(note); });
});

const land = () => (task ? field : find("#write-message")).focus({ preventScroll: task !== null });

const send = async (path, body) => {
  for (;;) {
    const answer = await ask("POST", path, body);
    if (answer.status === 200) {
      failures = 0;
      dropCopy();
      task = null;
      receive(answer.body);
      land();
      root.scrollIntoView({ block: "start" });
      if (find("#write-recent").open) loadRecent();
      return;
    }
    if (!(await refused(answer.status, answer.body))) return;
  }
};

const look = async () => {
  const { status, body } = await ask("GET", `projects/${root.dataset.project}/writing`);
  if (status === 200) receive(body);
  else if (status === 401) signInAgain();
  else if (!task) find("#write-message").textContent = body.error ?? _("No connection: this page tries again every 20 seconds.");
};

const loadRecent = async () => {
  const { status, body } = await ask("GET", `projects/${root.dataset.project}/written`);
  if (status === 200) showRecent(root, body.texts, openSentBack);
};

const openSentBack = async (id) => {
  if (isBusy || (isDirty && !(await save()))) return;
  const { status, body } = await ask("GET", `writings/${id}`);
  if (status === 200) {
    openTask(body);
    root.scrollIntoView({ block: "start" });
    field.focus({ preventScroll: true });
  } else if (status === 401) signInAgain();
  else notify(root, body.error ?? _("There is no connection: press again in a moment."));
};

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("#write-form [data-write]");
  if (!button || !root) return;
  if (button.dataset.write === "agree") agreeTo(root, ask, look, land);
  else if (button.dataset.write === "submit") submit();
  else if (task && !isBusy) find("#write-blank").showModal();
});
document.addEventListener("submit", (event) => {
  if (event.target.closest("#write-blank") && event.submitter?.value === "blank") leaveBlank(find("#write-blank-note").value);
});
document.addEventListener("input", ({ target }) => { if (task && target.id === "write-blank-note") copies.keepReason(task.id, target.value); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || !root?.isConnected) return;
  if (!event.target.closest?.("#write-form") || find("dialog[open]") || isConsentAsked()) return;
  event.preventDefault();
  submit();
});
document.addEventListener("toggle", ({ target }) => { if (target.id === "write-recent" && target.open) loadRecent(); }, true);
document.addEventListener("visibilitychange", () => {
  if (!task) return;
  if (document.hidden) {
    watch.pause();
    if (isDirty) save();
  } else watch.resume();
});
addEventListener("online", () => { if (isDirty) save(); });
addEventListener("pagehide", () => {
  if (root && task && isDirty && !running) save();
  copies?.leave();
});
setInterval(() => { if (root?.isConnected && !task && !document.hidden) look(); }, LOOK_AGAIN);

const start = () => {
  const form = document.getElementById("write-form");
  if (!form || form === root) return;
  root = form;
  speak(root.lang, JSON.parse(root.dataset.messages));
  watchWidths(root);
  copies?.leave();
  copies = new Copies(root.dataset.storage);
  task = null;
  look();
};
start();
new MutationObserver(start).observe(document.documentElement, { childList: true, subtree: true });
