// Draws the page from what page.py has embedded. ECharts draws the charts; every chart has a table with the same numbers.
"use strict";
const results = JSON.parse(document.getElementById("results").textContent);
const find = (selector) => document.querySelector(selector);
const isOwn = (name) => /^lido/.test(name) || results.own.includes(name); // or the reader's
const hue = (name) => (results.own.includes(name) ? "own" : isOwn(name) ? "lido" : "peer");
const unique = (values) => [...new Set(values)];
const charts = new Map(); // place -> function that draws it again

function number(value) {
  if (value === undefined || value === null) return "-";
  if (value === 0) return "0";
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 0.01 ? value.toFixed(2) : value.toPrecision(2);
}

function make(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// ---- tables -------------------------------------------------------------------------------------

function table(header, rows, caption) {
  const whole = make("table", "");
  whole.append(make("caption", caption, { hidden: "" }));
  const head = whole.createTHead().insertRow();
  head.append(...header.map((text) => make("th", text, { scope: "col" })));
  const body = whole.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    line.className = isOwn(String(row[0])) ? "own" : "";
    line.append(make("th", row[0], { scope: "row" }), ...row.slice(1).map((cell) => make("td", typeof cell === "number" ? number(cell) : cell ?? "-")));
  }
  const scroll = make("div", "", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption });
  scroll.append(whole);
  return scroll;
}

// The table below a chart, folded; open if there are no charts.
function tableBelow(place, header, rows, caption) {
  const old = place.nextElementSibling;
  const details = make("details", "", typeof echarts === "undefined" ? { open: "" } : {});
  details.append(make("summary", "Table"), table(header, rows, caption));
  if (old?.tagName === "DETAILS") {
    details.open = old.open;
    old.replaceWith(details);
  } else {
    place.after(details);
  }
}

// ---- charts -------------------------------------------------------------------------------------

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const symbols = ["circle", "triangle", "diamond", "rect", "emptyCircle", "emptyTriangle", "emptyDiamond", "emptyRect"];
const dashes = ["solid", "dashed", "dotted", [8, 3, 2, 3]];

function draw(place, label, height, option) {
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", label);
  place.style.height = `${height()}px`;
  place.hidden = typeof echarts === "undefined";
  if (place.hidden) return;
  charts.set(place, () => draw(place, label, height, option));
  const chart = echarts.getInstanceByDom(place) ?? echarts.init(place, null, { renderer: "svg" });
  chart.resize();
  chart.setOption(option(), true);
}

function axisStyle() {
  return { axisLabel: { color: colour("dim") }, nameTextStyle: { color: colour("dim") }, axisLine: { onZero: false, lineStyle: { color: colour("line") } }, splitLine: { lineStyle: { color: colour("line") } } };
}

// Names from top to bottom; each series has a value for each name. One series: bars with labels; several: a symbol each.
function ranked(place, names, series, { unit, log, label }) {
  const smallest = Math.min(...series.flatMap((each) => each.values).filter((value) => value > 0), 1e9);
  const least = log ? 10 ** Math.floor(Math.log10(smallest) - (series.length === 1 ? 0.01 : 0)) : 0;
  draw(place, `${label}: ${names.map((name, row) => `${name} ${series.map((each) => number(each.values[row])).join(", ")}`).join("; ")}`, () => 70 + (series.length === 1 ? 24 : 28) * names.length, () => ({
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: colour("text") },
    grid: { left: 4, right: series.length === 1 ? 88 : 24, top: series.length === 1 ? 6 : 34, bottom: 26, containLabel: true },
    legend: { show: series.length > 1, top: 0, itemWidth: 12, textStyle: { color: colour("text") }, selectedMode: false },
    tooltip: { trigger: "item", formatter: (item) => `${names[item.dataIndex]}${series.length > 1 ? `, ${item.seriesName}` : ""}: ${number(series[item.seriesIndex].values[item.dataIndex])} ${unit}` },
    xAxis: { type: log ? "log" : "value", min: least, startValue: least, name: unit, nameLocation: "middle", nameGap: 22, ...axisStyle(), axisLabel: { color: colour("dim"), hideOverlap: true } },
    yAxis: {
      type: "category", inverse: true, data: names, axisTick: { show: false }, ...axisStyle(), axisLine: { show: false }, splitLine: { show: false }, splitArea: { show: series.length > 1, areaStyle: { color: ["transparent", colour("row")] } },
      axisLabel: { color: colour("text"), interval: 0, formatter: (name) => (isOwn(name) ? `{${hue(name)}|${name}}` : name), rich: { lido: { fontWeight: "bold", color: colour("lido") }, own: { fontWeight: "bold", color: colour("own") } } },
    },
    series: series.map((each, index) => ({
      name: each.name, type: series.length === 1 ? "bar" : "scatter", barWidth: 13, symbol: symbols[index], symbolSize: 10, symbolOffset: [0, 4 * (index - (series.length - 1) / 2)], itemStyle: { color: colour(`c${index}`) },
      // A zero has no place on a logarithmic axis and stands at its end. ECharts rounds the end of such an axis to as many digits as
      // the smallest value has, which is 0 beside an exact 1: hence not quite.
      data: each.values.map((value, row) => ({
        value: value === undefined || value === null ? "-" : Math.max(value, least) * (log ? 1.000001 : 1),
        itemStyle: series.length === 1 ? { color: colour(hue(names[row])) } : undefined,
        label: { formatter: each.labels?.[row] ?? number(value) },
      })),
      label: { show: series.length === 1, position: "right", color: colour("text") },
    })),
  }));
}

function lines(place, x, series, { unit, label, cores }) {
  const last = x.filter((count) => count <= cores).pop();
  const legend = () => { // its height
    let [height, used] = [22, 0];
    for (const { name } of series) {
      const width = 62 + 7 * name.length;
      if (used + width > place.clientWidth) [height, used] = [height + 22, 0];
      used += width;
    }
    return height;
  };
  draw(place, label, () => 390 + legend(), () => ({
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: colour("text") },
    grid: { left: 8, right: 20, top: 56, bottom: 44 + legend(), containLabel: true },
    legend: { bottom: 0, textStyle: { color: colour("text") }, selectedMode: false, itemWidth: 44 },
    tooltip: { trigger: "axis", valueFormatter: (value) => `${number(value)} ns`, order: "valueAsc" },
    xAxis: { type: "category", data: x.map(String), boundaryGap: ["5%", "5%"], name: "threads", nameLocation: "middle", nameGap: 26, ...axisStyle() },
    yAxis: { type: "log", name: unit, nameLocation: "end", nameGap: 26, ...axisStyle(), nameTextStyle: { align: "left", color: colour("dim") }, axisLabel: { color: colour("dim") } },
    series: series.map((each, index) => ({ // no two of 32 look alike, also without colour
      name: each.name, type: "line", data: each.values.map((value) => value ?? "-"), connectNulls: true, symbol: symbols[each.style % symbols.length], symbolSize: 10,
      lineStyle: { width: isOwn(each.name) ? 4 : 2, type: dashes[(each.style + Math.floor(each.style / symbols.length)) % dashes.length] }, color: colour(hue(each.name) === "own" ? "own" : `c${each.style % 8}`),
      markLine: index === 0 && last ? { silent: true, symbol: "none", lineStyle: { color: colour("dim"), type: "dashed" }, label: { formatter: `${last < cores ? "≤ " : ""}${cores} cores`, color: colour("dim") }, data: [{ xAxis: String(last) }] } : undefined,
    })),
  }));
}

// ---- sections -----------------------------------------------------------------------------------

function fill(select, values, chosen) {
  select.replaceChildren(...values.map((value) => make("option", value, { value })));
  if (values.map(String).includes(String(chosen))) select.value = chosen;
}

function machine() {
  const { context } = results;
  const facts = {
    Machine: `${context.processor}, ${context.cores} cores, load ${number(context.load)}`, Compiler: context.compiler, malloc: context.malloc, Commit: context.commit, Date: context.date,
    Repetitions: `${context.repetitions}, interleaved at random; medians are shown`,
    Spread: context.spread === null ? "unknown: one repetition" : `±${(100 * context.spread).toFixed(0)} % of the median, in the median cell`,
  };
  for (const [name, value] of Object.entries(facts)) find("#machine").append(make("dt", name), make("dd", value));
  find("#notes").textContent = context.notes.join(" ");
  const wide = matchMedia("(min-width: 40rem)");
  const fold = () => { find("#about").open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();
}

function ranking() {
  const place = find("#ranking .chart");
  const [workload, threads] = [find("#ranking-workload"), find("#ranking-threads")];
  fill(workload, unique(results.rows.map((row) => row.workload)));
  const update = () => {
    fill(threads, unique(results.rows.filter((row) => row.workload === workload.value).map((row) => row.threads)), threads.value || 2);
    find("#ranking-meaning").textContent = results.meaning[workload.value] ?? "";
    const rows = results.rows.filter((row) => row.workload === workload.value && row.threads === Number(threads.value));
    const done = rows.filter((row) => row.ns).sort((left, right) => left.ns - right.ns);
    const values = done.map((row) => row.multiple ?? row.ns);
    const unit = done.some((row) => row.multiple) ? "times the floor" : "ns";
    const spread = (row) => (row.spread === null ? "" : ` ±${(100 * row.spread).toFixed(0)} %`);
    const labels = done.map((row, index) => `${number(values[index])}${unit === "ns" ? " ns" : "×"}${spread(row)}${row.failed > 0 ? " !" : ""}`);
    const label = `${workload.value} on ${threads.value} threads, ${unit}`;
    ranked(place, done.map((row) => row.contender), [{ name: unit, values, labels }], { unit, log: true, label });
    const refused = rows.filter((row) => !row.ns);
    tableBelow(place, ["contender", "times the floor", "ns", "fastest", "slowest", "repetitions", "failed per million"],
      [...done.map((row) => [row.contender, row.multiple, row.ns, row.low, row.high, String(row.repetitions), row.failed]), ...refused.map((row) => [row.contender, row.error])], label);
  };
  workload.onchange = threads.onchange = update;
  update();
  find("#ranking-levels").hidden = results.levels.length === 0;
  find("#ranking-levels").append(table(["pool", "ns", "fastest", "slowest"], results.levels.map((row) => [row.level, row.ns, row.low, row.high]), "Cost of Lido's statistics"));
}

function curves() {
  const place = find("#curves .chart");
  const workload = find("#curves-workload");
  const names = unique(results.rows.map((row) => row.contender)).sort((left, right) => isOwn(right) - isOwn(left) || left.localeCompare(right));
  const usual = ["floor", "lido", "dpdk", "tcmalloc", "malloc", "moodycamel_tokens", "boost_lockfree_stack", "mutex_vector", ...results.own];
  fill(workload, unique(results.rows.map((row) => row.workload)));
  for (const name of names) {
    const label = make("label", "");
    const box = make("input", "", { type: "checkbox", value: name });
    box.checked = names.length <= 8 || usual.includes(name);
    box.onchange = () => update();
    label.append(box, ` ${name}`);
    find("#curves-contenders").append(label);
  }
  const update = () => {
    const rows = results.rows.filter((row) => row.workload === workload.value && row.ns);
    const x = unique(rows.map((row) => row.threads)).sort((left, right) => left - right);
    const shown = [...document.querySelectorAll("#curves-contenders input:checked")].map((box) => box.value);
    const series = names.map((name) => ({ name, style: shown.indexOf(name), values: x.map((count) => rows.find((row) => row.contender === name && row.threads === count)?.ns) })).filter((each) => each.values.some(Boolean));
    const label = `${workload.value}, ns of one core per operation`;
    lines(place, x, series.filter((each) => each.style >= 0), { unit: "ns of one core per operation, logarithmic", label, cores: results.context.cores });
    tableBelow(place, ["contender", ...x.map((count) => `${count} thread${count > 1 ? "s" : ""}`)], series.map((each) => [each.name, ...each.values]), label);
  };
  workload.onchange = update;
  update();
}

function latency() {
  const place = find("#latency .chart");
  const threads = find("#latency-threads");
  const points = ["p50", "p99", "p99.9", "p99.99"];
  fill(threads, unique(results.latency.map((row) => row.threads)), 2);
  const update = () => {
    const [rows, refused] = split(results.latency.filter((row) => row.threads === Number(threads.value)), "p99.99");
    const label = `Acquire on ${threads.value} threads, ns`;
    ranked(place, rows.map((row) => row.contender), points.map((name) => ({ name, values: rows.map((row) => row[name]) })), { unit: "ns", log: true, label });
    tableBelow(place, ["contender", ...points, "max", "samples"], [...rows.map((row) => [row.contender, ...points.map((name) => row[name]), row.max, row.samples]), ...refused], label);
  };
  threads.onchange = update;
  update();
}

// Rows in the order of a field, and rows of a table for those that have an error instead.
function split(rows, field) {
  const sorted = rows.filter((row) => !row.error).sort((left, right) => (left[field] ?? Infinity) - (right[field] ?? Infinity));
  return [sorted, rows.filter((row) => row.error).map((row) => [row.contender, row.error])];
}

// A chart of fields of rows, and its table.
function fields(id, rows, names, options) {
  const [sorted, refused] = split(rows, options.by);
  const place = find(`#${id} .chart`);
  const series = Object.entries(names).filter(([key]) => options.drawn.includes(key)).map(([key, name]) => ({ name, values: sorted.map((row) => row[key]) }));
  ranked(place, sorted.map((row) => row.contender), series, options);
  tableBelow(place, ["contender", ...Object.values(names)], [...sorted.map((row) => [row.contender, ...Object.keys(names).map((key) => row[key])]), ...refused], options.label);
}

function shared() {
  fields("shared", results.locked, { pair: "pair", burst: "burst of 256", handoff: "handoff" },
    { by: "handoff", drawn: ["pair", "burst", "handoff"], unit: "locked instructions per operation", log: false, label: "Locked instructions per operation" });
  find("#shared-counts").append(table(["workload", "threads", "per operation"], results.counts.map((row) => [row.workload, String(row.threads), row.per_operation]), "Lido's shared operations"));
}

function missing() {
  const absent = results.context.absent;
  find("#absent").textContent = absent.length ? `Not installed when the bench was built: ${absent.join(", ")}.` : "All other peers of this build were installed.";
  find("#designs").append(table(["peer", "pair", "burst of 256", "handoff"], results.designs.map((row) => [row.peer, row.pair, row.burst, row.handoff].map((cell) => (cell > 1 ? cell.toFixed(3) : cell))), "Locked instructions per operation of missing peers"));
  for (const { peer, why } of results.designs) find("#designs").append(make("p", `${peer}: ${why}`));
}

function memory() {
  fields("memory", results.memory, { bytes_per_object: "bytes per object", bytes_per_pool: "bytes per unused pool" },
    { by: "bytes_per_object", drawn: ["bytes_per_object"], unit: "bytes per object of 64 bytes", log: false, label: "Memory" });
  find("#memory-pools").append(table(["pool", "heap bytes", "resident bytes", "us to construct, use and destroy"], results.pools.map((row) => [row.name, row.heap_bytes, row.resident_bytes, row.microseconds]), "Pools of 16 slots"));
}

function build() {
  fields("build", results.builds, { seconds: "seconds to compile", object_bytes: "bytes of the object file", linked_bytes: "bytes of a linked program" },
    { by: "seconds", drawn: ["seconds"], unit: "seconds to compile", log: false, label: "Compile time and size" });
}

function flames() {
  const graph = find("#flames-graph");
  const chosen = find("#flames-chosen");
  const { tree, missing: reason } = results.flames;
  if (!tree) {
    graph.textContent = `No flame graph: ${reason}`;
    find("#flames-all").hidden = true;
    return;
  }
  const self = new Map();
  const show = (top) => {
    graph.replaceChildren();
    let deepest = 0;
    const add = (node, left, depth) => {
      const share = node.value / top.value;
      if (share < 0.004) return;
      deepest = Math.max(deepest, depth);
      const text = `${node.name}, ${(100 * node.value / tree.value).toFixed(1)} % of all samples`;
      const button = make("button", node.name.replace(/^(lido|lido_bench|std)::(detail::)?/, ""), { type: "button", title: text, "aria-label": text, class: /^lido::/.test(node.name) ? "own" : "" });
      button.style = `left:${100 * left}%;width:${100 * share}%;top:${1.55 * depth}rem`;
      button.onclick = () => { show(node); chosen.textContent = text; graph.firstElementChild.focus(); };
      graph.append(button);
      for (const child of node.children) {
        add(child, left, depth + 1);
        left += child.value / top.value;
      }
    };
    add(top, 0, 0);
    graph.style.height = `${1.55 * (deepest + 1)}rem`;
  };
  const count = (node) => {
    const own = node.value - node.children.reduce((sum, child) => sum + child.value, 0);
    self.set(node.name, (self.get(node.name) ?? 0) + own);
    node.children.forEach(count);
  };
  count(tree);
  find("#flames-all").onclick = () => { show(tree); chosen.textContent = ""; };
  show(tree);
  const rows = [...self].sort((left, right) => right[1] - left[1]).slice(0, 15).map(([name, value]) => [name, `${(100 * value / tree.value).toFixed(1)} %`]);
  tableBelow(graph, ["function", "samples in itself"], rows, "Functions by samples in themselves");
}

// What this run has not measured is not shown.
const parts = { ranking: [ranking, results.rows], curves: [curves, unique(results.rows.map((row) => row.threads)).length > 1], latency: [latency, results.latency], shared: [shared, results.locked], memory: [memory, results.memory], build: [build, results.builds], flames: [flames, results.flames], peers: [missing, true], data: [() => {}, true] };
const left = [];
machine();
for (const [id, [show, data]] of Object.entries(parts)) {
  const section = find(`#${id}`);
  if (data && data.length !== 0) {
    show();
    find("nav").append(make("a", section.querySelector("h2").textContent, { href: `#${id}` }));
  } else {
    left.push(section.querySelector("h2").textContent);
    section.remove();
  }
}
if (left.length) find("#notes").append(` Not in this run: ${left.join(", ")}. scripts/bench.sh --report DIR measures all of it.`);

addEventListener("resize", () => charts.forEach((redraw) => redraw()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((redraw) => redraw()));
