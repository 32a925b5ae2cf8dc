// Charts are saved as they are described, dark on white, whatever the theme of the page.
const saved = async (button) => {
  const chart = document.querySelector(`#${CSS.escape(button.dataset.chart)} .js-plotly-plot`);
  if (!chart || !window.Plotly) return;
  const height = chart.layout?.height ?? 400;
  const wide = chart.data.filter((trace) => !/-(middle|narrow)$/.test(trace.uid)); // names of narrower charts
  await window.Plotly.downloadImage({ data: wide, layout: chart.layout }, {
    width: 960, height, format: button.dataset.format, filename: button.dataset.file,
    scale: button.dataset.format === "png" ? 2 : 1,
  });
};

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-chart]");
  if (button) saved(button);
});

// What a narrow chart has widened stays wide when a phone is turned: names stand too close then.
const restored = () => {
  for (const chart of document.querySelectorAll(".js-plotly-plot")) {
    if (chart.layout?.meta) window.Plotly?.relayout(chart, structuredClone(chart.layout.meta));
  }
};
let waiting = 0; // a timer: Plotly resizes its charts first
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(restored, 300);
});

// A screen reader says what a chart shows, and where to read the same figures.
const named = () => {
  for (const bar of document.querySelectorAll("[data-chart-name]")) {
    const chart = document.querySelector(`#${CSS.escape(bar.dataset.chartName)} .js-plotly-plot`);
    if (!chart || chart.getAttribute("role") === "img") continue;
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", bar.dataset.says);
  }
};
// Plotly's tips are white on a pale grey.
const legible = () => {
  for (const tip of document.querySelectorAll(".notifier-note")) tip.style.backgroundColor = "#404b63";
};
const tended = () => { named(); legible(); };
tended();
new MutationObserver(tended).observe(document.documentElement, { childList: true, subtree: true });
