"""The parts of the report that need no JavaScript: its headings, and every number as a table."""
import html


def number(value):
    if value is None:
        return "-"
    if isinstance(value, str):
        return html.escape(value)
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.01 else f"{value:.2g}"


def table(caption, header, rows):
    if not rows:  # not in this run
        return ""
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in header)
    body = "".join(f'<tr><th scope="row">{html.escape(str(row[0]))}</th>' + "".join(f"<td>{number(cell)}</td>" for cell in row[1:]) + "</tr>"
                   for row in rows)
    return (f'<div class="scroll"><table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def facts(run):
    context = run["context"]
    spread = context["spread"]
    pinned = "; threads pinned to processors" if context["pinned"] == "yes" else ""
    return {
        "Processor": f"{context['processor']}, {context['cores']} cores, load {number(context['load'])}{pinned}",
        "Compiler": context["compiler"], "malloc": context["malloc"], "Commit": context["commit"], "Date": context["date"],
        "Repetitions": f"{context['repetitions']}, interleaved at random; medians are shown",
        "Spread": "unknown: one repetition" if spread is None else f"±{100 * spread:.0f} % of the median, in the median cell",
    }


def heads(runs, has_charts):
    """Returns warnings, the summary and the machine of each run; mark of the page -> text."""
    parts = [] if has_charts else ['<p class="warning">No charts: build/echarts is missing; scripts/setup.sh bench gets it.</p>']
    for run in runs:
        of = f"{html.escape(run['label'])}: " if len(runs) > 1 else ""
        if run["context"]["disturbed"]:
            parts.append(f'<p class="warning"><strong>Warning.</strong> {of}Something else ran on this machine meanwhile, so the times are too '
                         "long. Measure again on a quiet one.</p>")
        if run["context"]["verdict"]:
            parts.append(f'<p class="verdict">{of}{html.escape(run["context"]["verdict"])}</p>')
    parts += [f"<p>{html.escape(note)}</p>" for note in dict.fromkeys(note for run in runs for note in run["context"]["notes"])]
    machines = "".join("<dl>" + "".join(f"<dt>{name}</dt><dd>{html.escape(str(text))}</dd>" for name, text in facts(run).items()) + "</dl>"
                       for run in runs)
    names = "; ".join(f"{run['label']}, {run['context']['date'][:10]}" for run in runs)
    return {"{said}": "\n".join(parts), "{machine}": f"Machine and sections: {html.escape(names)}", "{machines}": f'<div id="machine">{machines}</div>'}


def threads_text(count):
    return f"{count} thread{'s' if count > 1 else ''}"


def cell(row):
    if row is None:
        return "-"
    if not row["ns"]:
        return row["error"] or "-"
    return number(row["ns"]) + (f" ({number(row['multiple'])}×)" if row["multiple"] else "")


def by_threads(run, meaning):
    """Returns a table for each workload: ns, and in brackets the multiple of the floor."""
    for workload in dict.fromkeys(row["workload"] for row in run["rows"]):
        cells = {(row["contender"], row["threads"]): row for row in run["rows"] if row["workload"] == workload}
        counts = sorted({threads for _, threads in cells})
        names = sorted({name for name, _ in cells},
                       key=lambda name: min((row["ns"] for (of, _), row in cells.items() if of == name and row["ns"]), default=float("inf")))
        yield table(f"{workload}: {meaning.get(workload, '')}; ns of one core per operation, and the multiple of the floor",
                    ["contender", *map(threads_text, counts)], [[name, *(cell(cells.get((name, count))) for count in counts)] for name in names])


def simple(caption, rows, names):
    return table(caption, [*names.values()], [[row.get(key, row.get("error") if place == 1 else None) for place, key in enumerate(names)] for row in rows])


def of_measures(measures):
    for one in measures:
        cells = {(row["contender"], row["column"]): row["ns"] for row in one["rows"]}
        keys = [column["key"] for column in one["columns"]]
        yield table(f"{one['name']}: {one['meaning']}, ns", ["contender", *(column["text"] for column in one["columns"])],
                    [[name, *(cells.get((name, key)) for key in keys)] for name in dict.fromkeys(row["contender"] for row in one["rows"])])


def of_run(run, meaning):
    """Returns section -> its tables."""
    points = ("p50", "p99", "p99.9", "p99.99", "max", "samples")
    counts = sorted({row["threads"] for row in run["latency"]})
    return {
        "ranking": [*([f'<p class="warning"><strong>Warning.</strong> {html.escape(warned)}</p>'] if (warned := run["context"]["warning"]) else []), *by_threads(run, meaning), *([simple("What Lido's statistics cost, ns", run["levels"],
                    {"level": "pool", "ns": "ns", "low": "fastest", "high": "slowest"})] if run["levels"] else [])],
        "latency": [simple(f"Acquire on {threads_text(count)}, ns", [row for row in run["latency"] if row["threads"] == count],
                           {"contender": "contender", **{point: point for point in points}}) for count in counts],
        "shared": [simple("Locked instructions per operation", run["locked"],
                          {"contender": "contender", "pair": "pair", "burst": "burst of 256", "handoff": "handoff",
                           "pair_instructions": "all of a pair", "burst_instructions": "all of a burst, per object"}),
                   simple("Lido's shared operations", [{**row, "threads": str(row["threads"])} for row in run["counts"]],
                          {"workload": "workload", "threads": "threads", "per_million": "per million operations"})],
        "memory": [simple("Memory", run["memory"], {"contender": "contender", "bytes_per_object": "bytes per object",
                                                    "bytes_per_pool": "bytes per unused pool"}),
                   simple("Pools of 16 slots", run["pools"], {"name": "pool", "heap_bytes": "heap bytes", "resident_bytes": "resident bytes",
                                                              "microseconds": "µs to construct, use and destroy"})],
        "build": [simple("Compile time and size", run["builds"], {"contender": "contender", "seconds": "seconds to compile",
                                                                  "object_bytes": "bytes of the object file", "linked_bytes": "bytes of a linked program"})],
        "connections": [*of_measures(run["connections"])], "slot-maps": [*of_measures(run["slot_maps"])],
    }


def sections(shown):
    """Returns section -> its tables of all runs, each run under its name."""
    found = [(run, of_run(run, shown["meaning"])) for run in shown["runs"]]
    texts = {part: "".join((f"<h3>{html.escape(run['label'])}</h3>" if len(found) > 1 else "") + "".join(parts[part]) for run, parts in found)
             for part in found[0][1]}
    designs = simple("Locked instructions per operation of missing peers", [{key: round(value, 3) if isinstance(value, float) else value
                     for key, value in design.items()} for design in shown["designs"]],
                     {"peer": "peer", "pair": "pair", "burst": "burst of 256", "handoff": "handoff"})
    return {**texts, "peers": designs}
