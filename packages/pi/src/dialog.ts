/**
 * The dialog of a question. On Pi's screen it is one of our own: in Pi's `select`, a `j` of whatever is being typed
 * moves to the next answer, and the Enter that follows would be a yes. In RPC mode whoever drives Pi shows it.
 */
import type { ExtensionContext, KeybindingsManager, Theme } from "@earendil-works/pi-coding-agent";
import { clean } from "./clean.ts";
import { type Component, folded } from "./text.ts";

export const NO = "No";

/** Whoever looks elsewhere hears that something waits. */
const BELL = "\u0007";

/** Keys that come so soon were meant for something else. */
const TYPED_AHEAD = 500;

/** Shows a card with its answers, No first. Nothing comes of one that is dismissed or taken away. */
export async function ask(
  ctx: ExtensionContext,
  card: string,
  yes: string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const answers = [NO, ...yes];
  const text = clean(card).trimEnd();
  if (ctx.mode !== "tui") return ctx.ui.select(text, answers, { signal });
  let remove: (() => void) | undefined;
  try {
    return await ctx.ui.custom<string | undefined>(
      (tui, theme, keys, done) => {
        const taken = () => done(undefined);
        signal.addEventListener("abort", taken, { once: true });
        remove = () => signal.removeEventListener("abort", taken);
        if (signal.aborted) taken();
        tui.terminal.write(BELL);
        return new Dialog(text.split("\n"), answers, theme, keys, () => tui.requestRender(), done);
      },
      { blocked: { kind: "permission", message: text.split("\n")[0] ?? "" } },
    );
  } finally {
    remove?.();
  }
}

class Dialog implements Component {
  #selected = 0;
  readonly #shown = Date.now();

  constructor(
    private readonly card: string[],
    private readonly answers: string[],
    private readonly theme: Theme,
    private readonly keys: KeybindingsManager,
    private readonly changed: () => void,
    private readonly done: (answer: string | undefined) => void,
  ) {}

  render(width: number): string[] {
    const { theme } = this;
    const [title, ...rest] = this.card;
    const border = theme.fg("border", "─".repeat(Math.max(1, width)));
    const answers = this.answers.map((answer, index) =>
      index === this.#selected ? theme.fg("accent", `→ ${answer}`) : `  ${answer}`,
    );
    const hint = theme.fg("muted", "↑↓ choose · enter answers · escape is no");
    const lines = [theme.fg("accent", theme.bold(title ?? "")), ...rest, "", ...answers, "", hint];
    return [border, ...folded(lines, 1).render(width), border];
  }

  handleInput(data: string): void {
    if (Date.now() - this.#shown < TYPED_AHEAD) return;
    const last = this.answers.length - 1;
    if (this.keys.matches(data, "tui.select.up")) {
      this.#selected = Math.max(0, this.#selected - 1);
    } else if (this.keys.matches(data, "tui.select.down")) {
      this.#selected = Math.min(last, this.#selected + 1);
    } else if (this.keys.matches(data, "tui.select.confirm")) {
      this.done(this.answers[this.#selected]);
    } else if (this.keys.matches(data, "tui.select.cancel")) {
      this.done(undefined);
    }
    this.changed();
  }

  invalidate(): void {}
}
