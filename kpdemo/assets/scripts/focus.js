// Gradio leaves the focus nowhere after a choice from a list, and on a button that rests: a reader who uses keys or
// ears would have to look for the place again.
const PATIENCE = 300;  // until then, what comes after the press may take the focus
const isLost = () => !document.activeElement || document.activeElement === document.body;
const focusOn = (element) => element?.focus({ preventScroll: true });  // the page may have been scrolled since

// Of a field that gets the focus Gradio opens the list: not now, but when it is pressed.
const hold = (event) => event.stopPropagation();
let closed = null;
const focusOnClosed = (field) => {
  addEventListener("focus", hold, true);
  focusOn(field);
  removeEventListener("focus", hold, true);
  field?.select();  // as it is when a reader comes to it
  closed = field;
};
// From the first key on it has to know of the focus: without it, it drops what is typed or chosen.
document.addEventListener("keydown", ({ key, target }) => {
  if (target !== closed || ["Enter", "Escape"].includes(key)) return;
  closed = null;
  target.dispatchEvent(new FocusEvent("focus"));
}, true);
document.addEventListener("pointerdown", ({ target }) => {
  if (target === closed) target.blur();
  closed = null;
}, true);

document.addEventListener("keydown", ({ key, target }) => {
  if (key !== "Enter" || target.role !== "combobox") return;
  setTimeout(() => { if (isLost() && target.isConnected) focusOnClosed(target); });
}, true);

// A button that has nothing more to do gives way to the list that says what it and its neighbours are for.
const goOn = (button) => {
  if (!button.disabled || !isLost() || !button.matches(".row:has(> button + button) > button.md")) return;
  const isBefore = (field) => field.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING;
  const fields = [...document.querySelectorAll("input[role=combobox]")];
  focusOnClosed(fields.filter((field) => field.checkVisibility() && isBefore(field)).at(-1));
};

let rests = null;
new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target.disabled && target === document.activeElement && target.closest(".gradio-container")) {
      rests = target;
      if (target.matches(":focus-visible")) setTimeout(goOn, PATIENCE, target);  // a finger would bring a keyboard up
    } else if (!target.disabled && target === rests) {
      rests = null;
      if (isLost()) focusOn(target);
    }
  }
}).observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["disabled"] });
document.addEventListener("focusin", ({ target }) => { if (target !== rests) rests = null; });
