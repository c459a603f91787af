"""What notebooks show, and tables of pandas."""

import sys
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pytest
from multicube.hdl import build
from multicube.hdl.fabric.errors import MulticubeError
from multicube.sim import Sweep, sweep
from multicube.sim.measure.row import MEASURED


@pytest.fixture(scope="module", name="curve")
def _curve() -> Sweep:
    window = {"cycles": 400, "warmup": 50, "seed": 3}
    return sweep("cube ports=4", [0.1, 0.3], engine="compiled", processes=1, **window)


def text_of(html: str) -> str:
    """The text of an element; it must be well-formed."""
    return " ".join(ElementTree.fromstring(html).itertext())


def pictures(html: str) -> int:
    return len(ElementTree.fromstring(html).findall(".//{http://www.w3.org/2000/svg}svg"))


def test_a_network_shows_parameters_and_a_drawing() -> None:
    html = build("cube ports=8 depth=3")._repr_html_()
    assert html is not None
    text = text_of(html)
    for words in ("cube", "8 terminals", "depth", "queue", "stage 2", "7"):
        assert words in text
    assert pictures(html) == 1
    memory = build("combining ports=4")._repr_html_()
    assert memory is not None
    assert "4 processors" in text_of(memory)


def test_a_large_network_is_not_drawn() -> None:
    html = build("cube ports=512")._repr_html_()
    assert html is not None
    assert pictures(html) == 0
    assert "multicube.draw" in text_of(html)


def test_a_result_shows_its_numbers_and_the_use_of_links(curve: Sweep) -> None:
    result = curve.points[1]
    html = result._repr_html_()
    text = text_of(html)
    assert f"{result.throughput:.4f}" in text
    assert str(result.latency) in text
    assert result.verdict in text
    assert "use of a link" in text
    assert pictures(html) == 1


def test_a_sweep_shows_its_points_and_a_plot(curve: Sweep) -> None:
    html = curve._repr_html_()
    rows = ElementTree.fromstring(html).findall(".//tbody/tr")
    assert [row[0].text for row in rows] == ["0.1", "0.3"]
    assert [row[1].text.split()[0] for row in rows] == [  # type: ignore[union-attr]
        f"{point.throughput:.4f}" for point in curve.points
    ]
    assert pictures(html) == 1


def test_a_table_has_the_numbers_of_the_points(curve: Sweep) -> None:
    table = curve.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert table["offered_load"].tolist() == [0.1, 0.3]
    for name, value in MEASURED.items():
        assert table[name].tolist() == [value(point) for point in curve.points] or table[
            name
        ].isna().tolist() == [value(point) is None for point in curve.points]
    assert table["throughput"].dtype == float
    assert curve.points[0].to_frame().equals(table.iloc[:1].reset_index(drop=True))


def test_without_pandas(curve: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for given in (curve, curve.points[0]):
        with pytest.raises(MulticubeError, match=r"^pandas is not installed: pip install 'multi"):
            given.to_frame()
