/** What the program answers, as Pi shows it. Whatever a child wrote is escaped by the program, and here again. */
import type { Theme } from "@earendil-works/pi-coding-agent";
import { clean, oneLine } from "./clean.ts";
import { changes, type Colour, dollars, folder, seconds } from "./text.ts";

/** The object of an answer; every part may be missing. */
export interface Answer {
  run?: string;
  state?: string;
  status?: string;
  model?: string;
  preset?: string;
  workdir?: string;
  summary?: string;
  evidence?: { path: string; line?: number; note: string }[];
  warnings?: string[];
  blocked?: {
    reason: string;
    details: { call: number; tool: string; rule: string; message: string }[];
  };
  usage?: Usage;
  changes?: { path: string; kind: string; kept_back?: string }[];
  checks?: { command: string; outcome: unknown }[];
  error?: { code: string; field: string; reason: string; fix: string };
  runs?: Answer[];
  chain?: { steps: number; began: number; over: boolean };
  now?: {
    gauges?: { dimension: string; used: number; limit: number | null }[];
    silent_ms?: number;
  };
  manifest?: string;
  diff?: string;
  host_lost?: boolean;
  elsewhere?: boolean;
  task?: string;
}

export interface Usage {
  turns: number;
  tool_calls: number;
  commands: number;
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  cost_micros: number | null;
  wall_ms: number;
  limits: Record<string, number | null>;
}

/** Rows of a list before it is opened. */
const FEW = 5;

const COLOURS: Record<string, Colour> = {
  ok: "success",
  blocked: "warning",
  budget_exhausted: "warning",
  cancelled: "muted",
  waiting: "accent",
  running: "accent",
};

/** How it ended, or stands, in a word. */
export function badge(answer: Answer, theme: Theme): string {
  const word = wordOf(answer);
  return theme.fg(COLOURS[word] ?? "error", theme.bold(` ${word.replaceAll("_", " ")} `));
}

export function wordOf(answer: Answer): string {
  if (answer.error !== undefined) return "refused";
  if (answer.host_lost) return "host lost";
  return answer.status ?? answer.state ?? "done";
}

/** A run's answer in lines. */
export function lines(answer: Answer, theme: Theme, expanded: boolean): string[] {
  const out: string[] = [];
  const dim = (text: string) => theme.fg("muted", text);
  const some = <T>(items: T[], row: (item: T) => string) => {
    const shown = expanded ? items : items.slice(0, FEW);
    out.push(...shown.map((item) => `  ${row(item)}`));
    if (items.length > shown.length) out.push(dim(`  … ${items.length - shown.length} more`));
  };
  const run = answer.run === undefined ? "" : dim(` run ${answer.run.slice(-8)}`);
  const model = answer.model === undefined ? "" : dim(` · ${oneLine(answer.model)}`);
  out.push(`${badge(answer, theme)}${run}${model}`);
  if (answer.error !== undefined) {
    const { code, field, reason, fix } = answer.error;
    out.push(`${oneLine(reason)} ${dim(`[${code}, ${oneLine(field)}]`)}`, `fix: ${oneLine(fix)}`);
  }
  if (answer.summary) {
    const told = clean(answer.summary).split("\n");
    const shown = expanded ? told : told.slice(0, FEW * 2);
    out.push(...shown.map((line) => `${dim("│ ")}${line}`));
    if (told.length > shown.length) out.push(dim(`… ${told.length - shown.length} more lines`));
  }
  if (answer.evidence?.length) {
    out.push(dim("evidence, looked up"));
    some(answer.evidence, ({ path, line, note }) => {
      const place = line === undefined ? oneLine(path) : `${oneLine(path)}:${line}`;
      return `${theme.fg("accent", place)} ${dim(oneLine(note))}`;
    });
  }
  if (answer.blocked !== undefined) {
    out.push(theme.fg("warning", `refused: ${oneLine(answer.blocked.reason)}`));
    some(answer.blocked.details, ({ call, tool, rule, message }) =>
      dim(`call ${call} (${oneLine(tool)}), by ${oneLine(rule)}: ${oneLine(message)}`),
    );
  }
  for (const { command, outcome } of answer.checks ?? []) {
    out.push(`${dim("check")} ${oneLine(command)}: ${oneLine(outcomeOf(outcome))}`);
  }
  if (answer.warnings?.length) {
    out.push(theme.fg("warning", "warnings"));
    some(answer.warnings, oneLine);
  }
  if (answer.usage !== undefined) out.push(dim(spent(answer.usage)));
  if (answer.changes?.length) {
    out.push(`${changes(answer.changes.length)}, in a copy until applied`);
    some(answer.changes, ({ path, kind, kept_back }) => {
      const kept =
        kept_back === undefined ? "" : theme.fg("warning", ` kept back: ${oneLine(kept_back)}`);
      return `${dim(kind)} ${oneLine(path)}${kept}`;
    });
    out.push(dim("review and apply: /deputize"));
  }
  for (const one of answer.runs ?? []) out.push(...lines(one, theme, expanded));
  return out;
}

function outcomeOf(outcome: unknown): string {
  return typeof outcome === "string" ? outcome.replaceAll("_", " ") : JSON.stringify(outcome);
}

/** What was used, against its limits. */
export function spent(usage: Usage): string {
  const of = (used: number, limit: number | null | undefined) =>
    limit === null || limit === undefined ? String(used) : `${used}/${limit}`;
  const { limits } = usage;
  const tokens = usage.input_tokens + usage.output_tokens;
  const cost =
    usage.cost_micros === null
      ? `${tokens} tokens`
      : limits.cost_micros == null
        ? dollars(usage.cost_micros)
        : `${dollars(usage.cost_micros)}/${dollars(limits.cost_micros)}`;
  return [
    `turns ${of(usage.turns, limits.turns)}`,
    `calls ${of(usage.tool_calls, limits.tool_calls)}`,
    `commands ${of(usage.commands, limits.commands)}`,
    cost,
    seconds(usage.wall_ms),
  ].join(" · ");
}

/** A line for a run in a list. */
export function listed(answer: Answer): string {
  const changed = answer.changes?.length ? ` · ${changes(answer.changes.length)}` : "";
  const what = answer.task ?? answer.summary ?? answer.error?.reason ?? "";
  const where = [answer.preset, answer.workdir && folder(answer.workdir)]
    .filter(Boolean)
    .join(" · ");
  return oneLine(
    [`${answer.run?.slice(-8)} ${wordOf(answer)}${changed}`, where, what.slice(0, 80)]
      .filter(Boolean)
      .join(" · "),
  );
}
