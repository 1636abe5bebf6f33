"""The viewer of reports: its templates, and that everything in them is escaped."""

import json

import pytest

from denizen._viewer import show
from denizen._viewer.template import Template


def test_texts_are_escaped_wherever_they_stand():
    template = Template('<p title="{{text}}">{{text}}{{#items}}{{.}}{{/items}}</p>')
    hostile = "<b>\"'&\u202e"
    shown = template.render({"text": hostile, "items": [hostile]})
    safe = "&lt;b&gt;&quot;&#x27;&amp;\\u202e"
    assert shown == f'<p title="{safe}">{safe}{safe}</p>'


def test_sections_are_written_for_what_is_there():
    template = Template("{{#a}}[{{#b}}{{c}}{{/b}}{{^b}}-{{/b}}]{{/a}}{{^a}}none{{/a}}")
    assert (
        template.render({"a": [{"b": {"c": 1}}, {"b": None}, {"b": True, "c": 2}]}) == "[1][-][2]"
    )
    assert template.render({"a": []}) == template.render({}) == "none"


def test_a_key_is_looked_up_in_the_innermost_data_only():
    template = Template("{{#a}}{{#b}}{{b}}{{/b}}{{/a}}{{b}}")
    assert template.render({"a": [{}], "b": "outer"}) == "outer"
    with pytest.raises(KeyError, match="b"):
        template.render({"a": []})


def test_lines_with_a_section_alone_and_indentation_are_no_part_of_the_page():
    template = Template(
        "<ul>\n  {{#a}}\n  <li>{{>x}}</li>\n  {{/a}}\n</ul>\n<!-- fragment x -->\n{{.}}\n"
    )
    assert template.render({"a": [1, 2]}) == "<ul>\n<li>1</li>\n<li>2</li>\n</ul>\n"


def test_json_cannot_end_its_script():
    data = {"text": "</script>\u2028"}
    shown = Template("{{{data}}}").render({"data": data})
    assert "<" not in shown and json.loads(shown) == data


@pytest.mark.parametrize("text", ["{{#a}}", "{{/a}}", "{{#a}}{{#b}}{{/a}}{{/b}}"])
def test_sections_that_do_not_match_are_refused(text):
    with pytest.raises(ValueError, match=r"\{\{[#/]a\}\}"):
        Template(text)


def test_parts_without_data_are_left_out():
    shown = show({"title": "t", "heading": "h", "circumstances": "c"})
    body = shown[shown.index("<body>") : shown.index("<script>")]
    assert body.split("\n")[1:3] == ["<h1>h</h1>", '<div class="faint">c</div>']
    assert not any(word in body for word in ("section", "table", "ul", "details", "template"))
