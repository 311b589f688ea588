/** The runs that go on, below the editor. */
import type { ExtensionContext, Theme } from "@earendil-works/pi-coding-agent";
import { oneLine } from "./clean.ts";
import type { Gauge, Run, Runs } from "./runs.ts";
import { type Component, cut, dollars, folder, seconds } from "./text.ts";

const KEY = "deputize";

/** Rows at most; Pi shows ten of a list. */
const ROWS = 8;

/** How often a screen's spinner moves, and how often a host that is told of lines is told again. */
const TICK = 120;
const TELL = 1_000;

const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export class Widget {
  #shown: "none" | "screen" | "lines" = "none";
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly runs: Runs,
    private readonly here: () => ExtensionContext | undefined,
  ) {}

  /** Something changed. */
  update(): void {
    const ctx = this.here();
    if (ctx === undefined || !ctx.hasUI) return;
    if (this.runs.live.size === 0) {
      this.clear();
    } else if (ctx.mode === "tui") {
      if (this.#shown === "screen") return;
      this.#shown = "screen";
      ctx.ui.setWidget(KEY, (tui, theme) => this.#screen(() => tui.requestRender(), theme), {
        placement: "belowEditor",
      });
    } else if (this.#timer === undefined) {
      this.#shown = "lines";
      this.#tell(ctx);
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        if (this.#shown === "lines") this.update();
      }, TELL);
      this.#timer.unref();
    }
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#shown === "none") return;
    this.#shown = "none";
    this.here()?.ui.setWidget(KEY, undefined);
  }

  #tell(ctx: ExtensionContext): void {
    ctx.ui.setWidget(
      KEY,
      this.#rows((run) => row(run, " ")),
      { placement: "belowEditor" },
    );
  }

  #screen(render: () => void, theme: Theme): Component & { dispose(): void } {
    const timer = setInterval(render, TICK);
    timer.unref();
    const lines = cut(() => {
      const frame = SPINNER[Math.floor(Date.now() / TICK) % SPINNER.length] ?? "";
      return this.#rows((run) => coloured(run, frame, theme));
    });
    return { ...lines, dispose: () => clearInterval(timer) };
  }

  #rows(one: (run: Run) => string): string[] {
    const all = [...this.runs.live.values()];
    const rows = all.slice(0, ROWS).map(one);
    return all.length > ROWS ? [...rows, `  … ${all.length - ROWS} more: /deputize`] : rows;
  }
}

function coloured(run: Run, frame: string, theme: Theme): string {
  const [head, ...rest] = parts(run);
  const quiet = run.silence === "awake" ? "muted" : "warning";
  return ` ${theme.fg("accent", `${frame} ${head}`)} ${theme.fg(quiet, `· ${rest.join(" · ")}`)}`;
}

function row(run: Run, frame: string): string {
  return `${frame}${parts(run).join(" · ")}`;
}

/** Preset, folder, counters against the budget, what it does, and how long it has been silent. */
function parts(run: Run): string[] {
  const silent = run.silentMs + (Date.now() - run.heard);
  const word = run.silence === "awake" ? "silent" : run.silence;
  return [
    run.preset,
    folder(run.workdir),
    ...run.gauges.map(counter).filter((text) => text !== undefined),
    oneLine(run.doing),
    ...(silent >= 2_000 ? [`${word} ${seconds(silent)}`] : []),
  ];
}

const COUNTED: Record<string, string> = {
  turns: "turns",
  tool_calls: "calls",
  commands: "commands",
};

function counter({ dimension, used, limit }: Gauge): string | undefined {
  const name = COUNTED[dimension];
  if (name !== undefined && (limit === null || limit > 0)) {
    return `${name} ${used}${limit === null ? "" : `/${limit}`}`;
  }
  if (dimension === "cost_micros" && used > 0) {
    return `${dollars(used)}${limit === null ? "" : `/${dollars(limit)}`}`;
  }
  return dimension === "wall_seconds" ? `${used} s` : undefined;
}
