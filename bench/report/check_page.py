#!/usr/bin/env python3
"""Opens a contention report in headless Chromium as a reader would, and keeps screenshots of it.

usage: check_page.py PAGE FOLDER [PART...]    sections, and parts of them by their id, that the page must show

It looks at the page on a wide screen, on a phone and in dark mode. It walks through all of it by keys, uses each control on
the way, and then chooses every option. It fails on errors in the console, requests to a network, charts without content and
pages wider than the screen. It also fails on controls that keys do not reach, and on a focus that is not to be seen.
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
  for (const select of document.querySelectorAll("select"))
    for (const option of [...select.options]) { select.value = option.value; select.dispatchEvent(new Event("change")); ++clicked; }
  document.querySelectorAll("input[type=checkbox]").forEach((box) => { click(box); click(box); });
  [...document.querySelectorAll("#flames-graph button")].slice(0, 40).forEach((button) => button.isConnected && click(button));
  document.querySelectorAll("#flames-all, nav a").forEach(click);
  scrollTo(0, 0);
  return clicked;
})()"""
EMPTY = """[...document.querySelectorAll(".chart:not([hidden])")].filter((chart) =>
  chart.querySelectorAll("path, text").length < 5 || !chart.getAttribute("aria-label")).map((chart) => chart.parentElement.id)"""
SHOWN = """[...document.querySelectorAll("section, section > div[id]")].filter((part) =>
  [...part.querySelectorAll("svg, table, button, a")].some((content) => content.checkVisibility())).map((part) => part.id)"""
OWN_COLOUR = """results.own.length === 0 ? [] : [...document.querySelectorAll("#ranking .chart, #curves .chart")].filter((chart) =>
  !chart.hidden && !chart.innerHTML.includes(colour("own") || "none")).map((chart) => chart.parentElement.id)"""
FIRST_CHART = "document.querySelector('.chart:not([hidden])')?.getBoundingClientRect().top ?? 0"
UNLABELLED = """[...document.querySelectorAll("select, button, input")].filter((control) =>
  !control.labels?.length && !control.textContent.trim() && !control.ariaLabel).length"""
# A function that names an element; what has the focus; and everything that keys must reach.
NAMED = """((e) => [e.closest("section, nav")?.id, e.localName, e.id || e.ariaLabel || e.value || e.textContent.slice(0, 40)].join(" "))"""
FOCUSED = f"""(() => {{
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  return e === document.body ? null : {{
    name: {NAMED}(e), kind: e.type === "checkbox" ? e.type : e.localName, options: e.options?.length ?? 0,
    shown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 1 && box.bottom > 0 && box.top < innerHeight,
    state: [e.checked, e.parentElement.open, document.querySelector("#flames-chosen")?.value,
      e.closest("section")?.querySelector(".chart")?.ariaLabel].join(" ") }};
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


def look(browser, folder, name, width, scheme):
    """A screenshot of the whole page as it looks on such a screen; what is wrong with it."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.value("new Promise((done) => setTimeout(done, 300))")
    browser.call("Runtime.evaluate", expression="new Promise((done) => setTimeout(done, 300))", awaitPromise=True)
    shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
    (folder / f"{name}.png").write_bytes(base64.b64decode(shot))
    broad = browser.value("document.documentElement.scrollWidth")
    if broad > width:
        yield f"{name}: the page is {broad} pixels wide on a screen of {width}"
    dark = browser.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((part) => part < 80)")
    if dark != (scheme == "dark"):
        yield f"{name}: the background is {'dark' if dark else 'light'}"
    for chart in browser.value(EMPTY):
        yield f"{name}: the chart of {chart} is empty or has no label"
    for chart in browser.value(OWN_COLOUR):
        yield f"{name}: the chart of {chart} does not give the reader's contender its colour"


def press(browser, key):
    """What has the focus after this key."""
    code, text = KEYS[key]
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, text=text)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
    return browser.value(FOCUSED)


def by_keys(browser):
    """Walks through the page by Tab and uses what has the focus, each as its kind is used; a flame graph once."""
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


def problems_of(browser, page, folder, parts):
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait("Page.loadEventFired")
    shown = browser.value(SHOWN)
    yield from (f"the page does not show {name}" for name in parts or ["ranking"] if name not in shown)
    yield from look(browser, folder, "wide", 1280, "light")
    yield from look(browser, folder, "dark", 1280, "dark")
    yield from look(browser, folder, "phone", 390, "light")
    if (top := browser.value(FIRST_CHART)) > 800:
        yield f"phone: the first chart begins {top:.0f} pixels down, below the first screen"
    yield from by_keys(browser)
    clicked = browser.value(CHOOSE)
    if clicked < 5:
        yield f"only {clicked} things to click"
    yield from look(browser, folder, "opened", 390, "dark")
    if browser.value(UNLABELLED):
        yield "a control has no label"
    yield from errors_in(browser.events)


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
