"""What people do with a page: mouse, fingers, keys. Each function gets the checks that it adds to, a browser that
has the page open, and the folder of its run."""

import json
import re

from page_file import shown

# Where the points of a chart are, in the window; [x, y, row] of each.
HITS = """(() => {{
  const chart = charts.find((one) => {wanted});
  chart.canvas.scrollIntoView({{block: "center"}});
  const box = chart.canvas.getBoundingClientRect();
  return chart.hits.rows.map((row, i) => [box.left + chart.hits.x[i], box.top + chart.hits.y[i], requests.value("row", row)]);
}})()"""
# The place of a chart in the window: [left of its area, width of that, a height in it].
AREA = """(() => {{
  const chart = charts.find((one) => one.title === "{title}");
  chart.canvas.scrollIntoView({{block: "center"}});
  const box = chart.canvas.getBoundingClientRect();
  return [box.left + chart.area.left, chart.area.right - chart.area.left, box.top + box.height / 2];
}})()"""
SHOWN = "[clock.from, clock.to]"


def opened(browser):
    """The name of the record that is open, and its fields."""
    return browser.value("""[document.querySelector('#record[open] h2')?.textContent ?? null,
        [...document.querySelectorAll('#record .fields tr')].map((line) => [...line.children].map((one) => one.textContent))]""")


def close(browser):
    browser.value("document.getElementById('record').close()")


def row_of(name):
    found = re.match(r"row ([\d,]+)", name or "")
    return int(found.group(1).replace(",", "")) if found else -1


def mouse(checks, browser, folder):
    records = {record["row"]: shown(record) for record in map(json.loads, (folder / "requests.jsonl").open())}
    for wanted in ("one.isAllRecords", "one.title === 'Drift, by cause'"):
        x, y, _ = browser.value(HITS.format(wanted=wanted))[-1]
        browser.settle()
        browser.click(x, y)
        name, fields = opened(browser)
        record, listed = records.get(row_of(name), {}), dict(fields)
        same = all(listed.get(key) == "null" if value is None else
                   str(listed.get(key, "")).replace(",", "").startswith(str(value).replace(",", ""))
                   for key, value in record.items() if not isinstance(value, float))
        checks.hold("a click on a point opens its record", bool(record) and set(listed) == set(record) and same, name)
        close(browser)
    before = browser.value(SHOWN)
    left, width, middle = browser.value(AREA.format(title="In flight"))
    browser.drag(left + width * 0.4, left + width * 0.6, middle)
    browser.settle()
    zoomed = browser.value(SHOWN)
    shown_now = browser.value("charts.filter((one) => one.x.kind === 'time' && one.isNear).map((one) => one.xDomain)")
    checks.hold("a drag zooms all time charts", before[0] < zoomed[0] < zoomed[1] < before[1] and len(shown_now) > 1
                and all(one == zoomed for one in shown_now), f"{zoomed[0]:.2f} to {zoomed[1]:.2f} s")
    browser.mouse("mouseMoved", left + width * 0.5, middle)
    readings = browser.value("""charts.filter((one) => one.x.kind === 'time' && one.isNear).map((one) =>
        [...one.legend.querySelectorAll('b')].some((reading) => reading.textContent !== ''))""")
    checks.hold("one cursor reads all time charts in view", len(readings) > 1 and all(readings), len(readings))
    took = browser.value("(() => { const began = performance.now(); showTime(...clock.full); return performance.now() - began; })()")
    checks.hold("the zoom takes less than 0.3 s", took < 300, f"{took:.0f} ms")
    checks.hold("the whole run is shown again", browser.value(SHOWN) == before)


def fingers(checks, browser):
    """Two zoom, one scrolls the page or reads the chart, a tap opens."""
    browser.have_fingers()
    whole = browser.value(SHOWN)
    left, width, y = browser.value(AREA.format(title="In flight"))
    places = [(left + width * 0.45, y), (left + width * 0.55, y)]
    under = browser.value(f"(() => {{ const chart = charts.find((one) => one.title === 'In flight'); const box = chart.canvas.getBoundingClientRect(); return {[x for x, _ in places]}.map((x) => chart.toX.invert(x - box.left)); }})()")
    browser.move_fingers(places, [(left + width * 0.2, y), (left + width * 0.8, y)])
    browser.settle()
    pinched = browser.value(SHOWN)
    at = [pinched[0] + (pinched[1] - pinched[0]) * share for share in (0.2, 0.8)]
    near = all(abs(a - b) < (pinched[1] - pinched[0]) / 100 for a, b in zip(at, under))
    checks.hold("two fingers zoom, and stay over their instants", near and pinched[1] - pinched[0] < 0.3 * (whole[1] - whole[0]),
                f"{pinched[0]:.2f} to {pinched[1]:.2f} s")
    checks.hold("the page has not scrolled with them", abs(browser.value(AREA.format(title="In flight"))[2] - y) < 2)
    places = [(left + width * 0.4, y), (left + width * 0.6, y)]
    browser.move_fingers(places, [(x + width * 0.1, y) for x, _ in places])
    browser.settle()
    moved = browser.value(SHOWN)
    length = pinched[1] - pinched[0]
    checks.hold("two fingers that go sideways move the time", abs(moved[0] - (pinched[0] - 0.1 * length)) < length / 50
                and abs(moved[1] - moved[0] - length) < length / 50, f"{moved[0]:.2f} to {moved[1]:.2f} s")
    browser.value("showTime(...clock.full)")
    browser.settle()
    scrolled = browser.value("scrollY")
    browser.move_fingers([(left + width / 2, y)], [(left + width / 2, y - 240)])
    browser.settle()
    checks.hold("one finger over a chart scrolls the page", browser.value("scrollY") > scrolled + 150
                and browser.value(SHOWN) == whole, browser.value("scrollY") - scrolled)
    left, width, y = browser.value(AREA.format(title="In flight"))
    browser.touch("touchStart", (left + width * 0.3, y))
    for share in (0.35, 0.4, 0.45, 0.5):
        browser.touch("touchMove", (left + width * share, y))
    browser.settle()
    cursor = browser.value("clock.cursor")
    middle = (whole[0] + whole[1]) / 2
    checks.hold("one finger that goes sideways reads", cursor is not None and abs(cursor - middle) < (whole[1] - whole[0]) / 50, cursor)
    browser.touch("touchEnd")
    hits = browser.value(HITS.format(wanted="one.isAllRecords"))
    browser.settle()
    browser.touch("touchStart", (hits[-1][0] + 3, hits[-1][1] - 3))
    browser.touch("touchEnd")
    browser.settle()
    checks.hold("a tap opens a record", row_of(opened(browser)[0]) in {row for _, _, row in hits}, opened(browser)[0])
    close(browser)


def keys(checks, browser):
    """From dot to dot, the record, the zoom."""
    whole = browser.value(SHOWN)
    browser.value("charts.find((one) => one.isAllRecords).over.focus()")
    browser.press("ArrowRight", 3)
    tip = browser.value("document.getElementById('tip').textContent")
    browser.press("Enter")
    name = opened(browser)[0]
    third = browser.value("""(() => { const chart = charts.find((one) => one.isAllRecords);
        return recordName(chart.hits.rows[chart.hitsInOrder()[2]]); })()""")
    checks.hold("the third dot's record opens", name == third and tip.startswith(third), name)
    close(browser)
    checks.hold("the chart has the focus again", browser.value("document.activeElement.classList.contains('over')"))
    browser.press("+")
    zoomed = browser.value(SHOWN)
    checks.hold("+ zooms", zoomed[1] - zoomed[0] < 0.8 * (whole[1] - whole[0]), f"{zoomed[0]:.2f} to {zoomed[1]:.2f} s")
    browser.press("0")
    checks.hold("0 shows the whole run", browser.value(SHOWN) == whole)
    names = browser.value("""[...document.querySelectorAll('button, a[href], select, summary, canvas[tabindex]')]
        .filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label'))).length""")
    checks.hold("everything that takes the focus has a name", names == 0, names)


def marks(checks, browser):
    """Each statement of why rows were slow marks as many rows as it counts, in every chart that has them."""
    counts = browser.value("why.statements.map((one) => one.rows_with_mark)")
    if not counts:
        checks.hold("nothing is said of why", browser.value("document.querySelector('#why .none') !== null || why.slow === 0"))
        return
    buttons = "[...document.querySelectorAll('#why td button')]"
    marked = []
    for number in range(len(counts)):
        browser.value(f"{buttons}[{number}].click()")
        marked.append(browser.value("marked.has.reduce((sum, one) => sum + one, 0)"))
    on_page = browser.value("data.why_rows.slice(1).map((one) => one.rows)")  # of a long run only some rows
    checks.hold("each statement marks its rows on the page", marked == on_page, f"{len(counts)} statements")
    if browser.value("requests.of === requests.rows"):
        checks.hold("they are as many as it counts", marked == counts)
    said = browser.value("document.querySelector('#bar .marked').textContent")
    wide = browser.value("document.documentElement.scrollWidth - innerWidth")
    checks.hold("the bar says which, and is not wider than the window", f"{marked[-1]:,} marked" in said and wide <= 0, said)
    browser.value(f"{buttons}[{len(counts) - 1}].click()")
    checks.hold("a second click marks none", browser.value("marked.has === null && document.querySelector('#bar .marked').hidden"))
