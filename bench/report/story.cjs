// Draws the curves of docs/explanation/burst-and-failover.md and frame.md from the outputs of lido_bench_story and
// lido_bench_frame_story, for light and dark pages.
// usage: node story.cjs STORY.json FRAMES.json FOLDER [--check]    with --check fails if a picture differs from the data
"use strict";
const echarts = require("echarts");
const fs = require("fs");
const path = require("path");

const [story, framesFile, folder, check] = process.argv.slice(2);
const runs = JSON.parse(fs.readFileSync(story, "utf8"));
const frames = JSON.parse(fs.readFileSync(framesFile, "utf8"));

const themes = {
  light: { text: "#1f2328", dim: "#59636e", line: "#d1d9e0", lido: "#0969da", "by hand": "#bc4c00", third: "#6e7781" },
  dark: { text: "#e6edf3", dim: "#9198a1", line: "#3d444d", lido: "#4493f8", "by hand": "#f0883e", third: "#9198a1" },
};
const names = { lido: "Lido", "by hand": "a connect for each caller that finds none idle" };

// Scene, what is counted, title, unit of time, kind of the axis. A logarithmic axis shows 0 as its lower end.
const panels = {
  burst: [["open", "Open connections", "milliseconds", "value"], ["served", "Requests that are done", "milliseconds", "sum"]],
  failover: [["connects", "Connects in 50 ms", "seconds", "log"], ["served", "Queries in 50 ms", "seconds", "value"]],
};

function points(run, what, kind, unit) {
  let sum = 0;
  return run[what].map((value, step) => {
    sum += value;
    const at = ((step + 1) * run.step_ms) / (unit === "seconds" ? 1000 : 1);
    return [at, kind === "sum" ? sum : kind === "log" ? Math.max(value, 0.5) : value];
  });
}

function draw(scene, colours) {
  const rows = panels[scene];
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: 720, height: 60 + 230 * rows.length });
  const of = (index) => ({ left: 60, right: 20, top: 70 + 230 * index, height: 150 });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: "sans-serif", color: colours.text },
    color: [colours.lido, colours["by hand"]],
    legend: { top: 0, left: 0, itemGap: 40, data: Object.values(names), textStyle: { color: colours.text, fontSize: 13 }, icon: "roundRect" },
    title: rows.map(([, title], index) => ({ text: title, top: 36 + 230 * index, left: 0, textStyle: { fontSize: 14, color: colours.text } })),
    grid: rows.map((_, index) => of(index)),
    xAxis: rows.map(([, , unit], index) => ({
      gridIndex: index, type: "value", name: unit, nameLocation: "middle", nameGap: 24, nameTextStyle: { color: colours.dim },
      max: unit === "seconds" ? 5 : 300, axisLabel: { color: colours.dim }, splitLine: { show: false }, axisLine: { lineStyle: { color: colours.line } },
    })),
    yAxis: rows.map(([, , , kind], index) => ({
      gridIndex: index, type: kind === "log" ? "log" : "value", min: kind === "log" ? 0.5 : 0,
      axisLabel: { color: colours.dim, formatter: (value) => (value === 0.5 ? "0" : String(value)) }, splitLine: { lineStyle: { color: colours.line } },
    })),
    series: rows.flatMap(([what, , unit, kind], index) => ["lido", "by hand"].map((pool) => ({
      type: "line", name: names[pool], xAxisIndex: index, yAxisIndex: index, showSymbol: false, step: kind === "log" ? false : "end",
      lineStyle: { width: 2, type: pool === "lido" ? "solid" : [6, 3] },
      data: points(runs.find((run) => run.scene === scene && run.pool === pool), what, kind, unit),
      markArea: scene === "failover" && pool === "lido" ? {
        silent: true, itemStyle: { color: colours.line, opacity: 0.4 }, label: { color: colours.dim, position: "insideTop" },
        data: [[{ name: "the server is down", xAxis: 1 }, { xAxis: 3 }]],
      } : undefined,
    }))),
  });
  const picture = chart.renderToSVGString();
  chart.dispose(); // otherwise the program would not end
  return picture + "\n";
}

// Frame times in ascending order: at 50 % is the median, at 99 % what one frame in a hundred exceeds.
function drawFrames(colours) {
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: 720, height: 320 });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: "sans-serif", color: colours.text },
    color: [colours["by hand"], colours.third, colours.lido],
    legend: { top: 0, left: 0, itemGap: 60, textStyle: { color: colours.text, fontSize: 13 }, icon: "roundRect" },
    grid: { left: 60, right: 20, top: 50, bottom: 50 },
    xAxis: { type: "value", min: 0, max: 100, name: "percent of the frames", nameLocation: "middle", nameGap: 26, nameTextStyle: { color: colours.dim },
      axisLabel: { color: colours.dim }, splitLine: { show: false }, axisLine: { lineStyle: { color: colours.line } } },
    yAxis: { type: "log", name: "microseconds", nameTextStyle: { color: colours.dim }, axisLabel: { color: colours.dim }, splitLine: { lineStyle: { color: colours.line } } },
    series: frames.runs.map((run, index) => {
      const sorted = run.us.slice(20).sort((left, right) => left - right); // the first frames touch the memory
      return { type: "line", name: run.jobs === "lido" ? "Lido" : run.jobs, showSymbol: false, lineStyle: { width: 2, type: ["dashed", "dotted", "solid"][index] },
        data: sorted.map((time, at) => [(100 * (at + 1)) / sorted.length, time]) };
    }),
  });
  const picture = chart.renderToSVGString();
  chart.dispose();
  return picture + "\n";
}

const pictures = { burst: (colours) => draw("burst", colours), failover: (colours) => draw("failover", colours), frame: drawFrames };
for (const [name, paint] of Object.entries(pictures)) {
  for (const [theme, colours] of Object.entries(themes)) {
    const file = path.join(folder, `${name}-${theme}.svg`);
    const picture = paint(colours);
    if (!check) {
      fs.writeFileSync(file, picture);
    } else if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== picture) {
      console.error(`${file} differs from its data`);
      process.exitCode = 1;
    }
  }
}
