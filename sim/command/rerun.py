"""`multicube rerun`: recorded runs, again."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from ...hdl.fabric.errors import InvalidValue
from .shared_arguments import INTERRUPTED, same_engine_option

if TYPE_CHECKING:
    from ..measure.result import Result
    from ..run.recorded_runs import Record

__all__ = ["rerun"]


@click.command()
@click.argument("file")
@click.option(
    "--row",
    "rows",
    type=int,
    multiple=True,
    metavar="N",
    help="Only the Nth run of the file, from 1 on. May be given several times.",
)
@same_engine_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def rerun(file: str, rows: tuple[int, ...], engine: str | None, as_json: bool) -> None:
    """Run again what FILE records, and compare all numbers.

    FILE comes from multicube sim or booksim --json, or from -o (.csv or .json) or --resume of
    multicube sweep. Several files may have been joined. The status is 1 if a number differs, or if
    the file of the network or of the traffic has changed.
    """
    from ..run.record import this_version
    from ..run.recorded_runs import read_records
    from ..run.recorded_runs import rerun as run_again

    records = read_records(file)
    for row in rows:
        if row not in range(1, len(records) + 1):
            raise InvalidValue(f"Row must be from 1 to {len(records)} in {file}, not {row}")
    compared = []
    for row in rows or range(1, len(records) + 1):
        record = records[row - 1]
        if not record.comparable:
            raise InvalidValue(f"Row {row} of {file} records no measured value to compare")
        if record.version != this_version():
            click.echo(
                f"multicube: row {row} is of version {record.version}, this is {this_version()}",
                err=True,
            )
        try:
            result = run_again(record, engine=engine)
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"Row {row} of {file}: {error}") from None
        differences, changes = record.differences(result), record.changes(result)
        compared.append(_object(row, record, result, differences, changes))
        if not as_json:
            click.echo(_line(row, result, differences, changes))
        if result.partial:
            break
    if as_json:
        click.echo(json.dumps({"file": file, "rows": compared}))
    if compared[-1]["result"]["partial"]:
        sys.exit(INTERRUPTED)
    sys.exit(0 if all(each["equal"] for each in compared) else 1)


def _object(
    row: int,
    record: "Record",
    result: "Result",
    differences: dict[str, tuple[Any, Any]],
    changes: list[str],
) -> dict[str, Any]:
    return {
        "row": row,
        "version": record.version,
        "equal": not differences and not changes,
        "changed": changes,
        "differences": {
            name: {"recorded": was, "now": now} for name, (was, now) in differences.items()
        },
        "result": result.to_json(),
    }


def _line(
    row: int, result: "Result", differences: dict[str, tuple[Any, Any]], changes: list[str]
) -> str:
    from ..workload.pattern import short_name

    what = f"{result.network}, {short_name(result.traffic)}, load {result.offered_load:g}"
    if not differences and not changes:
        return f"row {row}: equal ({what})"
    parts = [f"the {each} has changed since, which is in a file or in code" for each in changes]
    parts += [
        f"{name} {_short(now, was)}, not {_short(was, now)}"
        for name, (was, now) in differences.items()
    ]
    return f"row {row}: DIFFERENT ({what}): {'; '.join(parts)}"


def _short(value: Any, other: Any) -> str:
    """A value, or if it is long, the part of it in which it begins to differ from another."""
    written = str if str(value) != str(other) else repr  # 300 and "300"
    text, than, common = written(value), written(other), 0
    while text[common : common + 1] == than[common : common + 1] != "":
        common += 1
    begin = max(0, common - 20) if len(text) > 40 and common > 30 else 0
    shown = f"{'...' if begin else ''}{text[begin:]}"
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
