"""The playground in a real Chromium, on a real server: what is done to it, and what it shows then."""

import json
import re
import subprocess
import sys
import threading

import pytest
from browsing import Browse, Visit
from playwright.sync_api import expect
from serving import Gated, servers, until

import calipers
from calipers import Exhaustive, HillClimb, Infiller, Scripted

CLIMB = HillClimb(init=4, patience=2, max_length=12)
HARD = "a = '<hole>' # \"it's\" \\n \\ $HOME `x` %d\t™ 🎉\nb"


class Stepped(Scripted):
    """A scripted model that answers one query whenever it is let."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.let = threading.Semaphore(2)  # the forwards that warm

    def predict(self, queries):
        for query in queries:
            assert self.let.acquire(timeout=60)
            yield from super().predict([query])


def lengths_drawn(visit: Visit):
    return [int(dot.get_attribute("data-length")) for dot in visit.locator("rect.dot.calibrated").all()]


def numbers(visit: Visit):
    return [[float(cell) for cell in row.split("\t")] for row in visit.locator("#numbers tbody tr").all_inner_texts()]


def drag(visit: Visit, length: int):
    """Take the jaw with the mouse and leave it at a length."""
    slider = visit.the("length")
    at = slider.evaluate("(e) => [Number(e.value), Number(e.max), 28]")
    box = slider.bounding_box()

    def x(value):
        return box["x"] + at[2] / 2 + value / at[1] * (box["width"] - at[2])

    y = box["y"] + box["height"] / 2
    visit.mouse.move(x(at[0]), y)
    visit.mouse.down()
    visit.mouse.move(x((at[0] + length) / 2), y)
    visit.mouse.move(x(length), y)
    visit.mouse.up()


# -- filling


def test_a_hole_is_filled_and_everything_is_told(serve, browse):
    server = serve(Infiller(Scripted(["hello"]), search=CLIMB))
    visit = browse(server)
    visit.ask("say <hole>!")
    visit.shows("say hello!", 5)
    told = server.post("/v1/fill", {"text": "say <hole>!"}).json()
    visit.get_by_text("Numbers").click()
    (landscape,) = told["landscapes"]
    rounded = [
        [n + 1, p["length"], *(round(p[key], 3) for key in ("confidence", "bias", "calibrated"))]
        for n, p in enumerate(landscape["probes"])
    ]
    assert numbers(visit) == [pytest.approx(row, abs=6e-4) for row in rounded]
    assert lengths_drawn(visit) == [p["length"] for p in landscape["probes"]]
    expect(visit.locator(".choice-name")).to_have_text("L̂ = 5")
    expect(visit.locator("#numbers .chosen td").nth(1)).to_have_text("5")
    expect(visit.the("reading")).to_contain_text("the length found")
    expect(visit.the("status")).to_have_text(
        re.compile(rf"Filled: length 5, {told['probes']} probes, {told['forwards']} forwards, .* m?s\.")
    )
    expect(visit.the("timings")).to_contain_text("denoising")
    expect(visit.the("plot")).to_have_attribute("aria-label", re.compile(r"6 lengths probed.*length found is 5"))


def test_holes_are_put_at_the_cursor_or_in_place_of_what_is_selected_and_undone(serve, browse):
    visit = browse(serve())
    text = visit.the("text")
    text.fill("return a + b")
    text.press("End")
    for _ in "a + b":
        text.press("Shift+ArrowLeft")
    text.press("Control+m")
    expect(text).to_have_value("return <hole>")
    text.press("Home")
    visit.get_by_role("button", name="Put a hole here").click()
    expect(text).to_have_value("<hole>return <hole>")
    assert visit.locator("#behind mark").all_inner_texts() == ["<hole>"] * 2
    expect(visit.the("text-hint")).to_contain_text("2 holes")
    text.press("Control+z")
    expect(text).to_have_value("return <hole>")


def test_the_landscape_is_drawn_as_it_is_probed(serve, browse, monkeypatch):
    monkeypatch.setattr("calipers.serve.engine._ROUND", 0)  # a query a round
    model = Stepped(["hello"])
    visit = browse(serve(Infiller(model, search=CLIMB)))
    visit.begin("say <hole>!")
    expect(visit.the("status")).to_have_text("Measuring…")
    for seen in range(1, 6):
        model.let.release()
        expect(visit.locator("rect.dot.calibrated")).to_have_count(seen)
        expect(visit.the("length")).to_be_disabled()
    assert lengths_drawn(visit) == [4, 5, 6, 3, 2]
    model.let.release(1000)
    visit.shows("say hello!", 5)


def test_two_holes_have_a_landscape_each_and_are_moved_apart(serve, browse):
    visit = browse(serve(Infiller(Scripted(["ab", "hello"]), search=CLIMB)))
    visit.ask("x = <hole>; y = <hole>.")
    visit.shows("x = ab; y = hello.")
    first, second = visit.get_by_role("tab").all()
    expect(first).to_have_text("Hole 1 · 2")
    expect(second).to_have_text("Hole 2 · 5")
    first.click()
    expect(visit.the("exact")).to_have_value("2")
    visit.keyboard.press("ArrowRight")
    expect(second).to_be_focused()
    expect(second).to_have_attribute("aria-selected", "true")
    drag(visit, 3)
    visit.shows("x = ab; y = hel.", 3)
    assert visit.sent[-1]["lengths"] == [2, 3]
    expect(visit.get_by_role("tab").nth(1)).to_have_text("Hole 2 · 3")


# -- other lengths


def test_another_length_is_chosen_by_mouse_by_key_and_by_number(serve, browse):
    visit = browse(serve(Infiller(Scripted(["hello"]), search=CLIMB)))
    visit.ask("say <hole>!")
    drag(visit, 3)
    visit.shows("say hel!", 3)
    expect(visit.the("length")).to_be_focused()
    visit.keyboard.press("ArrowRight")
    visit.shows("say hell!", 4)
    expect(visit.the("length")).to_have_attribute("aria-valuetext", re.compile(r"4 tokens\. Φ "))
    visit.keyboard.press("Home")
    visit.shows("say !", 0)
    visit.the("exact").fill("7")
    visit.the("exact").press("Enter")
    visit.shows("say hellohe!", 7)
    assert [body.get("lengths") for body in visit.sent] == [None, [3], [4], [0], [7]]
    found = visit.locator("#others button", has_text="L̂")
    found.click()
    visit.shows("say hello!", 5)
    assert len(visit.sent) == 5  # what is known is not asked for again
    assert visit.locator("#others .length").all_inner_texts() == ["0", "3", "4", "5 L̂", "7"]


def test_the_plot_itself_is_dragged_too(serve, browse):
    visit = browse(serve(Infiller(Scripted(["hello"]), search=CLIMB)))
    visit.ask("say <hole>!")
    dot = visit.locator("rect.dot.calibrated[data-length='6']").bounding_box()
    visit.mouse.click(dot["x"] + dot["width"] / 2, dot["y"] + 60)
    visit.shows("say helloh!", 6)


def test_neighbouring_lengths_are_filled_side_by_side(serve, browse):
    visit = browse(serve(Infiller(Scripted(["hello"]), search=CLIMB)))
    visit.ask("say <hole>!")
    visit.get_by_role("button", name="Fill the neighbours").click()
    expect(visit.the("status")).to_contain_text("Filled at 3, 4, 6, 7 tokens too.")
    assert visit.locator("#others code").all_inner_texts() == ["hel", "hell", "hello", "helloh", "hellohe"]
    expect(visit.locator("#others [aria-pressed=true]")).to_have_attribute("data-length", "5")


# -- the denoising


def test_the_denoising_is_played_step_by_step_with_confidence_as_shade(serve, browse):
    model = Scripted(["hello"], tokens=lambda hole, at, length: (b"hello"[at % 5], 0.9 - at % 8 / 10))
    visit = browse(serve(Infiller(model, search=CLIMB)))
    visit.ask("say <hole>!")
    length = int(visit.the("exact").input_value())
    expect(visit.the("step")).to_have_text(f"step {length} of {length}")
    sure = visit.locator("#result .token").evaluate_all("(all) => all.map((e) => e.style.getPropertyValue('--sure'))")
    assert [float(one) for one in sure] == pytest.approx([0.9 - at % 8 / 10 for at in range(length)], abs=1e-4)
    for back in range(1, length + 1):
        visit.get_by_role("button", name="Step back").click()
        expect(visit.locator("#result .mask")).to_have_count(back)
    visit.get_by_role("button", name="Step on").click()
    expect(visit.locator("#result .fresh")).to_have_text("h")
    visit.the("scrub").press("Home")
    expect(visit.the("step")).to_have_text(f"step 0 of {length}")
    visit.get_by_role("button", name="Play the denoising").click()
    expect(visit.get_by_role("button", name="Pause the denoising")).to_be_visible()
    expect(visit.the("step")).to_have_text(f"step {length} of {length}")
    expect(visit.get_by_role("button", name="Play the denoising")).to_be_visible()


# -- what goes wrong


def test_what_the_server_refuses_is_said_in_its_words(serve, browse):
    visit = browse(serve())
    visit.allowed.append("400")
    visit.begin("say <hole>!", init=9, max_length=5)
    expect(visit.get_by_role("alert")).to_contain_text("init=9 is above max_length=5; lower init")
    visit.get_by_role("button", name="Back to the server").click()
    visit.ask("say <hole>!")
    expect(visit.the("error")).to_be_hidden()


def test_a_text_without_a_hole_is_not_asked_for(serve, browse):
    visit = browse(serve())
    visit.begin("nothing is missing")
    expect(visit.get_by_role("alert")).to_contain_text("The text has no hole")
    assert visit.sent == []


def test_a_server_that_is_gone_is_said_to_be(serve, browse):
    model = Gated(["hello"])
    server = serve(model)
    visit = browse(server)
    visit.allowed += ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY"]
    model.gate.clear()
    visit.begin("say <hole>!")
    assert model.entered.wait(30)
    server.server.force_exit = server.server.should_exit = True  # while it streams
    expect(visit.get_by_role("alert")).to_contain_text("still running?")
    model.gate.set()
    visit.the("text").press("Control+Enter")
    expect(visit.get_by_role("alert")).to_contain_text("does not answer")


def test_escape_ends_the_server_s_work(serve, browse):
    model = Gated(["hello"])
    server = serve(model)
    visit = browse(server)
    model.gate.clear()
    visit.begin("say <hole>!")
    assert model.entered.wait(30)
    visit.keyboard.press("Escape")
    expect(visit.the("status")).to_have_text("Cancelled.")
    expect(visit.get_by_role("button", name="Cancel")).to_be_disabled()
    until(lambda: server.metric("requests_total", route="/v1/fill") == 1)  # the stream has ended there
    model.gate.set()
    until(lambda: server.metric("fills_total", end="cancelled") == 1)
    assert model.forwards == 1
    assert server.engine.idle


def test_a_length_that_is_cancelled_leaves_what_was_shown(serve, browse):
    model = Gated(["hello"])
    visit = browse(serve(Infiller(model, search=CLIMB)))
    visit.ask("say <hole>!")
    model.entered.clear()
    model.gate.clear()
    visit.the("length").press("ArrowLeft")
    assert model.entered.wait(30)
    visit.keyboard.press("Escape")
    model.gate.set()
    visit.shows("say hello!", 5)


def test_the_page_waits_for_a_model_that_loads(serve, browse):
    loaded = threading.Event()

    def load():
        assert loaded.wait(60)
        return Infiller(Scripted(["hello"]))

    visit = browse(serve(load, ready=False), served=False)
    visit.allowed.append("503")
    expect(visit.the("status")).to_contain_text("Loading model; asking again")
    loaded.set()
    expect(visit.the("model")).to_contain_text("scripted")


def test_a_key_is_asked_for_where_one_is_needed_and_kept_in_the_tab_only(serve, browse):
    visit = browse(serve(keys=("right",)), served=False)
    visit.allowed.append("401")
    dialog = visit.get_by_role("dialog")
    expect(dialog).to_contain_text("asks for a key")
    expect(visit.the("key")).to_be_focused()
    visit.keyboard.type("wrong")
    visit.keyboard.press("Enter")
    expect(dialog).to_contain_text("refused that key")
    visit.keyboard.type("right")
    visit.keyboard.press("Enter")
    expect(visit.the("model")).to_contain_text("scripted")
    expect(dialog).to_be_hidden()
    visit.ask("say <hole>!")
    assert visit.evaluate("JSON.stringify(localStorage)") == "{}"
    assert visit.evaluate("sessionStorage.length") == 1
    assert "Bearer $CALIPERS_API_KEY" in visit.the("curl").text_content()
    for place in ("#curl", "#python"):
        assert "right" not in visit.locator(place).text_content()
    assert "right" not in visit.page.url
    visit.reload()
    expect(visit.the("status")).to_contain_text("Filled")


def test_who_has_no_key_is_told_and_may_try_again(serve, browse):
    visit = browse(serve(keys=("right",)), served=False)
    visit.allowed.append("401")
    visit.get_by_role("button", name="Not now").click()
    expect(visit.get_by_role("alert")).to_contain_text("asks for an API key")
    visit.get_by_role("button", name=re.compile("^Fill Ctrl")).click()
    visit.the("key").fill("right")
    visit.the("key").press("Enter")
    expect(visit.the("status")).to_contain_text("Filled")


# -- the same elsewhere


def test_a_link_reproduces_the_state_in_a_fresh_page(serve, browse):
    server = serve(Infiller(Scripted(["ab", "hello"]), search=CLIMB))
    visit = browse(server)
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.ask("™ <hole> & <hole>", patience=3, trim_echo=True, seed=7)
    visit.get_by_role("tab").nth(1).click()
    drag(visit, 3)
    visit.shows("™ ab & hel")
    visit.get_by_role("button", name="Copy a link").click()
    expect(visit.the("status")).to_have_text("Copied.")
    link = visit.evaluate("navigator.clipboard.readText()")
    assert link.startswith(server.url + "/#")

    other = browse(server, "#" + link.partition("#")[2])
    other.shows("™ ab & hel", 3)
    expect(other.the("text")).to_have_value("™ <hole> & <hole>")
    expect(other.the("set-patience")).to_have_value("3")
    expect(other.the("set-trim_echo")).to_have_value("true")
    expect(other.the("set-init")).to_have_value("")
    expect(other.get_by_role("tab").nth(1)).to_have_attribute("aria-selected", "true")
    assert other.sent == visit.sent
    assert all("#" not in path for _, path in other.asked)


def test_a_text_too_long_for_a_link_is_filled_all_the_same(serve, browse):
    visit = browse(serve(Infiller(Scripted(["hello"], context=1 << 20), search=CLIMB)))
    visit.ask("long " * 12_000 + "<hole>")
    expect(visit.the("result")).to_contain_text("long hello")
    visit.get_by_role("button", name="Copy a link").click()
    expect(visit.get_by_role("alert")).to_contain_text("too long for a link")
    assert "#" not in visit.page.url


def test_a_damaged_link_is_said_to_be(serve, browse):
    visit = browse(serve(), "#bm90aGluZw")
    expect(visit.get_by_role("alert")).to_contain_text("This link is damaged")
    assert visit.sent == []


SETTINGS = [
    {},
    {"search": "exhaustive", "max_length": 6, "step": 2},
    {"init": 3, "patience": 1, "step": 2, "max_length": 9, "tokens_per_step": 2, "empty": True, "trim_echo": True},
    {"temperature": 0.7, "top_p": 0.9, "seed": 11, "marker": "hole"},
    {"within_ms": 60000},
]


# All that has to be quoted, and many lines.
TEXTS = [HARD, "first\n\n  <hole>\n'''\n\"\"\"\n<hole>", HARD, HARD, HARD]


def in_a_shell(call):
    """What a shell gives curl for its arguments."""
    shown = subprocess.run(["sh", "-c", 'curl() { printf "%s\\0" "$@"; }\n' + call], capture_output=True, check=True)
    return shown.stdout.decode().split("\0")[:-1]


def test_the_curl_shown_is_the_request_the_page_sends(serve, browse):
    visit = browse(serve(Infiller(Scripted(["ab", "hello"]), search=CLIMB)))
    for text, settings in zip(TEXTS, SETTINGS, strict=True):
        visit.goto(visit.url + "/")
        visit.the("call").locator("summary").click()
        visit.ask(text, **settings)
        *rest, body = in_a_shell(visit.the("curl").text_content())
        assert rest == ["-s", visit.url + "/v1/fill", "-H", "Content-Type: application/json", "-d"]
        assert json.loads(body) == {key: value for key, value in visit.sent[-1].items() if key != "stream"}
        assert set(settings) <= set(json.loads(body))


def test_the_python_shown_does_what_the_page_did(serve, browse, monkeypatch, capsys):
    """Run as it is, but for the model, which has no name that could be loaded."""
    model = Scripted(["ab", "hello"])
    whole = Infiller
    monkeypatch.setattr(calipers, "Infiller", lambda name, **options: whole(model, **options))
    visit = browse(serve(Infiller(model, search=CLIMB), cache=0))
    for text, settings in zip(TEXTS, SETTINGS, strict=True):
        visit.goto(visit.url + "/")
        visit.ask(text, **settings)
        exec(visit.the("python").text_content(), {})
        assert capsys.readouterr().out == visit.the("result").text_content() + "\n"


def test_the_calls_shown_are_those_of_the_length_shown(serve, browse):
    visit = browse(serve(Infiller(Scripted(["hello"]), search=Exhaustive(12))))
    visit.ask("say <hole>!")
    assert "lengths" not in visit.the("curl").text_content()
    visit.the("length").press("ArrowLeft")
    visit.shows("say hell!", 4)
    assert '"lengths":[4]' in visit.the("curl").text_content()
    assert "search=[calipers.Fixed(length=4)]" in visit.the("python").text_content()
    visit.the("text").fill("another <hole>")
    expect(visit.the("stale")).to_be_visible()
    assert '"text":"another <hole>"' in visit.the("curl").text_content()


# -- whoever's text, whatever screen


def test_text_is_never_markup_or_program(serve, browse):
    evil = "<img src=x onerror=alert(1)><script>window.hacked = 1</script>"
    model = Scripted([evil])
    server = serve(Infiller(model, search=HillClimb(len(evil), 1, max_length=80)))
    visit = browse(server)
    visit.ask(f"{evil}<hole>'\"><svg onload=alert(2)>")
    visit.shows(f"{evil}{evil}'\"><svg onload=alert(2)>", len(evil))
    expect(visit.locator("#others code")).to_have_text(evil)
    assert visit.evaluate("[window.hacked, document.images.length, document.scripts.length]") == [None, 0, 1]
    other = browse(server, visit.evaluate("location.hash"))
    other.shows(f"{evil}{evil}'\"><svg onload=alert(2)>")
    assert other.evaluate("[window.hacked, document.images.length, document.scripts.length]") == [None, 0, 1]


def test_a_small_screen_has_no_sideways_scrolling(serve, browse):
    visit = browse(serve(Infiller(Scripted(["ab", "hello"] * 8), search=CLIMB)), viewport={"width": 360, "height": 740})

    def fits():
        wide = visit.evaluate("[document.documentElement.scrollWidth, document.body.scrollWidth]")
        assert max(wide) <= 360

    fits()
    visit.ask("long" * 60 + "<hole>" * 16)
    for summary in visit.locator("summary").all():
        if summary.is_visible() and not summary.evaluate("(e) => e.parentElement.open"):
            summary.click()
    visit.get_by_role("button", name="Fill the neighbours").click()
    expect(visit.the("status")).to_contain_text("too.")
    fits()
    small = visit.locator("button:visible, input:visible:not([type=range]), select:visible").evaluate_all(
        "(all) => all.filter((e) => e.getBoundingClientRect().height < 28).map((e) => e.id || e.textContent)"
    )
    assert small == []


CONTRAST = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const behind = (node) => {
    const chain = [];
    for (let at = node; at; at = at.parentElement) chain.unshift(rgba(getComputedStyle(at).backgroundColor));
    return chain.reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (color) => {
    const linear = (one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((one) => linear(one / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own && !["TEXTAREA", "INPUT", "SELECT"].includes(node.tagName)) continue;
    if (!node.checkVisibility() || node.closest("[aria-hidden]") || node.disabled || node.type === "range") continue;
    const style = getComputedStyle(node);
    const below = behind(node);
    const paint = node instanceof SVGElement ? style.fill : style.color;
    const above = over(rgba(paint), below);
    const [high, low] = [light(above), light(below)].sort((a, b) => b - a);
    // What is drawn in a handle lies on the handle.
    if (node.matches(".handle-name")) continue;
    const name = [node.tagName, node.id, node.getAttribute("class"), node.textContent.slice(0, 20)].join(" ");
    found.push([(high + 0.05) / (low + 0.05), name]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(serve, browse, scheme):
    """WCAG AA: 4.5 to 1, by what is computed for every element that has text."""
    visit = browse(serve(Infiller(Scripted(["ab", "hello"]), search=CLIMB)), color_scheme=scheme)
    visit.allowed.append("400")
    visit.ask("x = <hole>; y = <hole>.")
    for summary in visit.locator("summary").all():
        summary.click()
    visit.the("back").click()
    visit.the("set-init").fill("99")
    visit.the("text").press("Control+Enter")
    expect(visit.get_by_role("alert")).to_be_visible()
    found = visit.evaluate(CONTRAST)
    assert len(found) > 60
    assert [one for one in found if one[0] < 4.5] == []


def test_the_theme_is_the_system_s_until_another_is_chosen_and_then_kept(serve, browse):
    visit = browse(serve(), color_scheme="dark")

    def paper():
        return visit.evaluate("getComputedStyle(document.body).backgroundColor")

    dark = paper()
    visit.get_by_role("button", name="Theme: auto").click()
    assert paper() != dark
    visit.reload()
    expect(visit.get_by_role("button", name="Theme: light")).to_be_visible()
    assert paper() != dark
    visit.get_by_role("button", name="Theme: light").click()
    assert paper() == dark


def test_every_control_has_a_name_and_is_reached_by_key(serve, browse):
    visit = browse(serve(Infiller(Scripted(["ab", "hello"]), search=CLIMB)))
    visit.ask("x = <hole>; y = <hole>.")
    visit.get_by_text("Model and method").click()
    controls = visit.locator("button:visible, input:visible, select:visible, textarea:visible")
    nameless = controls.evaluate_all(
        "(all) => all.filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim())).map((e) => e.id)"
    )
    assert nameless == []
    wanted = set(controls.evaluate_all("(all) => all.filter((e) => !e.disabled && e.tabIndex >= 0).map((e) => e.id)"))
    reached = []
    visit.evaluate("document.activeElement.blur()")
    for _ in range(len(wanted) + 20):
        visit.keyboard.press("Tab")
        reached.append(visit.evaluate("document.activeElement.id"))
    assert wanted <= {*reached, ""}
    assert reached.index("text") < reached.index("fill") < reached.index("length")


def test_what_the_server_does_where_nothing_is_set_is_shown_in_grey(serve, browse):
    server = serve(Infiller(Scripted(["hello"]), search=CLIMB, trim_echo=True))
    visit = browse(server)
    visit.get_by_text("Model and method").click()
    shown = {name: visit.the(f"set-{name}").get_attribute("placeholder") for name in ("init", "patience", "max_length")}
    assert shown == {"init": "4", "patience": "2", "max_length": "12"}
    expect(visit.locator("#set-trim_echo option").first).to_have_text("as served: yes")
    visit.set(search="exhaustive")
    expect(visit.the("set-init")).to_be_disabled()
    visit.the("set-search").select_option("")
    visit.set(max_length=3)
    expect(visit.the("set-init")).to_have_attribute("placeholder", "3")
    expect(visit.the("method-sum")).to_have_text("max_length 3")
    expect(visit.the("served")).to_contain_text("HillClimb(init=4, patience=2, step=1, max_length=12)")


def test_a_fill_that_goes_on_does_not_move_the_jaw_from_where_it_is_held(serve, browse):
    model = Gated(["hello"])
    visit = browse(serve(Infiller(model, search=CLIMB)))
    visit.ask("say <hole>!")
    model.entered.clear()
    model.gate.clear()
    visit.get_by_role("button", name="Fill the neighbours").click()
    assert model.entered.wait(30)
    box = visit.the("length").bounding_box()
    visit.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    visit.mouse.down()
    held = visit.the("exact").input_value()
    assert held != "5"
    model.gate.set()
    expect(visit.locator("#others li")).to_have_count(5)
    expect(visit.the("exact")).to_have_value(held)
    visit.mouse.up()
    visit.shows(f"say {('hello' * 3)[: int(held)]}!", held)


def test_every_example_has_a_hole_and_can_be_filled(serve, browse):
    visit = browse(serve(Infiller(Scripted(["hello"] * 16), search=CLIMB)))
    options = visit.locator("#examples option:not([hidden])").all_inner_texts()
    assert any("Figure 1" in one for one in options)
    assert {one.partition(":")[0] for one in options} == {"code", "prose"}
    for option in options:
        visit.the("examples").select_option(label=option)
        holes = visit.the("text").input_value().count("<hole>")
        assert holes >= 1
        visit.the("text").press("Control+Enter")
        expect(visit.locator("#result.done mark")).to_have_text(["hello"] * holes)


# -- the bundled model


@pytest.fixture(scope="module")
def bundled():
    """A server of the bundled model."""
    with servers() as start:
        yield start(Infiller(search=HillClimb(init=4, patience=2, max_length=16)))


SUM = "def add(a, b):\n    return <hole>\n\nprint(add(1, 2))\n"


@pytest.mark.slow
def test_the_bundled_model_s_hole_is_filled_dragged_and_told_in_python(bundled, browse: Browse):
    visit = browse(bundled)
    visit.ask(SUM)
    told = bundled.post("/v1/fill", {"text": SUM}).json()
    visit.shows(told["whole"], told["lengths"][0])
    assert lengths_drawn(visit) == [probe["length"] for probe in told["landscapes"][0]["probes"]]
    snippet = visit.the("python").text_content()
    run = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, timeout=300, check=True)
    assert run.stdout == told["whole"] + "\n"
    length = told["lengths"][0] + 2
    drag(visit, length)
    at = bundled.post("/v1/fill", {"text": SUM, "lengths": [length]}).json()
    visit.shows(at["whole"], length)


@pytest.mark.slow
def test_the_bundled_model_s_two_holes_are_filled(bundled, browse: Browse):
    text = "a = <hole>\nb = <hole>\nprint(a + b)\n"
    visit = browse(bundled)
    visit.ask(text)
    told = bundled.post("/v1/fill", {"text": text}).json()
    visit.shows(told["whole"])
    tabs = [f"Hole {hole + 1} · {length}" for hole, length in enumerate(told["lengths"])]
    assert visit.get_by_role("tab").all_inner_texts() == tabs
