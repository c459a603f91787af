"""The tables of docs/design/boxes-cost.md that are made from data are those of the data."""

import json

import pytest
from generate import hardware_peers, standard_cells
from page_code import ROOT

PAGE = (ROOT / "docs/design/boxes-cost.md").read_text()


@pytest.mark.parametrize("maker", [hardware_peers, standard_cells], ids=["peers", "cells"])
def test_table_is_made_from_data(maker: object) -> None:
    data = json.loads(maker.DATA.read_text())  # type: ignore[attr-defined]
    table = "\n".join(maker.rows(data))  # type: ignore[attr-defined]
    assert table.count("\n") > 10
    assert table in PAGE
