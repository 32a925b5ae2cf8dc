import { _ } from "./language.js";

// The answer to files: whether it is still that of the options, and of many documents those with a keyphrase only.
let asked = "";

export const arrive = (...options) => {
  asked = JSON.stringify(options.map((value) => value || ""));
  outdate(...options);
};

export const outdate = (...options) => {
  const place = document.querySelector("#files-result");
  const isOld = place?.querySelector("#files-summary") && JSON.stringify(options.map((value) => value || "")) !== asked;
  place?.toggleAttribute("data-old", Boolean(isOld));
};

const show = () => {
  const field = document.querySelector("#files-filter input");
  const wanted = field.value.trim().toLowerCase();
  const rows = [...document.querySelectorAll("#files-table tbody tr")];
  for (const row of rows) row.hidden = !row.dataset.keyphrases.includes(wanted);
  const count = rows.filter((row) => !row.hidden).length;
  document.querySelector("#files-filter output").textContent = wanted ? _("{shown} of {all}", { shown: count, all: rows.length }) : "";
};

document.addEventListener("input", ({ target }) => { if (target.matches("#files-filter input")) show(); });
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("button[data-filter]");
  if (!button) return;
  const field = document.querySelector("#files-filter input");
  field.value = button.dataset.filter;
  show();
  field.scrollIntoView({ block: "nearest" });
});
