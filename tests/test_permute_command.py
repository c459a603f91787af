"""`multicube permute`: what it prints of permutations that pass, and of those that do not."""

import json
import re
from typing import Any

import click
import pytest
from click.testing import CliRunner
from multicube.hdl.graphs.permutations import cyclic_shift, perfect_shuffle
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.schedules.passes import connections
from multicube.sim.command.permute import permute
from multicube.sim.command.steps import steps


def call(words: str) -> str:
    result = CliRunner().invoke(permute, words.split(), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def record(words: str) -> dict[str, Any]:
    out = call(words + " --json")
    assert out.count("\n") == 1
    return json.loads(out)


@pytest.mark.parametrize(
    ("words", "radix", "ports", "destinations"),
    [
        ("cube ports=16 shift:3", 2, 16, cyclic_shift(16, 3)),
        ("cube ports=4 shift:-1", 2, 4, cyclic_shift(4, -1)),
        ("cube ports=4 1,0,3,2", 2, 4, [1, 0, 3, 2]),
        ("cube ports=9 radix=3 complement", 3, 9, list(range(9))[::-1]),
    ],
)
def test_passable(words: str, radix: int, ports: int, destinations: list[int]) -> None:
    found = record(words)
    assert (found["network"], found["passable"], found["conflicts"]) == ("cube", True, [])
    assert found["destinations"] == destinations
    tags = multistage_plan("cube", ports, radix).tags()
    assert found["tags"] == [tags.tag(x, to) for x, to in enumerate(destinations)]
    assert connections(multistage_plan("cube", ports, radix), found["settings"]) == destinations
    assert "passes" not in found
    once = record(words + " --passes")
    for kind in ("passes", "direct_passes"):
        assert [one["destinations"] for one in once[kind]] == [destinations]


@pytest.mark.parametrize("routing", ["xor", "destination"])
def test_passes(routing: str) -> None:
    found = record(f"cube ports=16 routing={routing} perfect-shuffle --passes")
    assert (found["passable"], found["settings"]) == (False, None)
    first = found["conflicts"][0]
    assert first == {"stage": 0, "box": 0, "output": 0, "sources": [0, 8]}
    via, then = (one["destinations"] for one in found["passes"])
    assert [then[middle] for middle in via] == perfect_shuffle(16)
    halves = [one["destinations"] for one in found["direct_passes"]]
    assert halves == [
        [*perfect_shuffle(16)[:8], *[None] * 8],
        [*[None] * 8, *perfect_shuffle(16)[8:]],
    ]
    plan = multistage_plan("cube", 16)
    for one in (*found["passes"], *found["direct_passes"]):
        made = connections(plan, one["settings"])
        for source, (destination, tag) in enumerate(zip(one["destinations"], one["tags"])):
            if destination is None:
                assert tag is None
            else:
                assert made[source] == destination
                assert tag == (source ^ destination if routing == "xor" else destination)


def test_silent_terminals() -> None:
    found = record("omega ports=4 x,0,x,1")
    assert found["destinations"] == [None, 0, None, 1]
    assert found["tags"] == [None, 0, None, 1]


def test_for_the_eye() -> None:
    out = call("cube ports=4 shift:1")
    assert out.startswith("cube ports=4 radix=2\nshift:1 passes, with these settings:\n")
    assert re.search(r"│ 0 +│ straight │ exchange │\n│ 1 +│ exchange │ exchange │\n", out)
    out = call("cube bit-reversal")
    assert out == (
        "cube ports=8 radix=2\n"
        "bit-reversal does not pass: inputs 0 and 4 need output 0 of box 0 in stage 0 "
        "(and 7 more such links)\n"
    )
    out = call("cube ports=4 3,0,2,1 --passes")
    assert "3,0,2,1 does not pass: inputs 0 and 2 need output 1 of box 0 in stage 0 (and 1" in out
    assert "pass 1 of 2 straight to the destinations: 0>3 1>0\n" in out
    assert "pass 2 of 2 straight to the destinations: 2>2 3>1\n" in out
    steps = re.findall(r"pass \d of 2 through intermediate terminals: (.*)", out)
    via, then = (dict(word.split(">") for word in line.split()) for line in steps)
    assert [then[via[str(x)]] for x in range(4)] == ["3", "0", "2", "1"]
    assert out.count("┏") == 4


def test_wide_boxes_for_the_eye() -> None:
    # Inputs 0, 1 and 2 go to the outputs 2, 0 and 1, by the first box of the last stage.
    assert re.search(
        r"│ 0 +│ straight │ 1 2 0 +│\n", call("cube ports=9 radix=3 2,0,1,3,4,5,6,7,8")
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cube rush", "Traffic must be one of .*, identity, .*, shift:K, .* not 'rush'"),
        ("cube shift", "Traffic shift must be written as shift:K, not 'shift'"),
        ("cube shift:1:2", "Traffic shift must be written as shift:K, not 'shift:1:2'"),
        ("cube uniform", "Permutation must give each terminal one destination, not uniform"),
        ("cube 0,1,,3", "Traffic must be one of .* not '0,1,,3'"),
        ("cube shift:z", "Traffic 'shift:z' needs an integer in place of 'z'"),
        ("cube ports=4 0,1,2", "Traffic must have 4 destinations, not 3"),
        ("cube ports=4 0,1,2,4", "Destination of terminal 3 must be from 0 to 3, not 4"),
        ("cube ports=4 0,1,2,2", "Destination 2 must be given only once"),
        ("cube ports=9 radix=3 bit-reversal", "Ports of this permutation must be a power of two.*"),
        ("cube ports=6 identity", "Ports must be a power of the radix 2, not 6"),
        ("kube identity", "Network must be one of cube, .* not 'kube'; did you mean 'cube'[?]"),
    ],
)
def test_bad_input(words: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        CliRunner().invoke(permute, words.split(), catch_exceptions=False)


@pytest.mark.parametrize("command", [permute, steps])
def test_a_parameter_is_not_taken_for_what_is_missing(command: click.Command) -> None:
    result = CliRunner().invoke(command, ["hypercube", "n=3"])
    assert re.search("Missing argument '(PERMUTATION|TASK)'", result.output)
