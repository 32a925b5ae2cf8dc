// Puts what the writing page knows into its form. Texts go in as text, never as markup.
import { _, language, ngettext } from "../../kpdemo/language.js";
import { button, element, notice, time } from "../parts.js";

// Said when a page is drawn: its language comes with it.
const states = () => ({
  submitted: _("waits for an editor"), accepted: _("accepted"), sent_back: _("sent back to you"),
  blank: _("left blank"), handed_on: _("given to somebody else"), withdrawn: _("withdrawn by the project"),
});

const openItems = (number, hasTask, mayBeFewer) => {
  if (!hasTask) return ngettext("{count} item open", "{count} items open", number);
  return mayBeFewer
    ? ngettext("up to {count} more item open", "up to {count} more items open", number)
    : ngettext("{count} more item open", "{count} more items open", number);
};

export const showDesk = (root, desk) => {
  const find = (selector) => root.querySelector(selector);
  const { task } = desk;
  find("#write-work").hidden = !task;
  const message = find("#write-message");
  message.hidden = Boolean(task);
  if (!task) {
    message.textContent = desk.waiting
      ? _("Nothing to write at the moment: others have the remaining items, and some may come back. This page checks again every 20 seconds.")
      : desk.submitted + desk.accepted > 0
        ? _("You have written for every item that is open to you. Thank you. What you wrote is below.")
        : _("There is nothing to write. Ask the project's administrator whether larger items were imported.");
  }
  const done = desk.submitted + desk.accepted;
  const wrote = ngettext("You wrote {count} text, {accepted} accepted", "You wrote {count} texts, {accepted} accepted", done, { accepted: desk.accepted });
  const sentBack = desk.sent_back ? _(", {count} sent back", { count: desk.sent_back }) : "";
  find("#write-counts").textContent = `${wrote}${sentBack} · ${openItems(desk.unwritten, task !== null, desk.unwritten > 0)}`;
  const points = JSON.parse(root.dataset.points);
  const balance = desk.balance?.map((number, at) => `${points[at + 1]}: ${number}`).join("  ");
  const requested = desk.has_genre
    ? _("Requested so far for items of this type and genre, by grade – {balance}", { balance })
    : _("Requested so far for items of this type, by grade – {balance}", { balance });
  find("#write-balance").textContent = balance ? requested : "";
  if (!task) find("#write-type").textContent = "";
};

export const showTask = (root, task) => {
  const find = (selector) => root.querySelector(selector);
  find("#write-type").textContent = task.type_label;
  // A project's own names stay as they are written: German has capitals within a sentence.
  const own = JSON.parse(root.dataset.names)[task.type];
  const smaller = language() === "de" ? task.smaller_label : task.smaller_label.toLowerCase();
  const [larger, asked] = own ?? [task.larger_label, smaller];
  find("#write-larger").textContent = larger;
  find("#write-smaller").textContent = _("Your {item}", { item: asked });
  find("#write-left").textContent = task.left;
  find("#write-left").scrollTop = 0;
  const wanted = { item: asked, grade: task.grade };
  find("#write-asked").textContent = /^[aeiou]/i.test(asked) ? _("Write an {item} of grade {grade}", wanted) : _("Write a {item} of grade {grade}", wanted);
  const isAsked = ({ dataset }) => dataset.type === task.type && dataset.grade === String(task.grade);
  for (const point of root.querySelectorAll("#write-points [data-grade]")) point.hidden = !isAsked(point);
  for (const part of root.querySelectorAll("#write-guidelines [data-type]")) part.hidden = part.dataset.type !== task.type;
  find("#write-senses").hidden = task.type !== "word2sense";
  let hasExample = false;
  for (const example of root.querySelectorAll("#write-examples [data-type]")) {
    example.hidden = !isAsked(example);
    hasExample ||= !example.hidden;
  }
  find("#write-examples").hidden = !hasExample;
  find("#write-back").hidden = !task.sent_back;
  find("#write-back p").textContent = task.sent_back ? _("An editor sent this back: {note}", { note: task.note }) : "";
  find("#write-size span:last-child").textContent = task.guidance ? _("Wanted: {size}.", { size: task.guidance }) : "";
};

// The field for the smaller item; a sense of WordNet can be chosen for it on a page of its own.
export const showField = (root, task, changed) => {
  const field = element("textarea", "", { id: "write-text", dir: "auto", rows: 5, spellcheck: true });
  field.setAttribute("aria-labelledby", "write-smaller");
  field.setAttribute("aria-describedby", "write-size write-check");
  field.addEventListener("input", changed);
  const link = element("a", _("Choose the sense in WordNet instead"), { href: `/annotate/senses${location.search}` });
  root.querySelector("#write-field").replaceChildren(field, ...(task.type === "word2sense" ? [link] : []));
  return field;
};

export const showCheck = (root, check, isEmpty, isConfirming) => {
  const [size] = root.querySelectorAll("#write-size span");
  const counted = check && [ngettext("{count} word", "{count} words", check.words), ngettext("{count} sentence", "{count} sentences", check.sentences)];
  size.textContent = check && !isEmpty ? `${counted.join(", ")}.` : "";
  const said = isEmpty ? [] : [check?.problem, ...(check?.warnings ?? [])].filter(Boolean);
  root.querySelector("#write-check").replaceChildren(...said.map((text) => element("p", text, { className: "note", dir: "auto" })));
  root.querySelector("#write-submit span").textContent = isConfirming ? _("Submit anyway") : _("Submit and next");
};

export const showSaved = (root, state, savedAt) => {
  const words = {
    idle: "", saving: _("Saving…"), saved: savedAt ? _("Saved {time}", { time: time(savedAt) }) : "",
    trying: _("Not saved: trying again. Your text is kept in this browser."),
    sending: _("Sending…"), unsent: _("Not sent: trying again."),
    long: _("Not saved: the text is too long."), held: _("Not sent until you agree."),
  };
  const place = root.querySelector("#write-saved");
  place.dataset.state = state;
  if (place.textContent !== words[state]) place.textContent = words[state];
};

// What is typed comes with its size; in a field that somebody made tall the line that is typed matters more.
const showSize = ({ target }) => {
  if (target.id !== "write-text" || target.offsetHeight >= innerHeight / 2) return;
  document.getElementById("write-size").scrollIntoView({ block: "nearest" });
};
document.addEventListener("focusin", showSize);
document.addEventListener("input", showSize);

// A notice stays until it is closed; with a text of the writer's that stands nowhere else, it shows that too.
export const notify = (root, sentence, text = "") => {
  const close = button(_("Close"));
  const note = notice(sentence, text, close);
  close.addEventListener("click", () => note.remove());
  root.querySelector("#write-notices").append(note);
};

export const showRecent = (root, texts, open) => {
  const list = root.querySelector("#write-recent ol");
  if (!texts.length) {
    list.replaceChildren(element("li", _("Nothing yet.")));
    return;
  }
  list.replaceChildren(...texts.map((written) => {
    const line = element("li");
    const said = element("p", written.text || _("(blank)"), { dir: "auto" });
    const state = _("{type}, grade {grade}: {state}", { type: written.type_label, grade: written.grade, state: states()[written.state] ?? written.state });
    line.append(said, element("small", written.note ? `${state} – ${written.note}` : state));
    if (written.state === "sent_back") {
      const rewrite = button(_("Rewrite"));
      rewrite.addEventListener("click", () => open(written.id));
      line.append(rewrite);
    }
    return line;
  }));
};
