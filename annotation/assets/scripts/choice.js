// What somebody chooses from a list, told once. Gradio's Dropdown tells of a choice by mouse twice, and whenever
// the list is left without one. An answer to an earlier choice may set the list back: the last choice is asked for.
const LEFT = { __type__: "update" };  // as it is
const lists = {};  // by name: the value when somebody came to the list, or chose since; the last choice, and its number
const of = (name) => (lists[name] ??= { number: 0, asked: 0 });

export const look = (name, value) => { of(name).seen = value; };

// Answers what starts the question: a text that has changed, or has not.
export const choose = (name, value) => {
  const list = of(name);
  if (value === list.seen && !list.isRefused) return LEFT;
  Object.assign(list, { seen: value, chosen: value, number: list.number + 1, isRefused: false });
  return String(list.number);
};

export const ask = (name, [, ...others]) => {
  const list = of(name);
  list.asked = list.number;
  return [list.chosen, ...others];
};

// After an error Gradio forgets the choice that waited for the answer; and the last one may be made again.
export const goOn = (name) => {
  const list = of(name);
  list.isRefused = list.asked === list.number;
  return list.isRefused ? LEFT : `${list.number} after an error`;
};
