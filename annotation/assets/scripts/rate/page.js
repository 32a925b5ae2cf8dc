// The rating page: finds its form whenever Gradio has put it there, and wires it to keys, buttons and tabs.
import { _, speak } from "../../kpdemo/language.js";
import { signInAgain } from "../page.js";
import { Scale, watchWidths } from "../parts.js";
import { watchDock } from "./dock.js";
import { land } from "./keys.js";
import { Sender } from "./sender.js";
import { Session } from "./session.js";
import { keepOption, options, Store } from "./store.js";
import { render } from "./view.js";

const LOOK_AGAIN = 20_000;
const KEYS = new Set(["[", "]", "ArrowLeft", "ArrowRight", "Enter", "Backspace", "s", "c", "?"]);
const GRADING = new Set(["choose", "up", "down", "submit"]);
const REPEATABLE = new Set(["[", "]", "ArrowLeft", "ArrowRight"]);
const TYPING = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=button])";

let root = null;
let session = null;
let sender = null;
let store = null;
let hasKeys = true;
let hasShown = false;

const find = (selector) => root.querySelector(selector);
const isOpen = () => root?.isConnected && !find("dialog[open]");
const say = (text) => { find("#rate-live").textContent = text; };

const changed = () => {
  if (!root?.isConnected) return;
  const { activeElement } = document;
  const wasThere = activeElement === document.body || activeElement.closest("#rate-work, #rate-message, #rate-consent");
  const { phase } = root.dataset;
  const isNewPair = render(root, session);
  if (wasThere && session.phase !== phase) land(root, session, activeElement);
  if (find("#rate-scale").contains(activeElement)) find("#rate-scale [tabindex='0']").focus({ preventScroll: true });
  if (!isNewPair) return;
  // The new pair is what is read next; without this the focus would be lost with the disabled button.
  if (hasShown && wasThere && !activeElement.matches(TYPING)) find("#rate-pair").focus({ preventScroll: true });
  if (hasShown && root.getBoundingClientRect().top < 0) root.scrollIntoView({ block: "start" });
  hasShown = true;
};

// Start once for a form; a form that Gradio put there again goes on with the same session.
const start = (form) => {
  const isSame = root && ["project", "storage"].every((name) => root.dataset[name] === form.dataset[name]);
  root = form;
  watchWidths(root);
  watchDock(root);
  restoreOptions();
  if (isSame) {
    changed();
    return;
  }
  sender?.leave();
  speak(form.lang, JSON.parse(form.dataset.messages));
  const { project, user, storage, step, mayRevise, hasGuidelines } = form.dataset;
  store = new Store(storage);
  const scale = new Scale(form.dataset);
  session = new Session({
    store, scale, step: Number(step), mayRevise: mayRevise === "true", hasGuidelines: hasGuidelines === "true",
    changed, say, opened, loadHistory,
  });
  sender = new Sender({
    project, user, store, changed,
    received: (answer, entry) => session.received(answer, entry),
    refused: (entry, sentence) => session.refused(entry, sentence),
    taken: (entries) => session.tabs.took(entries),
    lost,
  });
  session.sender = sender;
  listenToTabs(storage);
  sender.adopt();
  sender.askQueue();
  welcomeBack();
  loadHistory();
  changed();
};

const listenToTabs = (name) => {
  session.channel?.close();
  session.channel = new BroadcastChannel(`kpdemo-rate:${name}`);
  session.channel.onmessage = ({ data }) => {
    if (data.saved) session.tabs.saved();
    else session.tabs.answered(data.answered);
  };
};

const loadHistory = async () => {
  const asked = session;
  const askedAt = Date.now();
  asked.isHistoryAsked = true;
  const { status, body } = await sender.get(`projects/${root.dataset.project}/history`);
  asked.isHistoryAsked = false;
  if (status === 200 && asked === session) session.takeHistory(body.pairs, askedAt);
};

// The session ended: sign in, and come back to the pair that was being graded.
const lost = () => {
  session.form?.keep();
  const { form } = session;
  const last = sender.outbox.findLast((entry) => entry.kind === "rating");
  store.write("lost", { pair: form?.isNew ? form.pair.id : last?.pair ?? null, isSent: !form?.isNew && Boolean(last) });
  sender.leave();
  signInAgain();
};

const welcomeBack = async () => {
  const was = store.read("lost");
  if (!was) return;
  store.remove("lost");
  const draft = was.pair && store.draft(was.pair);
  if (!was.isSent) {
    session.notify(draft ? _("You are signed in again. What you had filled in is kept.") : _("You are signed in again."));
    if (!draft) return;
  }
  await sender.run();
  if (session.consent.isAsked) return;
  if (!was.isSent && session.ready.some((pair) => pair.id === was.pair)) return;
  const { status, body } = await sender.get(`pairs/${was.pair}`);
  if (status === 200 && was.isSent) {
    session.open(body, false);
    session.notify(_("You are signed in again. This is the pair that you had just graded: its grade and comment are saved now."));
  } else if (status >= 400 && draft) {
    session.notify(_("The pair that you were grading has gone to somebody else meanwhile."), { copy: draft.comment });
    store.dropDraft(was.pair);
  }
};

// Buttons

const opened = (key) => {
  if (key === "s") openSkip();
  else if (key === "c") showComment(true);
  else find("#rate-help").showModal();
};

const openSkip = () => {
  if (!session.form || session.earlier || session.training.isOn) return;
  const dialog = find("#rate-skip");
  const pair = String(session.form.pair.id);
  if (dialog.dataset.pair !== pair) { // what was typed for this one stays when the dialog was only closed
    dialog.querySelector("form").reset();
    find("#rate-skip-confirm").disabled = true;
  }
  dialog.dataset.pair = pair;
  dialog.showModal();
  dialog.querySelector("[name=rate-reason]").focus();
};

const showComment = (isShown) => {
  if (!session.form || session.training.isOn) return;
  find("#rate-comment").hidden = !isShown;
  changed();
  if (isShown) find("#rate-comment-text").focus();
};

const openEarlier = (pair) => {
  if (!pair) return;
  session.open(pair);
  find("#rate-pair").focus({ preventScroll: true });
};

// After an attempt: another one, or the work.
const goOn = async () => {
  if (session.phase !== "failed") {
    sender.askQueue();
    return;
  }
  const { status, body } = await sender.post(`projects/${root.dataset.project}/training`);
  if (status === 200) session.received(body);
  else if (status === 401) lost();
  else if (status === 428) sender.askQueue();
  else session.notify(body.error ?? _("There is no connection: press again in a moment."));
};

// The server gives the pairs at hand to others once it has all answers: each needs its pair, and would claim a new one.
const stop = async () => {
  if (session.training.isOn) return;
  const stopped = session;
  stopped.rest();
  find("[data-rate=resume]").focus();
  await sender.run();
  if (stopped.isResting && stopped === session && !sender.outbox.length) {
    const { status, body } = await sender.post(`projects/${root.dataset.project}/stop`);
    if (status === 401) lost();
    else stopped.returned(status === 200, body.error);
  }
};

const ACTIONS = {
  choose: ({ value }) => session.choose(session.scale.steps(Number(value))),
  up: () => session.move(1),
  down: () => session.move(-1),
  submit: () => session.submit(),
  training: goOn,
  begin: () => {
    session.begin();
    find("#rate-pair").focus({ preventScroll: true });
    root.scrollIntoView({ block: "start" });
  },
  agree: async () => { if (await session.consent.agree(find("#rate-consent"))) stop(); },
  back: () => { if (!session.training.isOn) session.back(); },
  return: () => session.close(),
  change: () => openEarlier(session.last?.pair),
  open: ({ id }) => openEarlier(session.recent.find((pair) => String(pair.id) === id)),
  skip: openSkip,
  comment: () => showComment(find("#rate-comment").hidden),
  "keep-comment": () => session.keepComment(),
  help: () => find("#rate-help").showModal(),
  stop,
  resume: () => session.resume(),
  close: (_, button) => button.closest("dialog").close(),
  dismiss: ({ id }) => session.dismiss(id),
  copy: () => {},  // the script of every page does it
};

document.addEventListener("click", (event) => {
  const button = event.target.closest?.('#rate-form [data-rate]:not([aria-disabled="true"])');
  if (!button || !session) return;
  if (!GRADING.has(button.dataset.rate) || session.keys.isMeant(event.timeStamp)) ACTIONS[button.dataset.rate](button.dataset, button);
});

document.addEventListener("input", ({ target }) => {
  if (!target.closest?.("#rate-form") || !session) return;
  if (target.matches("#rate-comment-text, #rate-flag")) session.write(find("#rate-comment-text").value, find("#rate-flag").checked);
  if (target.name === "rate-reason") find("#rate-skip-confirm").disabled = false;
  if (target.id === "rate-keys-on") keepOption("keys", hasKeys = target.checked);
});

// The reader's choice goes before the project's, in this browser; what was filled in is kept.
document.addEventListener("change", ({ target }) => {
  if (target.id !== "rate-language") return;
  document.cookie = `kpdemo-language=${target.value}; path=/; max-age=31536000; samesite=lax`;
  location.reload();
});

document.addEventListener("submit", (event) => {
  const dialog = event.target.closest("#rate-skip");
  if (!dialog) return;
  const reason = dialog.querySelector("[name=rate-reason]:checked")?.value;
  if (!reason || dialog.dataset.pair !== String(session.form?.pair.id)) return;
  delete dialog.dataset.pair;
  session.skip(reason, find("#rate-skip-note").value);
});

document.addEventListener("toggle", ({ target }) => {
  if (!target.closest?.("#rate-form") || target.tagName !== "DETAILS") return;
  if (target.id === "rate-guidelines") keepOption("guidelines", target.open);
  else if (target.open) loadHistory().then(changed);
}, true);

const restoreOptions = () => {
  const { keys = true, guidelines } = options();
  hasKeys = find("#rate-keys-on").checked = keys;
  if (guidelines !== undefined) find("#rate-guidelines").open = guidelines;
};

// Keys

const isFree = (target, key) => {
  if (target.closest?.(TYPING)) return false;
  const control = target.closest?.("button, a, summary, input, [role=button], [role=tab]");
  // Enter on the scale and its steps submits; on another control it presses that control.
  return key !== "Enter" || !control || Boolean(control.closest("#rate-scale, .rate-steps, #rate-submit"));
};

const pressed = (event) => {
  if (event.repeat && event.target.closest?.("[data-rate=training]")) event.preventDefault();  // held since the last pair
  if (!isOpen() || session.isResting || session.consent.isAsked || event.isComposing || event.metaKey) return;
  const isComposedKey = event.getModifierState("AltGraph");  // [ and ] on many keyboards
  if ((event.ctrlKey || event.altKey) && !isComposedKey) return;
  if (event.key === "Escape" && session.pair) {
    if (event.target.closest?.("#rate-comment")) find("#rate-pair").focus();
    else session.close();
    return;
  }
  if (event.target.closest?.("#rate-scale") && event.key.startsWith("Arrow")) {  // a radio group has these, keys on or off
    event.preventDefault();
    session.keys.press(event.key, event.timeStamp);
    return;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!hasKeys || !(KEYS.has(key) || session.scale.ofKey(key) !== null) || !isFree(event.target, key)) return;
  if (session.training.isOn && key === "Backspace") return;
  event.preventDefault();
  if (!event.repeat || REPEATABLE.has(key)) session.keys.press(key, event.timeStamp);
};
document.addEventListener("keydown", pressed);

// The page itself

document.addEventListener("visibilitychange", () => {
  if (!session) return;
  session.keys.look();
  if (document.hidden) session.form?.pause();
  else {
    session.form?.resume();
    session.look();
  }
});
addEventListener("online", () => sender?.wake());
addEventListener("pagehide", () => {
  session?.form?.pause();
  sender?.leave();
});
addEventListener("pageshow", (event) => { if (event.persisted && session) location.reload(); });
setInterval(() => {
  if (!session || document.hidden) return;
  if (sender.adopt()) sender.run();  // what a browser that died had not sent is no page's until it is silent for long
  if (["waiting", "done"].includes(session.phase)) sender.askQueue();
}, LOOK_AGAIN);

const look = () => {
  const form = document.getElementById("rate-form");
  if (form && form !== root) start(form);
};
look();
new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });
