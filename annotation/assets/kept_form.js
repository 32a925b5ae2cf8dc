// What is typed into a form stays in the browser's tab until it is saved: after a lost connection Gradio loads
// the page anew.
(() => {
  "use strict";
  const LEFT = { __type__: "update" };  // as it is
  const shown = {};  // of each form: its key, what its fields begin with, and what the server had in them

  const read = (key) => { try { return JSON.parse(sessionStorage.getItem(key)); } catch { return null; } };
  const store = (key, kept) => {
    try { sessionStorage.setItem(key, JSON.stringify(kept)); } catch { /* a private window keeps none */ }
  };
  const remove = (key) => { try { sessionStorage.removeItem(key); } catch { /* it was never there */ } };
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
  const keep = ({ name }, [began, ...values]) => {
    const form = shown[name];
    if (!form || form.began !== began) return;
    if (isSame(values, form.saved.slice(1))) remove(form.key);
    else store(form.key, { began, values });
  };

  // Answers whether the row of the note is seen, what the form began with, its fields, and what it lies in.
  const restore = async ({ name, isOfBegan, around }, [began, ...values]) => {
    const project = new URLSearchParams(location.search).get("project") ?? "";
    const key = ["kpdemo-kept", await user(), project, name, ...(isOfBegan ? [began] : [])].join(":");
    const kept = read(key);
    const isLost = kept !== null && !isSame(kept.values, values);
    if (!isLost) remove(key);
    shown[name] = { key, began: isLost ? kept.began : began, saved: [began, ...values] };
    const fields = isLost ? [kept.began, ...kept.values] : [LEFT, ...values.map(() => LEFT)];
    return [{ ...LEFT, visible: isLost }, ...fields, ...around.map((change) => (isLost ? { ...LEFT, ...change } : LEFT))];
  };

  const forget = ({ name }) => {
    if (shown[name]) remove(shown[name].key);
    return { ...LEFT, visible: false };
  };

  const drop = (form) => {
    const { saved } = shown[form.name];
    [shown[form.name].began] = saved;
    return [forget(form), ...saved];
  };

  window.kpdemoKept = { keep, restore, forget, drop };
})();
