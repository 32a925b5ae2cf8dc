// What the public page loads; its names are for the `js` of Gradio's events, as `(await kpdemo).examples.restore()`.
import "./page.js";
import "./focus.js";
import "./reader.js";
import "./charts.js";

export * as answer from "./answer.js";
export * as files from "./files.js";
export * as examples from "./examples.js";
