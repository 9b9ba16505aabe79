// Draws the page from the data that page.py has embedded. ECharts draws the charts; every chart has a table with its numbers.
"use strict";
const results = JSON.parse(document.getElementById("results").textContent);
let run = results.runs[0]; // the chosen one
const find = (selector) => document.querySelector(selector);
const isOwn = (name) => /^lido(?!_bench)/.test(name) || results.own.includes(name); // or the reader's
const hue = (name) => (results.own.includes(name) ? "own" : isOwn(name) ? "lido" : "peer");
const unique = (values) => [...new Set(values)];
const ascending = (values) => unique(values).sort((left, right) => left - right);
const charts = new Map(); // place -> function that draws it again
const printing = () => document.documentElement.classList.contains("printing");
const highest = 880; // pixels of a chart on paper

function number(value) {
  if (typeof value !== "number") return value ?? "-"; // ECharts gives "-" where a line has a gap
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

// Returns the table below a chart, folded; open if there are no charts.
function tableBelow(place, header, rows, caption) {
  const old = place.nextElementSibling;
  const details = make("details", "", typeof echarts === "undefined" ? { open: "" } : {});
  details.append(make("summary", "Table", { "aria-label": `Table: ${caption}` }), table(header, rows, caption));
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
const shapes = ["M-5,0A5,5,0,1,1,5,0A5,5,0,1,1,-5,0Z", "M0,-5.5L5.5,4.5L-5.5,4.5Z", "M0,-6.5L6.5,0L0,6.5L-6.5,0Z", "M-4.5,-4.5H4.5V4.5H-4.5Z"]; // of the first symbols
const dashes = ["solid", "dashed", "dotted", [8, 3, 2, 3]];
const short = (value) => (value >= 1e9 ? `${value / 1e9}G` : value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(value)); // so that ticks do not touch

function draw(place, label, height, option) {
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", label);
  place.hidden = typeof echarts === "undefined";
  if (place.hidden) return;
  charts.set(place, () => draw(place, label, height, option));
  if (place.clientWidth === 0) return; // in a hidden tab; drawn when the tab is shown
  place.style.height = `${height()}px`;
  const chart = echarts.getInstanceByDom(place) ?? echarts.init(place, null, { renderer: "svg" });
  // ECharts would show the tip again a moment later, for series that no longer exist.
  chart.dispatchAction({ type: "hideTip" });
  chart.resize();
  chart.setOption(option(), true);
}

function axisStyle() {
  return { axisLabel: { color: colour("dim") }, nameTextStyle: { color: colour("dim") }, axisLine: { onZero: false, lineStyle: { color: colour("line") } }, splitLine: { lineStyle: { color: colour("line") } } };
}

// Draws a whisker from low to high, a dot at the value, and a label to the right of both.
function whisker(index, count, label) {
  return (_, api) => {
    const at = (dimension) => api.coord([api.value(dimension), api.value(1)]);
    const [x, middle] = at(0);
    const y = middle + 7 * (index - (count - 1) / 2);
    const [low, high] = [at(2)[0], at(3)[0]];
    const stroke = { stroke: api.visual("color"), lineWidth: 2 };
    const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: stroke, silent: true });
    return {
      type: "group",
      children: [
        line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4), // always all: ECharts would keep a removed child
        { type: "path", x, y, shape: { pathData: shapes[index % shapes.length], x: -5, y: -5, width: 10, height: 10 }, style: { fill: api.visual("color") } },
        ...(label ? [{ type: "text", x: Math.max(x + 5, high) + 6, y, silent: true, style: { text: label(api.value(4)), fill: colour("text"), verticalAlign: "middle", fontSize: 12 } }] : []),
      ],
    };
  };
}

// Draws names from top to bottom; each series has a value for each name, and may have its lowest and highest. A logarithmic
// axis begins at 1. Only if a value is below 1, it begins a decade or more earlier.
function ranked(place, names, series, { unit, log, label }) {
  const alone = series.length === 1;
  const known = (value) => value !== undefined && value !== null;
  const smallest = Math.min(...series.flatMap((each) => each.values).filter((value) => value > 0), 1e9);
  const least = !log ? 0 : smallest >= 0.95 ? 1 : 10 ** Math.floor(Math.log10(smallest));
  // ECharts rounds the end of a logarithmic axis to as many digits as the smallest value has, which is 0 beside an exact 1:
  // hence not quite. A zero cannot be on such an axis, so it is moved to its end.
  const decades = Math.log10(Math.max(...series.flatMap((each) => [...each.values, ...(each.highs ?? [])]).filter(known), least || 1) / (least || 1));
  const tick = (value) => (log && decades > 3 && place.clientWidth < 600 && Math.round(Math.log10(value / least)) % 2 ? "" : short(value)); // on a phone every second one
  const labelOf = (value) => series[0].text?.(value) ?? number(value);
  const room = 18 + 6.7 * Math.max(0, ...series[0].values.filter(known).map((value) => labelOf(value).length)); // right of a dot
  const placed = (value) => Math.max(value, least) * (log ? 1.000001 : 1);
  const height = () => {
    const [rest, row] = [alone ? 56 : 86, alone ? 24 : Math.max(28, 9 * series.length + 8)];
    return printing() ? Math.min(rest + row * names.length, highest) : rest + row * names.length;
  };
  draw(place, `${label}: ${names.map((name, row) => `${name} ${series.map((each) => number(each.values[row])).join(", ")}`).join("; ")}`, height, () => ({
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: colour("text") },
    grid: { left: 4, right: alone ? room : 24, top: alone ? 6 : 36, bottom: 26, containLabel: true },
    legend: { show: !alone, type: "scroll", top: 0, itemWidth: 12, textStyle: { color: colour("text") }, selectedMode: false, data: series.map((each, index) => ({ name: each.name, icon: symbols[index % shapes.length] })) },
    tooltip: { trigger: "item", confine: true, formatter: ({ name, seriesName, value }) => `${name}${alone ? "" : `, ${seriesName}`}: ${number(value[4])} ${unit}${value[5] === null ? "" : `, ${number(value[5])} to ${number(value[6])}`}` },
    xAxis: {
      type: log ? "log" : "value", min: least, startValue: least, name: unit, nameLocation: "middle", nameGap: 24, ...axisStyle(), splitNumber: place.clientWidth < 600 ? 3 : 6,
      axisLabel: { color: colour("dim"), hideOverlap: true, formatter: tick },
    },
    yAxis: {
      type: "category", inverse: true, data: names, axisTick: { show: false }, ...axisStyle(), axisLine: { show: false }, splitLine: { show: false }, splitArea: { show: true, areaStyle: { color: ["transparent", colour("row")] } },
      axisLabel: { color: colour("text"), interval: 0, formatter: (name) => (isOwn(name) ? `{${hue(name)}|${name}}` : name), rich: { lido: { fontWeight: "bold", color: colour("lido") }, own: { fontWeight: "bold", color: colour("own") } } },
    },
    series: series.map((each, index) => ({
      name: each.name, type: "custom", clip: false, color: colour(`c${index % 8}`), encode: { x: [0, 2, 3], y: 1 }, renderItem: whisker(index, series.length, alone ? labelOf : null),
      data: each.values.map((value, row) => ({ name: names[row], row, value })).filter(({ value }) => known(value)).map(({ name, row, value }) => {
        const [low, high] = [each.lows?.[row] ?? null, each.highs?.[row] ?? null];
        return { name, value: [placed(value), row, placed(low ?? value), placed(high ?? value), value, low, high], itemStyle: alone ? { color: colour(hue(name)) } : undefined };
      }),
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
    tooltip: { trigger: "axis", confine: true, valueFormatter: (value) => `${number(value)} ns`, order: "valueAsc" },
    xAxis: { type: "category", data: x.map(String), boundaryGap: ["5%", "5%"], name: "threads", nameLocation: "middle", nameGap: 26, ...axisStyle() },
    yAxis: { type: "log", name: unit, nameLocation: "end", nameGap: 26, ...axisStyle(), nameTextStyle: { align: "left", color: colour("dim") }, axisLabel: { color: colour("dim"), formatter: short } },
    series: series.map((each, index) => ({ // no two of the first 32 look alike, even without colour
      name: each.name, type: "line", data: each.values.map((value) => value ?? "-"), connectNulls: true, symbol: symbols[each.style % symbols.length], symbolSize: 10,
      lineStyle: { width: isOwn(each.name) ? 4 : 2, type: dashes[(each.style + Math.floor(each.style / symbols.length)) % dashes.length] }, color: colour(hue(each.name) === "own" ? "own" : `c${each.style % 8}`),
      markLine: index === 0 && last ? { silent: true, symbol: "none", lineStyle: { color: colour("dim"), type: "dashed" }, label: { formatter: `${last < cores ? "≤ " : ""}${cores} cores`, color: colour("dim") }, data: [{ xAxis: String(last) }] } : undefined,
    })),
  }));
}

// ---- the reader's choice, also in the address ---------------------------------------------------

// The address ends in #section&control=value&control=value; either part may be missing.
const anchor = () => (/^#[^=&]+(?=&|$)/.exec(location.hash) ?? [""])[0].slice(1);
const wanted = () => new URLSearchParams(location.hash.slice(1).replace(/^[^=&]*(&|$)/, ""));

function save() {
  const chosen = new URLSearchParams();
  const shown = [...document.querySelectorAll(".panel")].findIndex((panel) => !panel.hidden);
  if (shown > 0) chosen.set("tab", document.querySelectorAll(".panel")[shown].id);
  document.querySelectorAll("select[data-chosen]").forEach((select) => chosen.set(select.id, select.value));
  const parts = [anchor(), chosen.toString()].filter(Boolean).join("&");
  if (`#${parts}` !== location.hash && (parts || location.hash)) history.replaceState(null, "", `#${parts}`);
}

// Keeps the choice, or takes it from the address.
function fill(select, values, texts = values, usual = values[0]) {
  const asked = select.dataset.chosen ? select.value : wanted().get(select.id);
  select.replaceChildren(...values.map((value, index) => make("option", texts[index], { value })));
  const known = (value) => value !== null && values.map(String).includes(String(value));
  if (known(asked)) select.dataset.chosen = "yes";
  select.value = known(asked) ? asked : usual;
}

function onChoice(selects, update) {
  for (const select of selects) {
    select.onchange = () => { select.dataset.chosen = "yes"; update(); save(); };
  }
  update();
}

// Eight threads, or the most measured: contention first.
const most = (counts) => (counts.includes(8) ? 8 : Math.max(...counts));

// ---- sections -----------------------------------------------------------------------------------

// Returns the contenders of a workload from fast to slow, and a series for each run.
function times(workload, threads, names = null) {
  const rows = (each) => each.rows.filter((row) => row.workload === workload && row.threads === threads && (!names || names.includes(row.contender)));
  const done = rows(run).filter((row) => row.ns).sort((left, right) => left.ns - right.ns);
  const unit = done.some((row) => row.multiple) ? "times the floor" : "ns";
  const [scale, sign] = unit === "ns" ? [() => 1, " ns"] : [(row) => row.multiple / row.ns, "×"];
  const order = unique([...done, ...results.runs.filter((each) => each !== run).flatMap((each) => rows(each).filter((row) => row.ns))].map((row) => row.contender));
  const series = [run, ...results.runs.filter((each) => each !== run)].map((each) => {
    const cells = order.map((name) => rows(each).find((row) => row.contender === name && row.ns));
    const value = (key) => cells.map((row) => (row && row[key] !== null ? row[key] * scale(row) : null));
    return { name: each.label, values: value("ns"), lows: value("low"), highs: value("high"), text: (number_) => {
      const failed = cells.some((row) => row?.failed > 0 && row.ns * scale(row) === number_);
      return `${number(number_)}${sign}${failed ? " !" : ""}`;
    } };
  });
  return { order, series: series.filter((each) => each.values.some((value) => value !== null)), unit, done, refused: rows(run).filter((row) => !row.ns) };
}

function contention() {
  const names = [...results.best_known, ...results.own];
  for (const [workload, title] of [["burst", "Bursts of 256"], ["handoff", "Hand-off between threads"]]) {
    const counts = ascending(run.rows.filter((row) => row.workload === workload).map((row) => row.threads));
    const place = find(`#contention-${workload}`);
    place.parentElement.hidden = counts.length === 0;
    if (counts.length === 0) continue;
    const threads = most(counts);
    const { order, series, unit } = times(workload, threads, names);
    find(`#contention-${workload}-title`).textContent = `${title}, ${threads} thread${threads > 1 ? "s" : ""}`;
    const label = `${title} on ${threads} threads, ${unit}`;
    ranked(place, order, series, { unit, log: true, label });
    tableBelow(place, ["contender", ...series.map((each) => (series.length > 1 ? each.name : unit))], order.map((name, row) => [name, ...series.map((each) => each.values[row])]), label);
  }
}

function ranking() {
  const place = find("#ranking .chart");
  const [workload, threads] = [find("#ranking-workload"), find("#ranking-threads")];
  fill(workload, unique(run.rows.map((row) => row.workload)));
  onChoice([workload, threads], () => {
    const counts = ascending(run.rows.filter((row) => row.workload === workload.value).map((row) => row.threads));
    fill(threads, counts, counts, most(counts));
    const { order, series, unit, done, refused } = times(workload.value, Number(threads.value));
    const label = `${workload.value} on ${threads.value} threads, ${unit}`;
    find("#ranking-meaning").textContent = `${workload.value} on ${threads.value} thread${threads.value === "1" ? "" : "s"}: ${results.meaning[workload.value] ?? ""}`;
    ranked(place, order, series, { unit, log: true, label });
    const others = series.slice(1);
    const of = (name) => others.map((each) => each.values[order.indexOf(name)]);
    tableBelow(place, ["contender", "times the floor", "ns", "fastest", "slowest", "repetitions", "failed per million", ...others.map((each) => `${unit}, ${each.name}`)],
      [...done.map((row) => [row.contender, row.multiple, row.ns, row.low, row.high, String(row.repetitions), row.failed, ...of(row.contender)]), ...refused.map((row) => [row.contender, row.error])], label);
  });
  const warning = find("#ranking-warning");
  warning.hidden = !run.context.warning;
  warning.replaceChildren(make("strong", "Warning."), ` ${run.context.warning}`);
  find("#ranking-levels").hidden = run.levels.length === 0;
  find("#ranking-levels .tables").replaceChildren(table(["pool", "ns", "fastest", "slowest"], run.levels.map((row) => [row.level, row.ns, row.low, row.high]), "Cost of Lido's statistics"));
}

function curves() {
  const place = find("#curves .chart");
  const workload = find("#curves-workload");
  const names = unique(run.rows.map((row) => row.contender)).sort((left, right) => isOwn(right) - isOwn(left) || left.localeCompare(right));
  const usual = [...results.best_known, ...results.own];
  const styles = unique(["lido", ...usual, ...names]).filter((name) => names.includes(name)); // a contender looks the same whichever others are drawn
  fill(workload, unique(run.rows.map((row) => row.workload)));
  find("#curves-contenders").replaceChildren(make("legend", "Contenders"), ...names.map((name) => {
    const label = make("label", "");
    const box = make("input", "", { type: "checkbox", value: name });
    box.checked = names.length <= 8 || usual.includes(name);
    box.onchange = () => update();
    label.append(box, ` ${name}`);
    return label;
  }));
  const update = () => {
    const rows = run.rows.filter((row) => row.workload === workload.value && row.ns);
    const x = ascending(rows.map((row) => row.threads));
    const shown = [...document.querySelectorAll("#curves-contenders input:checked")].map((box) => box.value);
    const series = names.map((name) => ({ name, style: styles.indexOf(name), values: x.map((count) => rows.find((row) => row.contender === name && row.threads === count)?.ns) })).filter((each) => each.values.some(Boolean));
    const label = `${workload.value}, ns of one core per operation`;
    find("#curves-meaning").textContent = `${workload.value}: ${results.meaning[workload.value] ?? ""}`;
    lines(place, x, series.filter((each) => shown.includes(each.name)), { unit: "ns of one core per operation, logarithmic", label, cores: run.context.cores });
    tableBelow(place, ["contender", ...x.map((count) => `${count} thread${count > 1 ? "s" : ""}`)], series.map((each) => [each.name, ...each.values]), label);
  };
  onChoice([workload], update);
}

function latency() {
  const place = find("#latency .chart");
  const threads = find("#latency-threads");
  const points = ["p50", "p99", "p99.9", "p99.99"];
  const counts = ascending(run.latency.map((row) => row.threads));
  fill(threads, counts, counts, most(counts));
  onChoice([threads], () => {
    const [rows, refused] = split(run.latency.filter((row) => row.threads === Number(threads.value)), "p99.99");
    const label = `Acquire on ${threads.value} threads, ns`;
    find("#latency-meaning").textContent = `On ${threads.value} thread${threads.value === "1" ? "" : "s"}:`;
    ranked(place, rows.map((row) => row.contender), points.map((name) => ({ name, values: rows.map((row) => row[name]) })), { unit: "ns", log: true, label });
    tableBelow(place, ["contender", ...points, "max", "samples"], [...rows.map((row) => [row.contender, ...points.map((name) => row[name]), row.max, row.samples]), ...refused], label);
  });
}

// Returns rows in the order of a field, and rows of a table for those with an error instead.
function split(rows, field) {
  const sorted = rows.filter((row) => !row.error).sort((left, right) => (left[field] ?? Infinity) - (right[field] ?? Infinity));
  return [sorted, rows.filter((row) => row.error).map((row) => [row.contender, row.error])];
}

// Draws a chart of fields of rows, and its table.
function fields(id, rows, names, options) {
  const [sorted, refused] = split(rows, options.by);
  const place = find(`#${id} .chart`);
  const series = Object.entries(names).filter(([key]) => options.drawn.includes(key)).map(([key, name]) => ({ name, values: sorted.map((row) => row[key]) }));
  ranked(place, sorted.map((row) => row.contender), series, options);
  tableBelow(place, ["contender", ...Object.values(names)], [...sorted.map((row) => [row.contender, ...Object.keys(names).map((key) => row[key])]), ...refused], options.label);
}

function shared() {
  fields("shared", run.locked, { pair: "pair", burst: "burst of 256", handoff: "handoff",
    pair_instructions: "all of a pair", burst_instructions: "all of a burst, per object" },
    { by: "handoff", drawn: ["pair", "burst", "handoff"], unit: "locked instructions per operation", log: false, label: "Locked instructions per operation" });
  find("#shared-counts").replaceChildren(table(["workload", "threads", "per million operations"], run.counts.map((row) => [row.workload, String(row.threads), row.per_million]), "Lido's shared operations"));
}

function missing() {
  const absent = run.context.absent;
  find("#absent").textContent = absent.length ? `Not installed when the bench was built: ${absent.join(", ")}.` : "All other peers of this build were installed.";
  find("#designs").replaceChildren(table(["peer", "pair", "burst of 256", "handoff"], results.designs.map((row) => [row.peer, row.pair, row.burst, row.handoff].map((cell) => (cell > 1 ? cell.toFixed(3) : cell))), "Locked instructions per operation of missing peers"));
  for (const { peer, why } of results.designs) find("#designs").append(make("p", `${peer}: ${why}`));
}

function memory() {
  fields("memory", run.memory, { bytes_per_object: "bytes per object", bytes_per_pool: "bytes per unused pool" },
    { by: "bytes_per_object", drawn: ["bytes_per_object"], unit: "bytes per object of 64 bytes", log: false, label: "Memory" });
  find("#memory-pools").replaceChildren(table(["pool", "heap bytes", "resident bytes", "µs to construct, use and destroy"], run.pools.map((row) => [row.name, row.heap_bytes, row.resident_bytes, row.microseconds]), "Pools of 16 slots"));
}

function build() {
  fields("build", run.builds, { seconds: "seconds to compile", object_bytes: "bytes of the object file", linked_bytes: "bytes of a linked program" },
    { by: "seconds", drawn: ["seconds"], unit: "seconds to compile", log: false, label: "Compile time and size" });
}

// Draws pools of another kind: measures with columns, of which one is drawn.
function otherPools(id, measures) {
  const place = find(`#${id} .chart`);
  const [measure, column] = [find(`#${id}-measure`), find(`#${id}-column`)];
  fill(measure, measures.map((each) => each.name));
  onChoice([measure, column], () => {
    const { name, meaning, columns, rows } = measures.find((each) => each.name === measure.value);
    const keys = columns.map((each) => each.key);
    fill(column, keys, columns.map((each) => each.text), keys.at(-1));
    const text = columns.find((each) => String(each.key) === column.value).text;
    const done = rows.filter((row) => String(row.column) === column.value).sort((left, right) => left.ns - right.ns);
    const label = `${name}, ${text}, ns`;
    find(`#${id}-meaning`).textContent = `${name}, ${text}: ${meaning}`;
    ranked(place, done.map((row) => row.contender), [{ name: "ns", values: done.map((row) => row.ns), lows: done.map((row) => row.low), highs: done.map((row) => row.high), text: (value) => `${number(value)} ns` }], { unit: "ns", log: true, label });
    tableBelow(place, ["contender", ...columns.map((each) => each.text)], unique([...done, ...rows].map((row) => row.contender)).map((contender) => [contender, ...keys.map((key) => rows.find((row) => row.contender === contender && row.column === key)?.ns)]), label);
  });
}

// Returns as much of a function's name as fits into a box of this width, its own name first; nothing if it would be cut too short.
function labelOf(name, width) {
  const parts = name.split(/::(?!operator\b)/);
  const fits = (text) => 7 * text.length + 8 <= width;
  let text = parts.pop();
  while (parts.length && fits(`${parts.at(-1)}::${text}`)) text = `${parts.pop()}::${text}`;
  return fits(text.slice(0, 7)) ? text : "";
}

function flames() {
  const graph = find("#flames-graph");
  const chosen = find("#flames-chosen");
  const { tree, missing: reason } = run.flames;
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
      const button = make("button", labelOf(node.name, share * graph.clientWidth), { type: "button", title: text, "aria-label": text, class: /^lido::/.test(node.name) ? "own" : "" });
      button.style = `left:${100 * left}%;width:${100 * share}%;top:${1.55 * depth}rem`;
      button.onclick = () => { show(node); chosen.textContent = text; graph.firstElementChild.focus(); };
      graph.append(button);
      for (const child of node.children) {
        add(child, left, depth + 1);
        left += child.value / top.value;
      }
    };
    add(top, 0, 0);
    charts.set(graph, () => show(top)); // labels follow the width
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

// ---- the whole page -----------------------------------------------------------------------------

// Values that a run has not measured are not shown.
const parts = {
  contention: [contention, () => run.rows.filter((row) => (row.workload === "burst" || row.workload === "handoff") && row.ns)], ranking: [ranking, () => run.rows],
  curves: [curves, () => unique(run.rows.map((row) => row.threads)).length > 1], latency: [latency, () => run.latency], shared: [shared, () => run.locked], memory: [memory, () => run.memory],
  build: [build, () => run.builds], flames: [flames, () => run.flames], peers: [missing, () => true],
  connections: [() => otherPools("connections", run.connections), () => run.connections], "slot-maps": [() => otherPools("slot-maps", run.slot_maps), () => run.slot_maps], data: [() => {}, () => true],
};

function sections() {
  find("nav").replaceChildren(...Object.keys(parts).map((id) => find(`#${id}`)).filter((section) => !section.hidden && !section.closest(".panel[hidden]"))
    .map((section) => make("a", section.querySelector("h2").textContent, { href: `#${section.id}` })));
}

// Chooses the tab that has this panel.
function showTab(id) {
  for (const panel of document.querySelectorAll(".panel")) panel.hidden = panel.id !== id;
  for (const tab of document.querySelectorAll(".tabs button")) tab.setAttribute("aria-pressed", String(tab.value === id));
  sections();
  charts.forEach((redraw) => redraw());
}

function showRun() {
  const left = [];
  for (const [id, [show, data]] of Object.entries(parts)) {
    const [section, found] = [find(`#${id}`), data()];
    section.hidden = !found || found.length === 0;
    if (section.hidden) left.push(section.querySelector("h2").textContent);
    else show();
  }
  find("#left-out").textContent = left.length ? `Not in this run: ${left.join(", ")}. scripts/bench.sh --report DIR measures all of it.` : "";
  const full = [...document.querySelectorAll(".panel")].filter((panel) => panel.querySelector("section:not([hidden])"));
  find(".tabs").hidden = full.length < 2;
  find(".tabs").replaceChildren(...full.map((panel) => {
    const tab = make("button", panel.dataset.tab, { type: "button", value: panel.id });
    tab.onclick = () => { showTab(panel.id); save(); };
    return tab;
  }));
  const shown = [find(`#${CSS.escape(anchor() || "-")}`)?.closest(".panel")?.id, wanted().get("tab"), full.find((panel) => !panel.hidden)?.id, full[0].id];
  showTab(shown.find((id) => full.some((panel) => panel.id === id)));
}

const whichRun = find("#run");
find("#choose-run").hidden = results.runs.length < 2;
fill(whichRun, results.runs.map((_, index) => index), results.runs.map((each) => each.label));
onChoice([whichRun], () => { run = results.runs[whichRun.value]; showRun(); });
find(`#${CSS.escape(anchor() || "-")}`)?.scrollIntoView();

// A link to a section keeps the choice; a pasted address replaces it.
addEventListener("hashchange", () => {
  const panel = find(`#${CSS.escape(anchor() || "-")}`)?.closest(".panel")?.id ?? wanted().get("tab");
  if (panel && find(`#${CSS.escape(panel)}`)?.hidden) showTab(panel);
  for (const [id, value] of wanted()) {
    const select = document.getElementById(id);
    if (select?.localName !== "select" || select.value === value || ![...select.options].some((option) => option.value === value)) continue;
    select.value = value;
    select.onchange();
  }
  find(`#${CSS.escape(anchor() || "-")}`)?.scrollIntoView();
  save();
});

document.querySelectorAll(".charted").forEach((text) => { text.hidden = typeof echarts === "undefined"; });
find("#about").open = false; // the page begins with contention

// On paper: all tabs and tables, in the width of a page.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open], .controls)")];
  folded.forEach((details) => { details.open = true; });
  document.documentElement.classList.add("printing");
  charts.forEach((redraw) => redraw());
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  folded.forEach((details) => { details.open = false; });
  charts.forEach((redraw) => redraw());
});
addEventListener("resize", () => charts.forEach((redraw) => redraw()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((redraw) => redraw()));
