import { _ } from "./language.js";

const contentOf = ({ dataset }) => dataset.content ?? document.getElementById(dataset.from).dataset.content;

const copied = async (button) => {
  const label = (button.dataset.label ??= button.textContent);  // a second press finds "Copied" there
  try {
    await navigator.clipboard.writeText(contentOf(button));
    button.textContent = _("Copied");
  } catch {
    // Without HTTPS a browser has no clipboard for scripts; the old way needs a selected field.
    const field = document.createElement("textarea");
    field.value = contentOf(button);
    document.body.append(field);
    field.select();
    button.textContent = document.execCommand("copy") ? _("Copied") : _("Not copied");
    field.remove();
    button.focus();
  }
  setTimeout(() => { button.textContent = label; }, 1500);
};

const bytesIn = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

const saved = (button) => {
  const link = document.createElement("a");
  const { bytes, type } = button.dataset;
  link.href = URL.createObjectURL(new Blob([bytes ? bytesIn(bytes) : contentOf(button)], { type }));
  link.download = button.dataset.save;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const remembered = () => { try { return localStorage.getItem("kpdemo-theme"); } catch { return null; } };

// Paper is light; after printing the page is as it was.
const paper = matchMedia("print");
let wasDark = false;
paper.addEventListener("change", () => {
  if (paper.matches) wasDark = document.body.classList.contains("dark");
  document.body.classList.toggle("dark", !paper.matches && wasDark);
});

const themed = () => {
  if (paper.matches) return;
  const theme = location.search.includes("__theme") ? null : remembered();
  const dark = document.body.classList.contains("dark");
  if (theme && dark !== (theme === "dark")) document.body.classList.toggle("dark");
};

const switched = () => {
  const dark = !document.body.classList.contains("dark");
  try { localStorage.setItem("kpdemo-theme", dark ? "dark" : "light"); } catch { /* a private window */ }
  document.body.classList.toggle("dark", dark);
};

// Each press leads to the next of its places.
const shownAt = (link) => {
  const places = link.dataset.places.split(" ");
  const number = Number(link.dataset.next ?? 0) % places.length;
  link.dataset.next = number + 1;
  const target = document.getElementById(places[number]);
  if (!target) return;
  target.scrollIntoView({ block: "center" });
  target.classList.add("kp-found");
  setTimeout(() => target.classList.remove("kp-found"), 2000);
};

document.addEventListener("click", (event) => {
  const target = event.target.closest?.("button[data-copy], button[data-save], button[data-theme], a[href^='#kp-']");
  if (!target) return;
  if ("copy" in target.dataset) copied(target);
  else if ("save" in target.dataset) saved(target);
  else if ("theme" in target.dataset) switched();
  else { event.preventDefault(); shownAt(target); }
});

// What was typed is kept by reader.js or the page's form.
document.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-language-menu]")) return;
  document.cookie = `kpdemo-language=${target.value}; path=/; max-age=31536000; samesite=lax`;
  location.reload();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  const run = document.querySelector("#predict-run");
  if (!run || !run.checkVisibility()) return;
  event.preventDefault();
  event.stopPropagation();
  run.click();
}, true);

// Gradio opens the list of a field at any key, also at Control and at the Tab that has left it by then.
const LEAVING = ["Alt", "Control", "Meta", "Shift", "Tab"];
document.addEventListener("keydown", (event) => {
  if (LEAVING.includes(event.key) && event.target.role === "combobox") event.stopImmediatePropagation();
}, true);

// As soon as its page may be left, Gradio breaks off what it waits for, takes that for a lost connection and
// loads the page again: a next page that is slow to come would never come. Browsers hang up by themselves.
const { abort } = AbortController.prototype;
AbortController.prototype.abort = function (...reason) {
  if (window.event?.type !== "beforeunload") abort.apply(this, reason);
};

// Gradio gives some parts no name or a wrong role, which screen readers need, and text fields one direction.
const named = () => {
  for (const field of document.querySelectorAll("[data-testid=textbox]:not([dir=auto])")) field.dir = "auto";
  for (const drop of document.querySelectorAll("button[aria-dropeffect]")) {
    const label = drop.closest(".block")?.querySelector("[data-testid=block-label]")?.textContent.trim();
    const name = [label, drop.textContent.trim().replace(/\s+/g, " ")].filter(Boolean).join(": ");
    if (drop.ariaLabel !== name) drop.ariaLabel = name;
  }
  for (const group of document.querySelectorAll("fieldset.block:has(input[type=checkbox])")) {
    if (!group.ariaLabel) group.ariaLabel = group.querySelector("[data-testid=block-info]")?.textContent.trim() || _("Choices");
  }
  for (const group of document.querySelectorAll("fieldset.block:has(input[type=radio])")) {
    // Of one name, so that the arrow keys go from one to the next; Gradio writes its own again and again.
    for (const radio of group.querySelectorAll("input[type=radio]")) {
      if (radio.name !== group.id) radio.name = group.id;
    }
    if (group.role === "radiogroup") continue;
    group.role = "radiogroup";
    group.ariaLabel = group.querySelector("[data-testid=block-info]")?.innerText.trim() || _("Choice");
  }
};

const started = () => {
  themed();
  // Gradio chooses light or dark by the system once its own script is there.
  new MutationObserver(themed).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  named();
  new MutationObserver(named).observe(document.body, {
    childList: true, subtree: true, attributes: true, attributeFilter: ["aria-label", "name"],
  });
};

// Gradio puts this script into the page when it likes.
if (document.readyState === "loading") addEventListener("DOMContentLoaded", started);
else started();
