"""What matplotlib does with arrays of elements: it draws them as floats, or refuses (images)."""

import numpy as np
import pytest

from denizen import Integer, Rational

matplotlib = pytest.importorskip("matplotlib", "3.10")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(params=[Integer, Rational], ids=lambda element: element.__name__)
def a(request):
    return np.array([3, 1, 2], dtype=request.param)


@pytest.fixture
def axes():
    figure, axes = plt.subplots(figsize=(1, 1), dpi=30)
    yield axes
    plt.close(figure)


DRAWN = {
    "plot": lambda axes, a: axes.plot(a),
    "plot against": lambda axes, a: axes.plot([0.5, 1, 2], a / 2, "o-"),
    "plot as x": lambda axes, a: axes.plot(a, [0.5, 1, 2]),
    "huge values": lambda axes, a: axes.plot(a * 2**70),
    "scatter": lambda axes, a: axes.scatter(a, a),
    "colours": lambda axes, a: axes.scatter(a, a, c=a),
    "bar": lambda axes, a: axes.bar(["x", "y", "z"], a),
    "hist": lambda axes, a: axes.hist(a),
    "fill": lambda axes, a: axes.fill_between(a, a),
    "error bars": lambda axes, a: axes.errorbar(a, a, yerr=a),
    "steps": lambda axes, a: axes.step(a, a),
    "stems": lambda axes, a: axes.stem(a),
    "pie": lambda axes, a: axes.pie(a),
    "logarithmic": lambda axes, a: axes.loglog(a, a),
    "lines": lambda axes, a: axes.vlines(a, a[1], a[0]),
    "one line": lambda axes, a: axes.axhline(a[0]),
    "limits": lambda axes, a: (axes.set_xlim(a.min(), a.max()), axes.set_ylim(a[1], a[0])),
    "ticks": lambda axes, a: axes.set_xticks(a),
    "text": lambda axes, a: axes.text(a[0], a[1], str(a[2])),
    "list": lambda axes, a: axes.plot(a.tolist()),
}


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn(axes, a, name):
    DRAWN[name](axes, a)
    axes.figure.canvas.draw()


def test_lines_keep_the_elements_and_draw_floats(axes, a):
    (line,) = axes.plot(a, a)
    assert line.get_xdata(orig=True).dtype == a.dtype
    assert line.get_xydata().tolist() == [[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]]
    assert line.get_xydata().dtype == np.float64
    axes.set_xlim(a.min(), a.max())
    assert axes.get_xlim() == (1.0, 3.0)


def test_images_and_sizes_are_refused_and_drawn_as_floats(axes, a):
    image = np.multiply.outer(a, a)
    for refused in (
        lambda: (axes.imshow(image), axes.figure.canvas.draw()),
        lambda: axes.contour(image),
        lambda: axes.scatter([1, 2, 3], [1, 2, 3], s=a),
    ):
        with pytest.raises((TypeError, ValueError), match=r"denizen\."):
            refused()
        axes.clear()
    axes.imshow(image.astype(float))
    axes.contour(image.astype(float))
    axes.pcolormesh(image.astype(float))
    axes.scatter([1, 2, 3], [1, 2, 3], s=a.astype(float))
    axes.figure.canvas.draw()
