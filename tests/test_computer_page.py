"""Pages of parallel computers in Chromium: they do what the compiled engine does."""

from pathlib import Path
from typing import Any

import pytest
from browser import Tab, needs_chromium
from command_line import exit_status
from long_runs import long
from multicube.hdl import build
from multicube.hdl.computer.computer import Computer
from multicube.sim import ProgramFault, run_computer
from multicube.sim.computer.compilation import compile_program
from multicube.sim.computer.computer_page import ComputerPage, lesson_page, picture, program_lessons
from multicube.sim.computer.computer_run import computer_of
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.live.design_page import Design

pytest.importorskip("pythondata_cpu_minerva")
pytestmark = needs_chromium

PROGRAM = """\
#include "multicube.h"

volatile int next, sum, seen[4];

int main(void) {
  for (int number; (number = mc_fetch_add(&next, 1)) < 20;) {
    mc_fetch_add(&sum, number);
    seen[mc_id()] += 1;
  }
  mc_barrier();
  mc_print("sum ");
  mc_print_int(sum - 200);
  mc_print("\\n");
  return 0;
}
"""
WRONG = {
    "a store outside": """
      if (mc_id() == 2)
        *(volatile int *)list = 1;
      mc_barrier();
    """,
    "the first of two faults": """
      if (mc_id() == 2)
        *(volatile int *)list = 1;
      if (mc_id() == 1)
        mc_fetch_add((volatile int *)list, 5 / mc_id());
      mc_barrier();
    """,
    "a jump to nowhere": """
      void (*volatile next)(void) = 0;
      next();
    """,
    "a stack that is too small": """
      volatile int many[2000];
      many[mc_id()] = 1;
    """,
    "a message for nobody": "mc_send(mc_count(), 1);",
    "a fault in the runtime": "mc_print((char *)list);",
}
"""Bodies of functions."""


def opened(chromium: Any, folder: Path, code: str, network: str) -> tuple[Tab, Path]:
    program = folder / "program.c"
    program.write_text(code)
    page = ComputerPage(program, build(network))
    page.save(folder / "page.html")
    return Tab(chromium, folder / "page.html"), program


def to_the_end(tab: Tab) -> None:
    tab.page.evaluate(
        "(async () => { while (!multicube.program.frame?.over) await multicube.advance(1000); })()"
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "engine"),
    [
        ("combining ports=4", "compiled"),
        long("torus k=2 n=2", "compiled"),
        long("combining ports=4", "verilator"),
    ],
)
def test_a_program_ends_as_on_the_engine(
    network: str, engine: str, chromium: Any, tmp_path: Path
) -> None:
    tab, program = opened(chromium, tmp_path, PROGRAM, network)
    to_the_end(tab)
    wanted = run_computer(program, build(network), engine=engine)
    shown = tab.page.evaluate(
        """(async () => {
          const { frame, texts } = multicube.program, words = [];
          for (let n = 0; n < 4; n++) {
            const { memories } = (await multicube.ask("advance", { look: `memory_${n}` })).look;
            words.push(memories[0].rows.map((row) => row | 0));
          }
          const told = texts.map(({ core, cycle, text }) => [core, cycle, text]);
          return { ended: frame.ended, instructions: frame.instructions, texts: told, words,
            result: frame.result };
        })()"""
    )
    assert shown["ended"] == wanted.cores["ended"]
    assert shown["instructions"] == wanted.cores["instructions"]
    assert shown["result"] == wanted.results
    lines = [[line.core, line.cycle, line.text] for line in wanted.console]
    assert sorted(shown["texts"]) == sorted(lines)
    assert len(lines) == 4
    assert all(text == "sum -10" for _, _, text in lines)
    image = compile_program(program)
    computer = computer_of(build(network), image, 4096)
    for name, variable in image.variables.items():
        places = [computer.memory.stored(variable.first + at) for at in range(variable.words)]
        assert [shown["words"][module][row] for module, row in places] == wanted.shared[name]
    assert tab.page.text_content("#program-end") == (
        f"All cores have ended, after {wanted.cycles} cycles."
    )
    assert not tab.errors


@pytest.mark.long
def test_lines_are_those_of_the_core(chromium: Any, tmp_path: Path) -> None:
    """A step goes on to the next line, in the cycle in which the engine comes to it."""
    tab, program = opened(chromium, tmp_path, PROGRAM, "combining ports=4")
    image = compile_program(program)
    computer = computer_of(build("combining ports=4"), image, 4096)
    tab.page.select_option("#core", "1")
    with CompiledEngine(computer) as engine:
        engine.set("on", 1)
        at = ""
        for _ in range(8):
            tab.page.evaluate("multicube.program.stepLine()")
            while True:
                engine.step(1)
                (pc,) = engine.read(["core_1"], "pc")
                place = image.place(pc)
                if place != at and place.startswith("program.c:"):
                    break
            at = place
            cycle = tab.page.evaluate("multicube.moment.cycle")
            assert (f"program.c:{_line(tab)}", cycle) == (at, engine.cycle)
    chosen = tab.page.locator("#listing .chosen")
    assert chosen.count() == 1
    assert "1" in (chosen.locator(".at").text_content() or "").split()
    assert not tab.errors


def _line(tab: Tab) -> int:
    line: int = tab.page.evaluate("multicube.program.frame.lines[1]")
    return line


@pytest.mark.long
@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_an_exception_is_told_as_by_the_command(body: str, chromium: Any, tmp_path: Path) -> None:
    code = f'#include "multicube.h"\nint *list;\nint main(void) {{{body}return 0;\n}}'
    tab, program = opened(chromium, tmp_path, code, "torus k=2 n=2")
    with pytest.raises(ProgramFault) as raised:
        run_computer(program, build("torus k=2 n=2"))
    wanted = str(raised.value).replace("program.c:", "line ")
    tab.page.click("#run")
    tab.page.evaluate("multicube.setSpeed(12)")
    tab.page.wait_for_function("document.getElementById('program-end').textContent")
    told = tab.page.text_content("#program-end") or ""
    if "mc_print" in body:  # whose name the page does not know
        told = told.replace("address 0x00100030", "function mc_print")
    assert told == f"{wanted}."
    assert "Run" in (tab.page.text_content("#run") or "")
    tab.page.click("#reset")
    tab.page.wait_for_function("!document.getElementById('program-end').textContent")
    assert not tab.errors


@pytest.mark.long
def test_a_lesson_on_a_queue(chromium: Any, tmp_path: Path) -> None:
    """Its texts tell of lines that are so, and all steps can be taken."""
    lesson_page("parallel-queue").save(tmp_path / "page.html")
    tab = Tab(chromium, tmp_path / "page.html")
    (lesson,) = program_lessons().values()
    source = (tab.page.text_content("#listing li:nth-child(10)") or "").strip()
    assert source == "int place = mc_fetch_add(&end, 1);"
    for number, step in enumerate(lesson["steps"]):
        tab.page.evaluate(f"multicube.lessons.show({number})")
        if "line" in step and not step.get("run"):
            assert tab.page.evaluate("multicube.program.frame.lines[0]") == step["line"]
    to_the_end(tab)
    (line,) = tab.page.evaluate("multicube.program.texts.map(({ text }) => text)")
    assert sorted(map(int, line.split())) == [0, 1, 10, 11, 20, 21, 30, 31]
    assert not tab.errors


@pytest.mark.parametrize(
    ("network", "words"), [("combining-graph network=ring:k=4", 4), ("hypercube n=2", 0)]
)
def test_what_is_drawn_passes_packets_on(network: str, words: int) -> None:
    """Cores, routers and memory, each at a link; a core is what sends for it, too."""
    computer = Computer(
        build(network), program=[0], local_rows=16, shared_words=words, messages=not words
    )
    diagram = Design(computer, "", picture(computer), wires=False).diagram
    linked = {end.index for line in diagram.lines for end in (line.source, line.target)}
    assert linked == set(range(len(diagram.nodes)))
    assert set(computer.nodes) <= {node.cells[0] for node in diagram.nodes}


def test_the_command_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.c").write_text(PROGRAM)
    assert exit_status("computer", "view", "program.c", "combining", "ports=4", "-o", "p.html") == 0
    assert capsys.readouterr().out.startswith("p.html: program.c, ")
    about = (tmp_path / "p.html").read_text()
    assert '"words":"program.c combining ports=4 radix=2' in about
    assert "rows=16" not in about  # the computer sets them itself
    assert exit_status("computer", "view", "program.c", "torus", "k=3") == 2
    assert capsys.readouterr().err.count("\n") == 1
    lesson = ["--lesson", "parallel-queue"]
    for words in (["--lesson", "nothing"], ["program.c", *lesson], [*lesson, "-D", "N=2"], []):
        assert exit_status("computer", "view", *words) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "computer.html").exists()
