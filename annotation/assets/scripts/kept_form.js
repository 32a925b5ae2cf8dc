// What is typed into a form stays in the browser's tab until it is saved: after a lost connection Gradio loads
// the page anew.
import { Storage } from "./parts.js";

const LEFT = { __type__: "update" };  // as it is
const shown = {};  // of each form: its key, what its fields begin with, what the server had in them, and so on
const fills = {};  // of each form: how many answers that fill its fields are awaited
const isReload = () => performance.getEntriesByType("navigation")[0]?.type === "reload";

const storage = new Storage("sessionStorage");
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// Known once the header has come: nobody is given what another one typed.
const user = () => new Promise((found) => {
  const look = () => {
    const { user } = document.querySelector("header.site")?.dataset ?? {};
    if (user) found(user);
    else setTimeout(look, 50);
  };
  look();
});

// Gradio tells of every change: one to fields that begin with something else is the server's.
export const keep = ({ name }, [began, ...values]) => {
  const form = shown[name];
  if (!form || fills[name] || form.began !== began) return;
  form.typed = values;
  if (isSame(values, form.saved.slice(1))) storage.remove(form.key);
  else storage.write(form.key, { began, values });
};

// While another text is fetched, a fill with the same one is not somebody typing it back. The last fill counts:
// of quick choices, the next text is fetched before the one that has come is drawn.
export const pause = ({ name }) => { fills[name] = (fills[name] ?? 0) + 1; };
export const resume = ({ name }) => { fills[name] = Math.max(0, (fills[name] ?? 0) - 1); };

// Before the server is asked to save: what is typed until it answers is not saved.
export const send = ({ name }, [began, ...values]) => {
  Object.assign(shown[name] ?? {}, { sent: values, typed: values });
  return [began, ...values];
};

// What the address asks for was chosen later than what was typed; a reloaded page asks for nothing new.
const brought = (form, kept, values) => kept.values.map((value, place) => (
  place === form.asked && !isReload() ? [...new Set([...value, ...values[place]])] : value
));
const isElsewhere = () => new URLSearchParams(location.search).has("tab") && !isReload();

// Answers whether the row of the note is seen, what the form began with, its fields, and what it lies in.
export const restore = async (form, [began, ...values], saved = values) => {
  await new Promise((done) => setTimeout(done, 50));  // what the server filled in is to be drawn first
  resume(form);
  if (fills[form.name]) return [LEFT, LEFT, ...values.map(() => LEFT), ...form.around.map(() => LEFT)];
  const project = new URLSearchParams(location.search).get("project") ?? "";
  const key = ["kpdemo-kept", await user(), project, form.name, ...(form.isOfBegan ? [began] : [])].join(":");
  const kept = storage.read(key);
  const fields = kept === null ? saved : brought(form, kept, values);
  const isKept = !isSame(fields, saved), isLost = isKept && !isSame(fields, values);
  if (!isKept) storage.remove(key);
  shown[form.name] = { key, began: isKept ? kept.began : began, saved: [began, ...saved] };
  const filled = isLost ? [kept.began, ...fields] : [LEFT, ...values.map(() => LEFT)];
  const moves = isLost && !isElsewhere();
  return [{ ...LEFT, visible: isLost }, ...filled, ...form.around.map((change) => (moves ? { ...LEFT, ...change } : LEFT))];
};

// The server has taken what was sent: what was typed since is kept on. It fills the fields where it had more to
// tell; what was typed meanwhile comes over that.
export const settle = (form, [began, ...values]) => {
  const { key, sent, typed } = shown[form.name] ?? {};
  if (key) storage.remove(key);
  if (!sent) return restore(form, [began, ...values]);
  const isUntouched = (place) => isSame(typed[place], sent[place]);
  const isFilled = values.some((value, place) => isUntouched(place) && !isSame(value, sent[place]));
  const left = isFilled ? values.map((value, place) => (isUntouched(place) ? value : typed[place])) : values;
  storage.write(key, { began, values: left });
  return restore(form, [began, ...values], isFilled ? values : sent);
};

export const drop = ({ name }) => {
  const { key, saved } = shown[name];
  storage.remove(key);
  [shown[name].began] = saved;
  return [{ ...LEFT, visible: false }, ...saved];
};
