// What a page of annotation loads; its names are for the `js` of Gradio's events, as `(await kpdemo).kept.drop(…)`.
import "../kpdemo/page.js";
import "../kpdemo/focus.js";
import "../kpdemo/charts.js";
import "./page.js";

export * as choice from "./choice.js";
export * as kept from "./kept_form.js";
export { isInUse, keepFolds, openFolds } from "./parts.js";

const PAGES = {
  adjudicate: "./adjudicate.js", project: "./export.js", rate: "./rate/page.js", senses: "./senses.js", write: "./write/page.js",
};
const own = PAGES[location.pathname.split("/").at(-1)];
if (own) await import(own);
