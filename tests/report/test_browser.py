"""Reports in a real browser: headless Chromium, driven by playwright (`snellen[browser-tests]`)."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest

from snellen.report.contents import Metric
from snellen.report.fit import fitted
from support.report import HOSTILE, contents, moments

pytestmark = pytest.mark.slow
playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: pip install -e '.[browser-tests]'"
)

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip
DESK, PHONE = (1280, 900), (390, 844)
LABELS = ("reference.mkv", "good.mp4", HOSTILE)


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of these browsers is installed: {', '.join(NAMES)}")
    with playwright.sync_playwright() as tool:
        started = tool.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    made = fitted(contents(rows=100, labels=LABELS), moments(size=(180, 320)), 30_000_000)
    path.write_bytes(made.html)
    return path


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """A report about a single pair of pictures that are equal."""
    given = contents(rows=1, variants=1, labels=LABELS[:2], worst=())
    scores = ({"mad": (0.0,), "psnr": (None,)},)
    (moment,) = moments(rows=(0,), variants=1)
    path = tmp_path_factory.mktemp("equal") / "report.html"
    given, moment = replace(given, scores=scores), replace(moment, crops=())
    path.write_bytes(fitted(given, [moment], 30_000_000).html)
    return path


@pytest.fixture(params=[(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def page(browser, report, request):
    """The report at a size; nothing may be asked for, and nothing be complained about."""
    (width, height), scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme,
        has_touch=width < 500,
    )  # fmt: skip
    found, wrong = context.new_page(), []
    found.on("console", lambda message: wrong.append(message.text))
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("dialog", lambda dialog: wrong.append(dialog.message))
    found.on(
        "request",
        lambda asked: asked.url.startswith(("data:", report.as_uri())) or wrong.append(asked.url),
    )
    found.set_default_timeout(20_000)
    found.goto(report.as_uri())
    yield found
    if folder := os.environ.get("SNELLEN_SCREENSHOTS"):
        found.screenshot(path=f"{folder}/{request.node.name}.png", full_page=True)
    context.close()
    assert not wrong


def middle(page, selector):
    box = page.locator(selector).first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def shown(page):
    """Row of the frame that is shown."""
    return page.evaluate("data.moments[state.moment].row")


def place(page):
    return page.evaluate("[view.zoom, view.x, view.y]")


def clip(page, at):
    return page.locator(".pane").nth(at).evaluate("one => getComputedStyle(one).clipPath")


def test_the_slider_moves_by_hand_and_by_keys(page):
    divider = page.locator(".divider")
    assert divider.get_attribute("aria-valuenow") == "50"
    before = clip(page, 0), clip(page, 1)
    x, y = middle(page, ".knob")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 90, y + 5, steps=4)
    page.mouse.up()
    percent = int(divider.get_attribute("aria-valuenow"))
    assert 55 < percent < 80 and (clip(page, 0), clip(page, 1)) != before
    divider.focus()
    page.keyboard.press("ArrowLeft")
    assert int(divider.get_attribute("aria-valuenow")) == percent - 2
    assert abs(middle(page, ".knob")[0] - x) > 40


def test_the_curve_and_the_worst_frames_select_a_frame(page):
    assert shown(page) == 7  # the worst one
    over = page.locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    over.click(position={"x": box["width"] * 0.03, "y": box["height"] / 2})
    assert shown(page) == 2
    over.click(position={"x": box["width"] * 0.9, "y": box["height"] / 3})
    assert shown(page) == 12
    page.locator(".worst button").first.click()
    assert shown(page) == 7 and page.evaluate("state.right") == 2
    page.locator(".curves .choice button", has_text="PSNR").click()
    assert page.evaluate("state.metric") == "psnr" and page.locator(".u-over").is_visible()
    page.locator(".strip button").nth(0).click()
    assert shown(page) == 2
    assert "frame 2" in page.locator(".now").inner_text()
    page.keyboard.press("n")
    assert shown(page) == 7


def test_zoom_keeps_its_place(page):
    stage = page.locator(".stage")
    box = stage.bounding_box()
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.5, steps=3)
    page.mouse.up()
    kept = place(page)
    assert kept[0] == pytest.approx(1.96) and kept[1] > 0.5
    layers = "[...document.querySelectorAll('.layer')].map(one => one.style.cssText)"
    for key in ("n", "1", "2", "h"):
        page.keyboard.press(key)
        assert place(page) == kept
        left, right = page.evaluate(layers)
        assert left == right
    page.keyboard.press("s")
    assert len(page.evaluate(layers)) == 3 and len({*page.evaluate(layers)}) == 1
    assert place(page)[0] == kept[0] and place(page)[1:] == pytest.approx(kept[1:], abs=0.1)
    page.keyboard.press("0")
    assert place(page) == [1, 0.5, 0.5]
    # Where a wheel turns, that place stays under the pointer.
    page.keyboard.press("s")
    x, y = middle(page, ".stage")
    where = """([x, y]) => {
      const box = document.querySelector('.layer img').getBoundingClientRect();
      return [(x - box.left) / box.width, (y - box.top) / box.height];
    }"""
    at = [x + 60, y - 20]
    before = page.evaluate(where, at)
    page.mouse.move(*at)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function("view.zoom > 1.2")
    assert page.evaluate(where, at) == pytest.approx(before, abs=0.01)


def test_fingers(browser, report):
    """One finger moves the divider, two zoom about their middle, and then one moves the picture."""
    context = browser.new_context(
        viewport={"width": PHONE[0], "height": PHONE[1]}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(report.as_uri())
    page.locator(".stage").scroll_into_view_if_needed()
    x, y = middle(page, ".stage")
    tool = context.new_cdp_session(page)

    def touch(*steps):
        """Touch, move and leave; a step has the places of the fingers."""
        for number, places in enumerate([*steps, ()]):
            kind = "touchEnd" if not places else "touchMove" if number else "touchStart"
            points = [{"x": x + dx, "y": y + dy, "id": at} for at, (dx, dy) in enumerate(places)]
            tool.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch([(60, 5)], [(80, 5)], [(110, 5)])
    assert page.evaluate("view.divider") > 0.55 and place(page) == [1, 0.5, 0.5]
    touch([(-20, 0), (20, 0)], [(-30, 0), (30, 0)], [(-60, 0), (60, 0)])
    zoom, u, _ = place(page)
    assert 2 < zoom < 4 and u == pytest.approx(0.5, abs=0.1)
    touch([(-60, 5)], [(-80, 5)], [(-100, 5)])
    assert place(page)[0] == zoom and place(page)[1] > u
    context.close()


def test_heat_maps_and_crops(page):
    maps = page.locator(".layer .map")
    assert not maps.nth(1).is_visible() and not page.locator(".legend").is_visible()
    page.locator(".tools .choice button", has_text="LO").click()
    assert maps.nth(1).is_visible() and not maps.nth(0).is_visible()  # which is the reference
    assert page.locator(".ticks").inner_text().split()[-1] == "20"
    page.locator(".legend input").fill("20")
    assert maps.nth(1).evaluate("one => getComputedStyle(one).opacity") == "0.2"
    assert page.locator(".crops figure").count() == 3
    page.locator(".crops figure button").nth(1).click()
    zoom, x, y = place(page)
    assert zoom > 2 and page.evaluate("state.right") == 1
    assert (x, y) == pytest.approx((0.25 + 16 / 320, 0.5 + 16 / 180), abs=0.02)


def test_it_fits_the_window(page):
    wide = "[document.documentElement.scrollWidth, innerWidth]"
    assert len({*page.evaluate(wide)}) == 1
    page.set_viewport_size({"width": 800, "height": 700})
    page.wait_for_function("document.querySelector('.uplot').clientWidth < 760")
    assert len({*page.evaluate(wide)}) == 1
    ink = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ink)
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ink) != dark and before in (dark, page.evaluate(ink))
    assert HOSTILE.split("<img")[0] in page.locator(".label").nth(1).inner_text()


def test_frames_without_a_visible_difference_are_not_called_equal(browser, tmp_path):
    """The worst are those by LO; where that is 0, too, there are none."""
    metrics = tuple(Metric(name, name.upper(), "lower") for name in ("mad", "lo"))
    pooled = dict.fromkeys(("mean", "median", "min", "max", "p5", "p95"), 0.5)
    for lo, worst in (((1.0, 0.5, 3.0, 0.0), ((2, 0), (0, 0))), ((0.0,) * 4, ())):
        given, path = contents(rows=4, variants=1, labels=LABELS[:2]), tmp_path / "a.html"
        scores, both = ({"mad": (0.0,) * 4, "lo": lo},), ({"mad": pooled, "lo": pooled},)
        given = replace(given, metrics=metrics, scores=scores, pooled=both)
        given = replace(given, worst=worst, worst_by="lo")
        shown = [replace(one, crops=()) for one in moments(rows=(0, 2), variants=1)]
        path.write_bytes(fitted(given, shown, 30_000_000).html)
        page = browser.new_page()
        page.goto(path.as_uri())
        said = page.locator(".worst").inner_text()
        pressed = page.locator("[aria-pressed=true]").all_inner_texts()
        page.close()
        assert "MAD is 0 in all frames" in said and "equal" not in said
        assert ("LO 3.000" if worst else "LO is 0, too") in said and "LO" in pressed


def test_a_single_pair_of_equal_pictures(browser, equal):
    page, wrong = browser.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(equal.as_uri())
    assert page.locator(".pane").count() == 2 and page.locator(".strip").count() == 0
    assert "∞" in page.locator(".now").inner_text() and page.locator(".crops").count() == 0
    for key in ("s", "h", "n", "+", "0"):
        page.keyboard.press(key)
    page.close()
    assert not wrong
