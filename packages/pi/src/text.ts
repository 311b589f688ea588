/** Lines for Pi's screen: cut or folded to its width, so that no line of ours breaks it. */
import type { Theme } from "@earendil-works/pi-coding-agent";

/**
 * Pi's own measure of width, so that both agree; bundled, since an `.mjs` can't ask Pi for it. Its tables and
 * patterns take a third of the time that loading us takes, so they are made when the first line is shown.
 */
const measure = (): typeof import("../node_modules/@earendil-works/pi-tui/dist/utils.js") =>
  require("../node_modules/@earendil-works/pi-tui/dist/utils.js");

export interface Component {
  render(width: number): string[];
  invalidate(): void;
}

export type Colour = Parameters<Theme["fg"]>[0];

/** Lines that are folded at the screen's edge, that far from its left. */
export function folded(lines: string[], indent = 0): Component {
  const space = " ".repeat(indent);
  return {
    render: (width) =>
      lines
        .flatMap((line) => measure().wrapTextWithAnsi(line, Math.max(1, width - indent)))
        .map((line) => space + line),
    invalidate() {},
  };
}

/** Lines that are cut at the screen's edge, made anew each time. */
export function cut(lines: () => string[]): Component {
  return {
    render: (width) =>
      lines().map((line) => measure().truncateToWidth(line, Math.max(1, width), "…")),
    invalidate() {},
  };
}

/** Micro-dollars as dollars. */
export function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}

export function seconds(ms: number): string {
  const all = Math.round(ms / 1_000);
  return all < 120 ? `${all} s` : `${Math.floor(all / 60)} min ${all % 60} s`;
}

/** Columns of a folder before its beginning is left out. */
const FOLDER = 32;

/** A folder as people write it. */
export function folder(path: string): string {
  const home = process.env.HOME;
  const below = home !== undefined && (path === home || path.startsWith(`${home}/`));
  const short = below ? `~${path.slice(home.length)}` : path;
  if (short.length <= FOLDER) return short;
  return `…/${short.split("/").slice(-2).join("/")}`;
}

/** A number of changes in words. */
export function changes(count: number): string {
  return count === 1 ? "1 change" : `${count} changes`;
}
