// Examples fill the box of the text; what somebody typed there before can be restored.
const shown = new Set();
let mine = null;
const backButton = () => ({ __type__: "update", visible: mine !== null });

// Answers what the box shows then, and whether the button that restores is seen.
export const show = (example, typed) => {
  if (typed?.trim() && !shown.has(typed)) mine = typed;
  shown.add(example);
  return [example, backButton()];
};

export const restore = () => {
  const text = mine;
  mine = null;
  return [text, backButton()];
};
