// Draws README's chart from publish.py's output on standard input: a dot for each contender and a whisker for its spread, for
// light and for dark pages.
// usage: node chart.cjs FOLDER <CHART.json
"use strict";
const echarts = require("echarts");
const fs = require("fs");
const path = require("path");

const folder = process.argv[2];
const { title, subtitle, caption, rows } = JSON.parse(fs.readFileSync(0, "utf8"));

const themes = {
  light: { text: "#1f2328", dim: "#59636e", line: "#d1d9e0", lido: "#0969da", peer: "#818b98" },
  dark: { text: "#e6edf3", dim: "#9198a1", line: "#3d444d", lido: "#4493f8", peer: "#8b949e" },
};

// The axis begins at 1, the floor. A value slightly below 1 would be drawn outside, so it is moved to the end.
const placed = (value) => Math.max(value, 1) * 1.000001;

function mark(colours) {
  return (params, api) => {
    const row = rows[params.dataIndex];
    const at = (dimension) => api.coord([api.value(dimension), params.dataIndex]);
    const [x, y] = at(0);
    const [low, high] = [at(2)[0], at(3)[0]];
    const stroke = { stroke: row.own ? colours.lido : colours.peer, lineWidth: 2 };
    const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: stroke });
    return {
      type: "group",
      children: [
        line(low, y, high, y), line(low, y - 5, low, y + 5), line(high, y - 5, high, y + 5),
        { type: "circle", shape: { cx: x, cy: y, r: 6 }, style: { fill: stroke.stroke } },
        { type: "text", x: Math.max(x + 6, high) + 7, y, style: { text: row.label, fill: colours.text, fontSize: 13, verticalAlign: "middle" } },
      ],
    };
  };
}

function draw(colours) {
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: 720, height: 120 + 28 * rows.length });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: "sans-serif", color: colours.text },
    title: [
      { text: title, subtext: subtitle, textStyle: { fontSize: 16, color: colours.text }, subtextStyle: { color: colours.dim } },
      { text: caption, bottom: 0, textStyle: { fontSize: 11, fontWeight: "normal", color: colours.dim } },
    ],
    grid: { left: 170, right: 110, top: 52, bottom: 48 },
    xAxis: { type: "log", min: 1, startValue: 1, axisLabel: { color: colours.dim }, splitLine: { lineStyle: { color: colours.line } } },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map((row) => row.name),
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { fontSize: 13, interval: 0, color: colours.text },
    },
    series: {
      type: "custom",
      clip: false,
      encode: { x: [0, 2, 3], y: 1 },
      renderItem: mark(colours),
      data: rows.map(({ value, low, high }, row) => [placed(value), row, placed(low ?? value), placed(high ?? value)]),
    },
  });
  const picture = chart.renderToSVGString();
  chart.dispose(); // otherwise the program would not end
  return picture;
}

fs.mkdirSync(folder, { recursive: true });
for (const [theme, colours] of Object.entries(themes)) {
  fs.writeFileSync(path.join(folder, `contention-${theme}.svg`), draw(colours) + "\n");
}
