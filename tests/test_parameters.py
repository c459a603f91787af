"""Parameters of networks: stated once, as records that say what they allow."""

import pickle
import shlex
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import signed
from amaranth.lib import data, enum
from multicube.hdl import FAMILIES, build
from multicube.hdl.fabric.errors import InvalidType, InvalidValue
from multicube.hdl.fabric.parameter_fields import fixed, integer, text, word
from multicube.hdl.fabric.parameters import Parameters, pairs, words_in
from multicube.hdl.fabric.payload_shape import payload_shape


class Shelf(enum.IntEnum, shape=signed(2)):
    LOW = -1
    MIDDLE = 0


class Draught(enum.Enum, shape=signed(2)):
    SHUT = 0


@dataclass(frozen=True, eq=False)
class Oven(Parameters):
    """An oven's."""

    shelves: int = integer(2, "shelves", least=1, most=6)
    heat: int | str = integer("auto", "degrees", least=50, choices=("auto",))
    mode: str = word("top", "where heat comes from", ("top", "bottom"))
    recipe: str = text("", "what to bake", "NAME")
    tray: Any = payload_shape()
    gas: bool = fixed(False, "whether it burns gas")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heat == "auto":
            self._resolve(heat=180)


def test_a_record_is_a_mapping() -> None:
    oven = Oven(shelves=3)
    assert oven == {
        "shelves": 3,
        "heat": 180,
        "mode": "top",
        "recipe": "",
        "tray": 16,
        "gas": False,
    }
    assert (oven["shelves"], oven.shelves, next(iter(oven)), len(oven)) == (3, 3, "shelves", 6)
    assert oven | {"shelves": 4} == {**oven, "shelves": 4}
    assert "door" not in oven
    with pytest.raises(KeyError):
        oven["door"]
    with pytest.raises(FrozenInstanceError):
        oven.shelves = 4  # type: ignore[misc]


@pytest.mark.parametrize("recipe", ["apple pie.txt", "it's", 'C:\\new "a"', "#1; $x", "a,b:c=1/2"])
def test_a_summary_holds_any_text(recipe: str) -> None:
    """It is read as a shell reads it, but for backslashes, which names of files may have."""
    words = Oven.summary({"recipe": recipe, "shelves": 3})
    assert pairs(words_in(words)) == pairs(shlex.split(words)) == {"recipe": recipe, "shelves": "3"}
    assert words_in(r"graph file=C:\nets\a.json") == ["graph", r"file=C:\nets\a.json"]


def test_fields_say_what_they_are() -> None:
    shelves, heat, mode, recipe, tray, gas = Oven.described()
    assert (shelves.name, shelves.title, shelves.default) == ("shelves", "Shelves", 2)
    assert shelves.values == "1 to 6"
    assert heat.values == "50 or more, auto"
    assert mode.values == "top, bottom"
    assert recipe.values == "NAME"
    assert tray.values == "1 to 4096"
    assert [about.listed for about in Oven.described()] == [True] * 5 + [False]
    assert gas.description == "whether it burns gas"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"shelves": 0}, InvalidValue, "Shelves must be from 1 to 6, not 0"),
        ({"shelves": 7}, InvalidValue, "Shelves must be from 1 to 6, not 7"),
        ({"shelves": "3"}, InvalidType, "Shelves must be an integer, not '3'"),
        ({"shelves": True}, InvalidType, "Shelves must be an integer, not True"),
        ({"heat": "hot"}, InvalidValue, "Heat must be an integer or auto, not 'hot'"),
        ({"heat": 49}, InvalidValue, "Heat must be at least 50, not 49"),
        ({"mode": "grill"}, InvalidValue, "Mode must be one of top, bottom, not 'grill'"),
        ({"mode": None}, InvalidValue, "Mode must be one of top, bottom, not None"),
        ({"recipe": 3}, InvalidType, "Recipe must be text, not 3"),
        ({"tray": None}, InvalidType, "Payload must be a number of bits or a shape, not None"),
        ({"tray": 0}, InvalidValue, "Payload must be from 1 to 4096, not 0"),
        (
            {"tray": data.ArrayLayout(Shelf, 2)},
            InvalidValue,
            "Payload must be a shape that Amaranth converts to hardware: -1 does not fit in 2 bits",
        ),
        (
            {"tray": Draught},
            InvalidValue,
            "Payload must be a shape that Amaranth converts to hardware: "
            "EnumView target must have the same shape as the enum",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_record_rejects(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refusal:
        Oven(**given)
    assert str(refusal.value) == message


def test_integers_of_numpy_become_pythons() -> None:
    oven = Oven(shelves=np.int16(4))
    assert type(oven.shelves) is int


def test_a_field_says_what_it_allows() -> None:
    """One that does not would be lost in copies, such as those of a sweep's processes."""

    @dataclass(frozen=True, eq=False)
    class Silent(Oven):
        heat: int = 3

    message = r"^Field heat of Silent must say what it allows: integer, word, text or fixed of .*$"
    with pytest.raises(TypeError, match=message):
        Silent(heat=4)


def test_a_shape_is_a_payload() -> None:
    shape = data.StructLayout({"a": 3})
    assert Oven(tray=shape).tray is shape


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_network_is_sent_as_its_parameters(name: str) -> None:
    """It is the same in another process: of its family, with the same cells."""
    network = build(name, **FAMILIES[name].example)
    other = pickle.loads(pickle.dumps(network))
    assert (other.family, other.parameters) == (name, network.parameters)
    assert other.fabric.cells == network.fabric.cells
    assert other.fabric.drivers == network.fabric.drivers


def test_altered_stays_of_its_family_unless_that_is_what_is_altered() -> None:
    assert build("cedar").altered(depth=8).family == "cedar"
    assert build("cube").altered(wiring="omega").family == "omega"
    assert build("mesh").altered(k=3).family == "mesh"
    assert build("mesh").altered(wrap=True).family == "torus"


@pytest.mark.parametrize("name", FAMILIES)
def test_chosen_parameters_build_the_network_again(name: str) -> None:
    network = build(name, **FAMILIES[name].example)
    assert build(name, **network.chosen).parameters == network.parameters
    assert str(build(str(network))) == str(network)
