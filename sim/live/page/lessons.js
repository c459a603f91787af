"use strict";
// Lessons: their texts, and what each of their steps does.

class Lessons {
  constructor(page) {
    this.page = page;
    this.current = null;
  }

  async open(name) {
    const lesson = ABOUT.lessons[name];
    byId("lesson").value = lesson ? name : "";
    byId("lesson-card").hidden = !lesson;
    this.current = lesson ? { ...lesson, at: 0 } : null;
    if (!lesson) { this.page.setting.tables = null; this.setBoxes({}); await this.page.restart(); }
    if (lesson) { this.showNext(lesson.next ?? []); await this.show(0); }
  }

  /** Other lessons: those of this network are in this page, the others in the pages that `multicube
      view --lesson NAME` writes beside it. */
  showNext(names) {
    byId("lesson-next-ones").replaceChildren(...names.length ? ["See also: "] : [], ...names.flatMap((name, n) => [n ? ", " : "",
      element("a", { href: `${name}.html`, title: `multicube view --lesson ${name}`,
        onclick: (event) => { if (name in ABOUT.lessons) { event.preventDefault(); this.open(name); } } }, ABOUT.titles[name])]));
  }

  /** Show how boxes are set, if a step says so: one after the other, or all at once. */
  setBoxes({ boxes = [], slowly = false }) {
    const { drawing } = this.page, index = new Map(drawing.nodes.map(({ name }, n) => [name, n]));
    drawing.boxes = new Map(boxes.map(([name, pairs]) => [index.get(name), pairs]));
    drawing.boxesSince = slowly ? performance.now() : -Infinity;
  }

  /** A step says which links are broken in it, whichever step the user comes from. */
  async mendAll() { if (this.page.drawing.dead.size) await this.page.mend(); }

  async show(at) {
    const lesson = this.current;
    lesson.at = Math.max(0, Math.min(lesson.steps.length - 1, at));
    const step = lesson.steps[lesson.at];
    byId("lesson-title").textContent = lesson.title;
    byId("lesson-text").replaceChildren(...step.text.map((text) => element("p", {},
      ...text.split("`").map((part, n) => n % 2 ? element("kbd", {}, ...unbroken(part)) : part))));
    byId("lesson-place").textContent = `${lesson.at + 1} of ${lesson.steps.length}`;
    byId("lesson-back").disabled = lesson.at === 0;
    byId("lesson-next").disabled = lesson.at === lesson.steps.length - 1;
    await this.act(step);
  }

  /** What a step of a lesson does before it lets the user watch. */
  async act(step) {
    const { page } = this;
    page.pause();
    await this.mendAll();
    const { tables } = page.setting;
    page.setting.tables = step.tables ?? null;
    this.setBoxes(step);
    if (step.restart || tables !== page.setting.tables) {
      Object.assign(page.setting, step.setting);
      page.showSetting();
      await page.restart();
    } else if (step.setting) await page.change(step.setting);
    for (const name of step.break ?? []) {
      const node = page.drawing.nodes.findIndex((each) => each.name === name);
      if (node >= 0) await page.breakNode(node);
      const line = page.drawing.lines.findIndex((each) => each.link === name);
      if (line >= 0) await page.breakLine(line);
    }
    if (step.speed !== undefined) page.setSpeed(step.speed);
    if (step.cycles) await page.advance(step.cycles);
    if (step.line) await page.program.goTo(step.line);
    const entering = () => page.moment.flits.some(({ line }) => line.source[0] === "terminal");
    if (step.follow) { for (let n = 0; n < 60 && !entering(); n++) await page.advance(1); await page.followAny(); }
    if (step.select) page.select({ what: "node", index: page.drawing.nodes.findIndex((node) => node.name === step.select) });
    page.phase = 1;
    page.show();
    if (step.run) page.run();
  }
}
