// The field for the smaller item. A type may have another one:
//
//   window.kpdemoWrite.fields["word2sense"] = ({ place, task, changed }) => ({
//     get value() {…},          // what is saved and submitted
//     set value(text) {…},      // a draft, or what stands in another window
//     set readOnly(is) {…},     // true while it is on its way, when nothing may be changed
//     focus() {…},
//   });
//
// `place` is empty and labelled by #write-smaller; call `changed()` whenever the value is another.
(() => {
  "use strict";
  const parts = (window.kpdemoWrite ??= {});
  parts.fields ??= {};

  const senseLink = () => {
    const link = document.createElement("a");
    link.href = `/annotate/senses${location.search}`;
    link.textContent = "Choose the sense in WordNet instead";
    return link;
  };

  parts.textField = ({ place, task, changed }) => {
    const field = document.createElement("textarea");
    Object.assign(field, { id: "write-text", dir: "auto", rows: 5, spellcheck: true });
    field.setAttribute("aria-labelledby", "write-smaller");
    field.setAttribute("aria-describedby", "write-size write-check");
    field.addEventListener("input", changed);
    place.replaceChildren(field, ...(task.type === "word2sense" ? [senseLink()] : []));
    return {
      get value() { return field.value; },
      set value(text) { field.value = text; },
      set readOnly(is) { field.readOnly = is; },
      focus() { field.focus({ preventScroll: true }); },
    };
  };

  parts.fieldFor = (task, place, changed) => (parts.fields[task.type] ?? parts.textField)({ place, task, changed });
})();
