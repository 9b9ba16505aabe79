// Draws README's chart from the results of a run: a bar for each contender, for light and for dark pages.
// usage: node chart.cjs RESULTS.json FOLDER [--cpu]    with --cpu processor time, which ignores what else runs
"use strict";
const echarts = require("echarts");
const fs = require("fs");
const path = require("path");

const [results, folder, cpu] = process.argv.slice(2);
// The spread of counters that are all 0 is NaN there, which is no JSON.
const { context, benchmarks } = JSON.parse(fs.readFileSync(results, "utf8").replace(/: -?NaN\b/g, ": null"));

const titles = {
  lido: "Lido",
  dpdk: "DPDK mempool",
  malloc: "glibc malloc",
  boost_lockfree_stack: "boost::lockfree::stack",
  mutex_vector: "mutex + vector",
};
const rows = benchmarks
  .filter((entry) => entry.aggregate_name === "median")
  .map((entry) => ({ name: entry.name.split("/")[1], threads: entry.name.match(/threads:(\d+)/)[1], ns: cpu ? entry.cpu_ns_per_op : entry.ns_per_op }))
  .sort((left, right) => left.ns - right.ns);
if (!rows.some((row) => row.name === "lido")) {
  throw new Error(`${results}: no median of Lido`);
}
const threads = rows[0].threads;
const shown = (ns) => (ns < 10 ? ns.toFixed(2) : ns.toFixed(0));

const themes = {
  light: { text: "#1f2328", dim: "#59636e", line: "#d1d9e0", lido: "#0969da", peer: "#afb8c1" },
  dark: { text: "#e6edf3", dim: "#9198a1", line: "#3d444d", lido: "#4493f8", peer: "#656c76" },
};

function draw(colours) {
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: 720, height: 120 + 28 * rows.length });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: "sans-serif", color: colours.text },
    title: [
      {
        text: `Acquire and release an object of 64 bytes, ${threads} threads`,
        subtext: `nanoseconds of ${cpu ? "processor time" : "one core"} per operation; logarithmic, shorter is better`,
        textStyle: { fontSize: 16, color: colours.text },
        subtextStyle: { color: colours.dim },
      },
      {
        text: `${context.processor}, ${context.cores} cores, ${context.compiler}; ${context.date.slice(0, 10)}; median of ${rows.repetitions}`,
        bottom: 0,
        textStyle: { fontSize: 11, fontWeight: "normal", color: colours.dim },
      },
    ],
    grid: { left: 160, right: 60, top: 52, bottom: 48 },
    xAxis: { type: "log", min: 0.1, startValue: 0.1, axisLabel: { color: colours.dim }, splitLine: { lineStyle: { color: colours.line } } },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map((row) => titles[row.name] ?? row.name),
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { fontSize: 13, color: colours.text },
    },
    series: {
      type: "bar",
      barWidth: 16,
      data: rows.map((row) => ({
        value: row.ns,
        itemStyle: { color: row.name === "lido" ? colours.lido : colours.peer },
        label: { formatter: shown(row.ns) },
      })),
      label: { show: true, position: "right", fontSize: 13, color: colours.text },
    },
  });
  const picture = chart.renderToSVGString();
  chart.dispose(); // or the program would not end
  return picture;
}

rows.repetitions = benchmarks.find((entry) => entry.aggregate_name === "median").repetitions;
fs.mkdirSync(folder, { recursive: true });
for (const [theme, colours] of Object.entries(themes)) {
  fs.writeFileSync(path.join(folder, `pair-${theme}.svg`), draw(colours) + "\n");
}
