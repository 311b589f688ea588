/** Lines for Pi's screen: cut or folded to its width, so that no line of ours breaks it. */
import type { Theme } from "@earendil-works/pi-coding-agent";
// Pi's own measure of width, so that both agree; bundled, since an `.mjs` can't ask Pi for it.
import {
  truncateToWidth,
  wrapTextWithAnsi,
} from "../node_modules/@earendil-works/pi-tui/dist/utils.js";

export interface Component {
  render(width: number): string[];
  invalidate(): void;
}

export type Colour = Parameters<Theme["fg"]>[0];

/** Lines that are folded at the screen's edge. */
export function folded(lines: string[]): Component {
  return {
    render: (width) => lines.flatMap((line) => wrapTextWithAnsi(line, Math.max(1, width))),
    invalidate() {},
  };
}

/** Lines that are cut at the screen's edge, made anew each time. */
export function cut(lines: () => string[]): Component {
  return {
    render: (width) => lines().map((line) => truncateToWidth(line, Math.max(1, width), "…")),
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

/** A folder as people write it. */
export function folder(path: string): string {
  const home = process.env.HOME;
  return home && (path === home || path.startsWith(`${home}/`))
    ? `~${path.slice(home.length)}`
    : path;
}
