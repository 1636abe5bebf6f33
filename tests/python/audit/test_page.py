"""The page of an audit's report: what it shows, that nothing of the program's text is markup, and
that its picture keeps every peak."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from denizen._audit.page import page
from denizen._audit.text import short_name
from denizen._audit.timeline import COLUMNS, Scale, duration, lay_out, short

VOID = {"meta", "input", "br"}


def site(
    file="simulate.py", line=12, function="remember", text="kept.append(np.ones(10, dtype=T))"
):
    return {"file": file, "line": line, "function": function, "text": text}


def counts(**others):
    keys = "constructed copied relocated destroyed foreign reconciled live_before live peak scalars leaked"
    return dict.fromkeys(keys.split(), 0) | others


def report(types=("denizen.Integer",), seconds=(0.0, 0.5, 1.0), live=(0, 1200, 10), **others):
    """A report in which each type has the same line."""
    return {
        "denizen": "0.1.0",
        "python": "3.13.0",
        "numpy": "2.5.5",
        "target": "simulate.py",
        "trace": False,
        "seconds": seconds[-1],
        "types": {
            name: counts(
                constructed=1234, destroyed=1224, live=live[-1], peak=max(live), leaked=live[-1]
            )
            for name in types
        },
        "leaks": [],
        "foreign": [],
        "reconciled": [],
        "corruptions": [],
        "timeline": {"seconds": list(seconds), "live": {name: list(live) for name in types}},
    } | others


LEAK = {
    "type": "denizen.Integer",
    "count": 10,
    "where": "managed",
    "segments": 1,
    "bytes": 80,
    "first_made": 0.35,
    "site": site(),
    "stack": [site(), site(line=40, function="step", text="remember(x)")],
}
EMPTY = {
    "target": "block",
    "seconds": 0.0,
    "types": {},
    "timeline": {"seconds": [], "live": {}},
}


class Page(HTMLParser):
    """The page as a browser takes it: every element is closed; texts and attributes are gathered."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def of(self, tag, **attributes):
        return [
            found
            for name, found in self.elements
            if name == tag and attributes.items() <= found.items()
        ]


def test_the_page_says_what_outlives_the_audit_and_where_it_was_made():
    shown = Page(page(report(leaks=[LEAK])))
    assert "10 objects outlive the audit , made at 1 place" in shown.text
    assert "10 denizen.Integer simulate.py:12" in shown.text
    assert "in 1 array, 80 bytes, first made at 350 ms" in shown.text
    assert "simulate.py:40 in step remember(x)" in shown.text
    assert "1,234" in shown.text and "peak 1,200" in shown.text
    assert {"timeline", "types", "leaks"} <= {found.get("id") for found in shown.of("section")}


def test_nothing_lost_is_said_too():
    assert "Everything that was made is gone." in Page(page(report(live=(0, 5, 0)))).text


def test_old_objects_that_went_are_told_from_nothing_lost():
    one = report(live=(8, 9, 4))
    one["types"]["denizen.Integer"] |= {"live_before": 8, "leaked": 0}
    shown = Page(page(one)).text
    assert "no more denizen.Integer objects than before (4 alive, 8 before)." in shown
    assert "Everything" not in shown


def test_several_callers_and_frames_that_are_left_out_are_told():
    stack = [site(), *(site(line=line) for line in range(100, 199))]
    deep = LEAK | {"stack": stack, "left_out": 400, "callers": "several"}
    text = page(report(leaks=[deep]))
    assert "from several callers; --trace" in Page(text).text
    assert text.index("simulate.py:148") < text.index("(400 more frames)")
    assert text.index("(400 more frames)") < text.index("simulate.py:149")
    recursive = page(report(leaks=[LEAK | {"stack": [site(), site(line=2), site()]}]))
    assert recursive.count('<li class="here">') == 1


def test_what_modules_held_is_shown_apart_from_leaks():
    held = [LEAK, LEAK | {"count": 1, "site": site(line=13), "stack": []}]
    text = page(report(leaks=[LEAK], held=held))
    shown = Page(text)
    assert "11 denizen.Integer objects were held by the program's modules" in shown.text
    assert "10 objects outlive the audit" in shown.text
    assert shown.of("section", id="held") and shown.of("a", href="#held")
    assert len(shown.of("details", **{"class": "leak"})) == 3
    assert 'id="held"' not in page(report(leaks=[LEAK]))
    corrupted = Page(page(report(leaks=[LEAK | {"where": "corrupted"}])))
    assert "in 1 corrupted array, 80 bytes" in corrupted.text


def test_notes_are_shown():
    assert "a <note>" in Page(page(report(notes=["a <note>"]))).text


def test_a_leak_without_a_site_is_shown():
    shown = Page(page(report(leaks=[LEAK | {"site": None, "stack": [], "first_made": None}])))
    assert "made at an unknown place" in shown.text
    assert "No stack was recorded" in shown.text


def test_other_findings_have_their_tables():
    entry = {"type": "denizen.Integer", "site": site()}
    shown = Page(
        page(
            report(
                foreign=[
                    entry | {"operation": "cast to int64", "constructed": 3000} | {"calls": 7}
                ],
                reconciled=[entry | {"operation": "shuffle", "bits": 17, "site": None}],
                corruptions=[{"segment": "0x7f00", "what": "8 bytes overwritten", "site": site()}],
            )
        )
    )
    assert "cast to int64 denizen.Integer simulate.py:12 in remember" in shown.text
    assert "3,000 0 7" in shown.text
    assert "shuffle denizen.Integer unknown 17" in shown.text
    assert "1 segment of memory overwritten." in shown.text
    assert "0x7f00 8 bytes overwritten" in shown.text


def test_types_without_objects_are_left_out():
    both = report()
    both["types"]["other.Type"] = counts()
    shown = Page(page(both))
    assert "denizen.Integer" in shown.text and "other.Type" not in shown.text
    both["types"] = {"other.Type": counts()}
    assert "No object of an element type was made" in Page(page(both | {"timeline": {}})).text


@pytest.mark.parametrize("empty", [EMPTY, {}], ids=["empty", "nothing at all"])
def test_an_empty_report_is_a_page(empty):
    shown = Page(page(empty))
    assert "No object of an element type was made" in shown.text
    assert not shown.of("table") and not shown.of("path")


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"' onload='alert(1)",
    "&lt;b&gt;",
    "line\x00\x1b[31m",
    "\u202egnp.exe\u2066",
    "not utf-8 \udc80",
    "]]><!--",
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_texts_of_the_program_are_only_text(hostile, tmp_path):
    everywhere = {"file": hostile, "line": 1, "function": hostile, "text": hostile}
    entry = {"type": hostile, "operation": hostile, "site": everywhere, "where": hostile}
    made = page(
        report(
            types=[hostile],
            target=hostile,
            leaks=[entry | {"count": 1, "stack": [everywhere]}],
            foreign=[entry],
            reconciled=[entry],
            corruptions=[{"segment": hostile, "what": hostile, "site": everywhere}],
        )
    )
    # It can be written and has the elements of a page with plain texts, with the same attributes.
    (tmp_path / "page.html").write_text(made, encoding="utf-8")
    plain = {"file": "a", "line": 1, "function": "a", "text": "a"}
    entry = {"type": "a", "operation": "a", "site": plain, "where": "a"}
    usual = page(
        report(
            types=["a"],
            target="a",
            leaks=[entry | {"count": 1, "stack": [plain]}],
            foreign=[entry],
            reconciled=[entry],
            corruptions=[{"segment": "a", "what": "a", "site": plain}],
        )
    )
    assert Page(made).elements == Page(usual).elements
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", made)
    samples = json.loads(re.search(r'id="samples">(.*?)</script>', made, re.S).group(1))
    assert len(samples["lines"]) == 1
    assert Page(made).text.count(hostile) >= 8 or not hostile.isprintable()


def test_nothing_is_loaded_and_no_other_script_may_run():
    made = page(report(leaks=[LEAK]))
    shown = Page(made)
    assert not re.search(r"https?:|url\(|@import|\bsrc=", made)
    assert not any(name.startswith("on") for _, found in shown.elements for name in found)
    assert all(found["href"].startswith("#") for found in shown.of("a"))
    (policy,) = shown.of("meta", **{"http-equiv": "Content-Security-Policy"})
    assert re.fullmatch(
        r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/=]{44}'",
        policy["content"],
    )


def test_links_lead_somewhere_and_ids_are_unique():
    corruption = {"segment": "0x7f00", "what": "overwritten", "site": None}
    shown = Page(page(report(leaks=[LEAK], corruptions=[corruption])))
    ids = [found["id"] for _, found in shown.elements if "id" in found]
    assert len(ids) == len(set(ids))
    assert {found["href"][1:] for found in shown.of("a")} == {"leaks", "corruptions"}
    assert {"leaks", "corruptions"} <= set(ids)


def test_the_picture_stands_in_a_table_too_and_has_a_slider():
    shown = Page(page(report(types=["a.A", "b.B"])))
    (slider,) = shown.of("input", type="range")
    assert slider["aria-label"] and slider["max"] == "2"
    assert "time a.A b.B 0 s 0 0 500 ms 1,200 1,200 1 s 10 10" in shown.text
    assert all(found.get("aria-hidden") == "true" for found in shown.of("svg"))


def test_many_leaks_are_counted_to_the_last():
    shown = Page(page(report(leaks=[LEAK] * 1000)))
    assert "10,000 objects outlive the audit" in shown.text
    assert "8,000 more objects from 800 more places" in shown.text
    assert len(shown.of("details", **{"class": "leak"})) == 200


def test_a_long_run_is_thinned_out_and_keeps_its_peaks():
    samples = 100_000
    seconds = [index / 10 for index in range(samples)]
    live = {"a": [5] * samples, "b": [7] * samples}
    live["a"][31_337], live["b"][62_001] = 999, 0
    timeline = lay_out(seconds, live, {}, seconds[-1])
    assert timeline.thinned and len(timeline.seconds) <= COLUMNS
    a, b = timeline.lines
    assert a.peak == max(a.most) == 999 and min(b.fewest) == 0
    assert abs(timeline.seconds[a.peak_at] - 3133.7) <= 2 * seconds[-1] / COLUMNS
    assert all(x < y for x, y in pairwise(timeline.seconds))
    rows = list(timeline.rows(40))
    assert len(rows) <= 43 and [999, 7] in [counts for _, counts in rows]
    drawn = timeline.path(b, Scale(999, False))
    assert "V1000.0" in drawn and len(drawn) < 20 * COLUMNS
    assert len(page(report(seconds=seconds, live=live["a"]))) < 100_000


def test_samples_at_one_moment_are_drawn():
    live = [index % 100 for index in range(5000)]
    timeline = lay_out([0.25] * 5000, {"a": live}, {}, 0.5)
    assert (timeline.lines[0].peak, timeline.lines[0].last) == (99, [99])
    assert lay_out([0.0], {"a": [3]}, {}, 0.0).path(timeline.lines[0], Scale(99, False))


def test_scales_suit_the_numbers():
    def scales(*peaks):
        live = {str(index): [0, peak] for index, peak in enumerate(peaks)}
        return [scale.logarithmic for scale in lay_out([0, 1], live, {}, 1).scales()]

    assert scales(5) == scales(0) == [False]
    assert scales(1000, 400) == [False, True]
    assert scales(1_000_000, 12) == [True, False]
    for top in [1, 2, 9, 10, 999, 1000, 4_800_000, 10**12]:
        for scale in (Scale(top, False), Scale(top, True)):
            heights = [scale.height(tick) for tick in scale.ticks]
            assert heights[0] == 0 and heights == sorted(set(heights)) and heights[-1] <= 1
            assert 2 <= len(heights) <= 8 and scale.height(top) == 1
    assert Scale(10, False).height(-3) == 0


def test_a_peak_between_two_samples_sets_the_scale():
    timeline = lay_out([0, 1], {"a": [10, 20]}, {"a": 500}, 1)
    assert timeline.lines[0].peak == timeline.scales()[0].top == 500


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0 s"),
        (1e-9, "0 s"),
        (4.2e-6, "4.2 µs"),
        (0.0351, "35.1 ms"),
        (1.234, "1.23 s"),
        (90, "90 s"),
        (150, "2 min 30 s"),
        (7300, "2 h 1 min"),
    ],
)
def test_lengths_of_time_have_their_unit(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize("end", [1e-9, 3e-6, 0.00123, 0.7, 1.0, 1.23, 59, 60, 3599, 7300, 10**7])
def test_moments_on_the_axis_are_round_and_few(end):
    ticks = lay_out([0, end], {"a": [1, 2]}, {}, end).ticks()
    assert 2 <= len(ticks) <= 8 or end == 1e-9
    assert all(0 <= moment <= end * 1.001 for moment, _ in ticks)
    assert len({text.split()[1] for _, text in ticks}) == 1


def test_numbers_on_the_axis_are_short():
    assert [short(n) for n in (0, 1500, 20_000, 3_000_000, 2 * 10**9)] == [
        "0", "1,500", "20 k", "3 M", "2 G",
    ]  # fmt: skip


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_a_browser_runs_the_script_under_the_policy(tmp_path):
    made = page(report(types=["a.A", "<script>document.title = 'no'</script>"], leaks=[LEAK]))
    (tmp_path / "page.html").write_text(made, encoding="utf-8")
    chromium = ["chromium", "--headless", "--no-sandbox", "--disable-gpu"]
    chromium.append(f"--user-data-dir={tmp_path / 'profile'}")
    run = subprocess.run(
        [*chromium, "--dump-dom", f"file://{tmp_path / 'page.html'}"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    (slider,) = Page(run.stdout).of("input", type="range")
    # The page hides it and the script shows it.
    assert 'id="moment"' in made and " hidden>" in made
    assert "hidden" not in slider
    assert "<title>simulate.py: denizen audit</title>" in run.stdout


def test_files_are_named_where_the_directory_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    here = str(gone / "a.py")
    assert short_name(here) == "a.py"
    gone.rmdir()
    assert short_name(here) == here
    leak = LEAK | {"site": site(file=here), "stack": []}
    assert f"{here}:12" in Page(page(report(leaks=[leak]))).text
