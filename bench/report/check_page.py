#!/usr/bin/env python3
"""Opens a contention report in headless Chromium as a reader would, and keeps screenshots of it.

usage: check_page.py PAGE FOLDER [PART...]    sections, and parts of them by their id, that the page must show

It looks at the page on a desk, on a phone, in dark mode, on paper and without JavaScript. It walks through each tab by keys,
uses each control on the way, and then chooses every option with the pointer over the chart. It fails on errors in the console,
requests to a network, and pages wider than the screen. It also fails on charts without content, on labels that touch, and on
charts or a flame graph that paper would cut. Keys have to reach each control, and the focus has to be seen. No link may leave
the file, and the address has to bring back what was chosen.
"""
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHOOSE = """(() => {
  let clicked = 0;
  const click = (element) => { element.click(); ++clicked; };
  document.querySelectorAll("details:not([open]) > summary").forEach(click);
  document.querySelectorAll("input[type=checkbox]").forEach((box) => { click(box); click(box); });
  [...document.querySelectorAll("#flames-graph button")].slice(0, 40).forEach((button) => button.isConnected && click(button));
  document.querySelectorAll("#flames-all, nav a").forEach(click);
  scrollTo(0, 0);
  return clicked;
})()"""
TABS = """[...document.querySelectorAll(".tabs button")].map((tab) => tab.value)"""
SELECTS = """[...document.querySelectorAll("section select")].filter((select) => select.checkVisibility()).map((select) =>
  [select.id, [...select.options].map((option) => option.value)])"""
EMPTY = """[...document.querySelectorAll(".chart")].filter((chart) => chart.checkVisibility()).filter((chart) =>
  chart.querySelectorAll("path, text").length < 5 || !chart.getAttribute("aria-label")).map((chart) => chart.parentElement.id)"""
# Texts of one chart that touch, or extend beyond it.
TOUCHING = """[...document.querySelectorAll(".chart")].filter((chart) => chart.checkVisibility()).flatMap((chart) => {
  const frame = chart.getBoundingClientRect();
  const boxes = [...chart.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => [text.textContent, text.getBoundingClientRect()]);
  const touch = (a, b) => a.left < b.right + 4 && b.left < a.right + 4 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  return boxes.flatMap(([text, box], index) => [
    ...boxes.slice(index + 1).filter(([, other]) => touch(box, other)).map(([other]) => `${chart.parentElement.id}: "${text}" touches "${other}"`),
    ...(box.left < frame.left - 2 || box.right > frame.right + 2 ? [`${chart.parentElement.id}: "${text}" leaves the chart`] : [])]);
})"""
# Bars do not belong on a logarithmic axis, which begins at 1 unless a value is below.
MISLEADING = """typeof echarts === "undefined" ? [] : [...document.querySelectorAll(".chart")].filter((chart) => {
  const option = echarts.getInstanceByDom(chart)?.getOption();
  return option?.xAxis[0].type === "log" && (option.series.some((each) => each.type === "bar")
    || option.xAxis[0].min !== 1 && !option.series.some((each) => each.data.some((item) => item.value[4] < 0.95)));
}).map((chart) => chart.closest("section").id)"""
OUTSIDE = """[...document.querySelectorAll("a[href]")].filter((link) => !/^(#|data:)/.test(link.getAttribute("href"))).map((link) => link.href)"""
UNNAMED = """[...document.querySelectorAll("#flames-graph button")].filter((box) => box.clientWidth > 60 && !box.title.includes(box.textContent.trim() || "?"))
  .map((box) => box.title)"""
# What a reader sees on paper, recorded just before printing.
ON_PAPER = """addEventListener("beforeprint", () => {
  const style = (place) => getComputedStyle(place);
  window.onPaper = {
    panels: [...document.querySelectorAll(".panel")].filter((panel) => !panel.checkVisibility() && panel.querySelector("section:not([hidden])")).map((panel) => panel.id),
    folded: [...document.querySelectorAll("details:not([open])")].filter((details) => details.checkVisibility()).length,
    charts: [...document.querySelectorAll(".chart, #flames-graph")].filter((chart) => chart.checkVisibility()).map((chart) => {
      const drawn = chart.querySelector("svg") ?? chart;
      return { id: chart.closest("section").id, width: drawn.getBoundingClientRect().width, height: chart.getBoundingClientRect().height, inside: style(chart).breakInside };
    }),
    boxes: [...document.querySelectorAll("#flames-graph button")].filter((box) => style(box).printColorAdjust !== "exact").length,
    dark: style(document.body).backgroundColor.match(/\\d+/g).every((part) => part < 80),
  };
})"""
PAPER = {"width": 700, "height": 980}  # pixels of A4 and of Letter within the page's margins
SHOWN = """[...document.querySelectorAll("section, section div[id]")].filter((part) =>
  [...part.querySelectorAll("svg, table, button, a")].some((content) => content.checkVisibility())).map((part) => part.id)"""
OWN_COLOUR = """results.own.length === 0 ? [] : [...document.querySelectorAll("#ranking .chart, #curves .chart")].filter((chart) =>
  chart.checkVisibility() && !chart.innerHTML.includes(colour("own") || "none")).map((chart) => chart.parentElement.id)"""
FIRST_CHART = "document.querySelector('.chart:not([hidden])')?.getBoundingClientRect().top ?? 0"
UNLABELLED = """[...document.querySelectorAll("select, button, input")].filter((control) =>
  !control.labels?.length && !control.textContent.trim() && !control.ariaLabel).length"""
# A function that names an element; the focused element; and everything that keys must reach.
NAMED = """((e) => [e.closest("section, nav")?.id, e.localName, e.id || e.ariaLabel || e.value || e.textContent.slice(0, 40)].join(" "))"""
FOCUSED = f"""(() => {{
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  return e === document.body ? null : {{
    name: {NAMED}(e), kind: e.closest(".tabs") ? "tab" : e.type === "checkbox" ? e.type : e.localName, options: e.options?.length ?? 0,
    shown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 1 && box.bottom > 0 && box.top < innerHeight,
    state: [e.checked, e.parentElement.open, document.querySelector("#flames-chosen")?.value,
      (e.closest("section") ?? document).querySelector(".chart")?.ariaLabel].join(" ") }};
}})()"""
REACHED = f"""[...document.querySelectorAll("a[href], select, button, input, summary, [tabindex='0']")]
  .filter((e) => e.checkVisibility()).map({NAMED})"""
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "ArrowDown": (40, ""), "ArrowUp": (38, "")}
USED_BY = {"summary": ["Enter"], "select": ["ArrowDown", "ArrowUp"], "checkbox": [" ", " "], "button": ["Enter"]}
MOST_STOPS = 500


class Browser:
    """Chromium's debugging protocol over a pair of pipes."""

    def __init__(self, profile):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def pipes():  # the protocol wants descriptors 3 and 4
            source, sink = os.dup(to_browser), os.dup(from_browser)
            os.dup2(source, 3)
            os.dup2(sink, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium") or "chromium-browser", "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._numbers, self._buffer, self.events, self._session = itertools.count(1), b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": self._session} if self._session else {})}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._read()
            if reply.get("id") == number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']['message']}")
                return reply["result"]
            self.events.append(reply)

    def wait(self, event):
        while not any(each.get("method") == event for each in self.events):
            self.events.append(self._read())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression[:60]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def _read(self):
        while b"\0" not in self._buffer:
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("chromium ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def end(self):
        self.process.terminate()
        self.process.wait(20)


def errors_in(events):
    for event in events:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            yield f"exception: {details['text']} {details.get('exception', {}).get('description', '')}"
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            yield f"console: {parameters['args'][0].get('value', parameters['args'][0].get('description'))}"
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            yield f"log: {parameters['entry']['text']}"
        elif method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("file:", "data:")):
            yield f"network: {parameters['request']['url']}"


def look_at(browser, folder, name, width):
    """Takes a screenshot of the whole page on such a screen."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
    (folder / f"{name}.png").write_bytes(base64.b64decode(shot))
    broad = browser.call("Page.getLayoutMetrics")["cssContentSize"]["width"]
    if broad > width:
        yield f"{name}: the page is {broad} pixels wide on a screen of {width}"


def look(browser, folder, name, width, scheme):
    """Takes a screenshot of the whole page on such a screen; returns what is wrong with it."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    wait(browser)
    yield from look_at(browser, folder, name, width)
    yield from (f"{name}: {touching}" for touching in browser.value(TOUCHING))
    dark = browser.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((part) => part < 80)")
    if dark != (scheme == "dark"):
        yield f"{name}: the background is {'dark' if dark else 'light'}"
    for chart in browser.value(EMPTY):
        yield f"{name}: the chart of {chart} is empty or has no label"
    for chart in browser.value(OWN_COLOUR):
        yield f"{name}: the chart of {chart} does not give the reader's contender its colour"


def press(browser, key):
    """Returns what has the focus after this key."""
    code, text = KEYS[key]
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, text=text)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
    return browser.value(FOCUSED)


def by_keys(browser):
    """Walks through the page by Tab and uses each focused control as its kind requires; a flame graph once."""
    browser.value("document.activeElement.blur()")
    seen, zoomed = set(), False
    while len(seen) < MOST_STOPS:
        stop = press(browser, "Tab")
        if not stop or stop["name"] in seen and stop["kind"] != "button":
            break
        seen.add(stop["name"])
        if not stop["shown"]:
            yield f"the focus on {stop['name']} is not to be seen"
        if stop["kind"] == "button" and (zoomed or "flames-all" in stop["name"]) or stop["kind"] == "select" and stop["options"] < 2:
            continue
        zoomed = zoomed or stop["kind"] == "button"
        keys = USED_BY.get(stop["kind"], [])
        states = [(press(browser, key) or {}).get("state") for key in keys]
        if keys and all(state == stop["state"] for state in states):
            yield f"{keys[0]} does nothing on {stop['name']}"
    yield from (f"Tab does not reach {name}" for name in browser.value(REACHED) if name not in seen)


def wait(browser, milliseconds=300):
    browser.call("Runtime.evaluate", expression=f"new Promise((done) => setTimeout(done, {milliseconds}))", awaitPromise=True)


def under_the_pointer(browser):
    """Chooses every option while the pointer rests on the chart and its tip is shown."""
    for name, options in browser.value(SELECTS):
        browser.value(f"document.getElementById('{name}').closest('section').querySelector('.chart').scrollIntoView({{block: 'center'}})")
        box = browser.value(f"""(() => {{ const box = document.getElementById("{name}").closest("section").querySelector(".chart").getBoundingClientRect();
          return [box.left, box.top, box.width, box.height]; }})()""")
        for option in options:
            for step in (0.3, 0.45, 0.6):
                browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] * step, y=box[1] + box[3] * step)
            browser.value(f"""(() => {{ const select = document.getElementById("{name}"); select.value = {json.dumps(option)};
              select.dispatchEvent(new Event("change")); }})()""")
            wait(browser, 20)


def remembered(browser, page):
    """Checks that the address records the choice: a workload, and a tab."""
    workloads = dict(browser.value(SELECTS)).get("ranking-workload", [])
    if len(workloads) < 2:
        return
    browser.value(f"""(() => {{ const select = document.getElementById("ranking-workload"); select.value = "{workloads[-1]}";
      select.dispatchEvent(new Event("change")); document.querySelector("nav a[href='#ranking']").click(); }})()""")
    wait(browser, 50)
    address = browser.value("location.href")
    open_page(browser, "about:blank")
    open_page(browser, address)
    if browser.value("document.getElementById('ranking-workload').value") != workloads[-1]:
        yield f"the address does not bring back {workloads[-1]}: {address.removeprefix(page.as_uri())}"
    for tab in browser.value(TABS)[1:]:
        open_page(browser, "about:blank")
        open_page(browser, f"{page.as_uri()}#tab={tab}")
        if not browser.value(f"document.getElementById('{tab}').checkVisibility()"):
            yield f"the address does not bring back the tab {tab}"
    open_page(browser, "about:blank")
    open_page(browser, page.as_uri())


def on_paper(browser, folder):
    """Prints the page from a dark phone's width, as the worst case; everything must be present and fit."""
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)
    browser.value(ON_PAPER)
    pdf = browser.call("Page.printToPDF", printBackground=False, paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=False)["data"]
    (folder / "paper.pdf").write_bytes(base64.b64decode(pdf))
    paper = browser.value("window.onPaper")
    if not paper:
        yield "paper: nothing was told before printing"
        return
    for chart in paper["charts"]:
        if chart["width"] > PAPER["width"] or chart["height"] > PAPER["height"] or chart["inside"] != "avoid":
            yield f"paper: the chart of {chart['id']} is cut: {chart}"
    yield from (f"paper: the tab {panel} is missing" for panel in paper["panels"])
    if paper["folded"] or paper["boxes"] or paper["dark"]:
        yield f"paper: {paper['folded']} parts are folded, {paper['boxes']} boxes have no colour, dark: {paper['dark']}"


def without_script(browser, page, folder):
    """Checks that there are tables with the numbers, and no controls without effect."""
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    open_page(browser, page.as_uri())
    yield from look_at(browser, folder, "without_script", 1440)
    document = browser.call("DOM.getDocument")["root"]["nodeId"]
    tables = browser.call("DOM.querySelectorAll", nodeId=document, selector="noscript table")["nodeIds"]
    hidden = browser.call("DOM.querySelectorAll", nodeId=document, selector="select")["nodeIds"]
    if len(tables) < 2:
        yield f"without JavaScript there are {len(tables)} tables"
    if any(is_shown(browser, node) for node in hidden) or not all(is_shown(browser, node) for node in tables):
        yield "without JavaScript a control is shown, or a table is not"
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def is_shown(browser, node):
    try:
        return bool(browser.call("DOM.getBoxModel", nodeId=node))
    except RuntimeError:  # it has no box
        return False


def open_page(browser, address):
    browser.events = [event for event in browser.events if event.get("method") != "Page.loadEventFired"]
    browser.call("Page.navigate", url=address)
    browser.wait("Page.loadEventFired")


def problems_of_tabs(browser, folder, parts):
    """Checks each tab on the screen, by keys and by pointer."""
    shown = set()
    for tab in browser.value(TABS) if browser.value("!document.querySelector('.tabs').hidden") else [""]:
        if tab:
            browser.value(f"document.querySelector('.tabs button[value={tab}]').click()")
        shown.update(browser.value(SHOWN))
        name = tab or "page"
        yield from look(browser, folder, f"{name}_desk", 1440, "light")
        yield from look(browser, folder, f"{name}_phone", 390, "light")
        yield from by_keys(browser)
        under_the_pointer(browser)
        yield from (f"phone: {touching}" for touching in browser.value(TOUCHING))
    yield from (f"the page does not show {name}" for name in parts or ["ranking"] if name not in shown)


def problems_of(browser, page, folder, parts):
    for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
        browser.call(f"{domain}.enable")
    open_page(browser, page.as_uri())
    yield from look(browser, folder, "dark", 1440, "dark")
    yield from look(browser, folder, "phone", 390, "light")
    if (top := browser.value(FIRST_CHART)) > 800:
        yield f"phone: the first chart begins {top:.0f} pixels down, below the first screen"
    yield from remembered(browser, page)
    yield from problems_of_tabs(browser, folder, parts)
    clicked = browser.value(CHOOSE)
    if clicked < 5:
        yield f"only {clicked} things to click"
    yield from look(browser, folder, "opened", 390, "dark")
    if browser.value(UNLABELLED):
        yield "a control has no label"
    yield from (f"the axis of {chart} misleads" for chart in browser.value(MISLEADING))
    yield from (f"a link leaves the file: {link}" for link in browser.value(OUTSIDE))
    yield from (f"a box of the flame graph has no name: {name}" for name in browser.value(UNNAMED))
    yield from on_paper(browser, folder)
    yield from errors_in(browser.events)
    yield from without_script(browser, page, folder)


def main():
    page, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            found = list(problems_of(browser, page, folder, sys.argv[3:]))
        finally:
            browser.end()
    for problem in found:
        print(problem)
    print("page:", "FAILED" if found else f"ok, screenshots in {folder}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
