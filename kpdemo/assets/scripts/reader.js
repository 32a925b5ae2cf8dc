// What belongs to the reader of the public page: the text while the browser's tab lives, the open tab in the
// address, and who is signed in. Nothing of it is on the server or in the page that all readers get.
import { _ } from "./language.js";

const KEPT = "kpdemo-text";
const TAB = "#page-tabs [role=tab]";
let restored = false;

const box = () => document.querySelector("#predict-document textarea");

const keep = () => {
  if (!restored) return;
  const text = box()?.value ?? "";
  try {
    sessionStorage.removeItem(KEPT);
    if (text) sessionStorage.setItem(KEPT, text);
  } catch { /* a text that is too long for the store, or a browser that has none */ }
};

const kept = () => {
  try { return sessionStorage.getItem(KEPT) ?? ""; } catch { return ""; }
};

const fill = (field, text) => {
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};

const named = () => document.querySelector(`${TAB}[data-tab-id="${CSS.escape(location.hash.slice(1))}"]`);

// By a click: Gradio draws a tab when it is opened.
const opened = () => { if (location.hash) named()?.click(); };

const noted = () => {
  const id = document.querySelector(`${TAB}[aria-selected=true]`)?.dataset.tabId;
  const first = document.querySelector(TAB)?.dataset.tabId;
  if (!id || id === (location.hash.slice(1) || first)) return;
  history.replaceState(history.state, "", id === first ? location.pathname + location.search : `#${id}`);
};

const greeted = async () => {
  const place = document.querySelector("[data-user-from]");
  if (!place) return;
  place.dataset.asked = "";
  try {
    const answer = await fetch(place.dataset.userFrom);
    const user = answer.ok ? await answer.json() : {};
    const link = document.createElement("a");
    link.href = user.address;
    link.title = _("My account");
    link.append(document.createElement("bdi"));
    link.firstChild.textContent = user.name;
    place.replaceChildren(...(user.name ? [link] : []));
  } catch { /* without the name all works as well */ }
};

const changed = () => {
  if (document.querySelector("[data-user-from]:not([data-asked])")) greeted();
  if (restored) { noted(); return; }
  const found = box();
  if (!found || !document.querySelector(TAB)) return;
  restored = true;
  if (!found.value && kept()) fill(found, kept());
  opened();
};

changed();
new MutationObserver(changed).observe(document.documentElement, {
  childList: true, subtree: true, attributes: true, attributeFilter: ["aria-selected"],
});

addEventListener("pagehide", keep);
// A tab that the browser discards, as on a phone, is hidden before, and then gone without a word.
document.addEventListener("visibilitychange", () => { if (document.hidden) keep(); });
addEventListener("hashchange", opened);
// From the browser's own copy of the page: somebody may have signed out meanwhile.
addEventListener("pageshow", (event) => { if (event.persisted) greeted(); });
