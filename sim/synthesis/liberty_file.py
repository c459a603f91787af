"""Reads the energies and capacitances of a library in Liberty's format."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import number_of

__all__ = ["CellEnergies", "Group", "cell_energies", "liberty_group"]


@dataclass
class Group:
    """A group `kind (name) { ... }`, with its attributes and the groups in it."""

    kind: str
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def of(self, kind: str) -> Iterator["Group"]:
        """The groups of a kind in this one."""
        return (group for group in self.groups if group.kind == kind)

    def numbers(self, attribute: str) -> list[float]:
        """All numbers of an attribute; ValueError if there is another word, or an infinite one."""
        words = re.findall(r"[-+.\w]+", self.attributes.get(attribute, ""))
        found = [number_of(word) for word in words]
        if not all(map(math.isfinite, found)):
            raise InvalidValue("Numbers must be finite")
        return found

    def number(self, attribute: str) -> float:
        """A number; 0 if it is not there."""
        return next(iter(self.numbers(attribute)), 0.0)


_COMMENT = re.compile(r"/\*.*?\*/|\\\r?\n", re.S)
_STATEMENT = re.compile(
    r"""\s*(?: (?P<end>\}) ;?
    | (?P<kind>\w+) \s* \( (?P<name>(?:"[^"]*"|[^()"])*) \) \s* (?: (?P<open>\{) | ;? )
    | (?P<key>\w+) \s* : \s* (?P<value>(?:"[^"]*"|[^;{}"\n])*) ;? )""",
    re.X,
)


def liberty_group(text: str) -> Group:
    """The group `library` of a file.

    Raises
    ------
    ValueError
        If it is of another form.
    """
    text = _COMMENT.sub(" ", text)
    root = Group("", "")
    within, at = [root], 0
    while match := _STATEMENT.match(text, at):
        at = match.end()
        if match["end"]:
            within.pop()
            if not within:
                break
        elif match["open"]:
            group = Group(match["kind"], match["name"].strip(' "'))
            within[-1].groups.append(group)
            within.append(group)
        elif match["kind"]:
            within[-1].attributes[match["kind"]] = match["name"]
        else:
            within[-1].attributes[match["key"]] = match["value"].strip(' "')
    found = list(root.of("library"))
    if len(within) != 1 or text[at:].strip() or len(found) != 1:
        line = text.count("\n", 0, at) + 1
        raise InvalidValue(f"The Liberty file can't be read near line {line}")
    return found[0]


_Table = tuple[Sequence[float], Sequence[float]]
"""Loads in pF, and the energy in pJ at each."""


@dataclass(frozen=True)
class CellEnergies:
    """What a cell takes.

    Attributes
    ----------
    leakage : float
        In W.
    capacitances : dict[str, float]
        Of its inputs, in pF.
    own : dict[str, float]
        Energy of a change of an input, whatever the outputs do, in pJ.
    tables : dict[str, list]
        For each output, tables whose sum is the energy in pJ of one of its changes: loads in pF,
        energies.
    """

    leakage: float
    capacitances: dict[str, float]
    own: dict[str, float]
    tables: dict[str, list[_Table]]

    def energy(self, pin: str, load: float) -> float:
        """Energy inside the cell of a change of an output, in pJ, on average over its causes."""
        return sum(float(np.interp(load, loads, given)) for loads, given in self.tables[pin])


_LOAD = "total_output_net_capacitance"


def cell_energies(library: Group) -> tuple[float, dict[str, CellEnergies]]:
    """The voltage, and the energies of all cells of a library.

    A change is half a rise and half a fall. Transitions of inputs are the second ones of the
    library's tables, which are fast.
    """
    picofarad = 1e12 * _unit(library, "capacitive_load_unit", "F", None)
    watt = _unit(library, "leakage_power_unit", "W", "1nW")
    volt = _unit(library, "voltage_unit", "V", "1V")
    picojoule = picofarad * volt**2
    templates = {each.name: each for each in library.of("power_lut_template")}

    def table(power: Group) -> _Table:
        template = templates.get(power.name, Group("", ""))
        axes = []
        for axis in ("1", "2"):
            index = power.numbers(f"index_{axis}") or template.numbers(f"index_{axis}")
            if variable := template.attributes.get(f"variable_{axis}"):
                axes.append((variable, index))
                if any(one >= other for one, other in pairwise(index)):
                    raise InvalidValue("An index must increase")
        values = np.array(power.numbers("values"))
        if not axes:
            (value,) = values  # more than one are of a template that is not there
            return [0.0], [float(value) * picojoule]
        values = values.reshape([len(index) for _, index in axes])
        for place in reversed(range(len(axes))):
            if axes[place][0] != _LOAD:
                values = values.take(min(1, values.shape[place] - 1), axis=place)
        loads = next((index for variable, index in axes if variable == _LOAD), [0.0])
        given = [float(value) * picojoule for value in values.reshape(-1)]
        return [load * picofarad for load in loads], given

    def mean(power: Group) -> _Table:
        both = [table(each) for each in power.groups if each.kind in ("rise_power", "fall_power")]
        both += [table(each) for each in power.of("power")]
        if not both:
            raise InvalidValue("There is no energy")
        loads = sorted({load for axis, _ in both for load in axis})
        given = [np.interp(loads, axis, values) for axis, values in both]
        return loads, np.mean(given, axis=0).tolist()

    def energies(cell: Group) -> CellEnergies:
        capacitances: dict[str, float] = {}
        own: dict[str, float] = {}
        tables: dict[str, list[_Table]] = {}
        for pin in cell.of("pin"):
            names = pin.name.replace(",", " ").split()
            given = [each for each in pin.of("internal_power") if each.groups]
            powers: list[_Table] = [
                (loads, [weight * value for value in values])
                for weight, (loads, values) in zip(_weights(given), map(mean, given))
            ]
            if pin.attributes.get("direction") == "output":
                tables |= dict.fromkeys(names, powers)
            else:
                hidden = sum(values[0] for _, values in powers)
                for name in names:
                    capacitances[name] = _capacitance(library, pin) * picofarad
                    own[name] = hidden
        states = [*cell.of("leakage_power")]
        leakage = cell.number("cell_leakage_power") or sum(
            weight * each.number("value") for weight, each in zip(_weights(states), states)
        )
        return CellEnergies(leakage * watt, capacitances, own, tables)

    found = {}
    for cell in library.of("cell"):
        try:
            found[cell.name] = energies(cell)
        except (IndexError, ValueError) as error:
            raise InvalidValue(
                f"The energies of cell {cell.name} of the Liberty file can't be read"
            ) from error
    return _voltage(library, volt), found


def _weights(groups: Sequence[Group]) -> list[float]:
    """How much each counts in the sum: those of a supply are averaged, and supplies are added."""
    supplies = [each.attributes.get("related_pg_pin") for each in groups]
    return [1 / supplies.count(each) for each in supplies]


def _capacitance(library: Group, pin: Group) -> float:
    """That of an input in the library's unit: its own, or that of its rise and fall, or the usual
    one."""
    if "capacitance" in pin.attributes:
        return pin.number("capacitance")
    both = [pin.number(f"{edge}_capacitance") for edge in ("rise", "fall")]
    return sum(both) / 2 or library.number("default_input_pin_cap")


def _voltage(library: Group, volt: float) -> float:
    """The nominal voltage in V. A far one is that of a file whose unit is not meant for it."""
    given = library.attributes.get("nom_voltage")
    try:
        voltage = volt * number_of(given or "")
    except ValueError:
        voltage = 0.0
    if not 0.1 <= voltage <= 100:
        raise InvalidValue(
            f"The Liberty file must state its nom_voltage, from 0.1 to 100 V, not {given!r}"
            + ("" if volt == 1 else f" in units of {volt:g} V")
        )
    return voltage


def _unit(library: Group, attribute: str, of: str, usual: str | None) -> float:
    """How many W, F or V a unit of the library is."""
    given = library.attributes.get(attribute, usual)
    form = rf"\s*(\d+\.?\d*|\.\d+)[\s,\"]*([munpf]?){of}\s*"
    found = re.fullmatch(form, (given or "").strip('"'), re.I | re.A)
    if found is None or not float(found[1]):
        raise InvalidValue(f"The Liberty file must state its {attribute}, in {of}, not {given!r}")
    return float(found[1]) / 1e3 ** " munpf".index(found[2].lower() or " ")
