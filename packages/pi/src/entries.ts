/**
 * What stands in Pi's session beside the conversation: each run's beginning and end (A1), and what a person looked at.
 * No model ever sees these entries.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { clean, oneLine } from "./clean.ts";
import type { Link } from "./link.ts";
import { type Answer, badge, spent } from "./result.ts";
import type { Run } from "./runs.ts";
import { folded, folder } from "./text.ts";

const BEGAN = "deputize.began";
const ENDED = "deputize.ended";
const LOOKED = "deputize.looked";

interface Began {
  run: string;
  preset: string;
  workdir: string;
  model: string;
  started: string;
}

interface Ended extends Began {
  ended: string;
  status: string;
  boundary: string | null;
  summary: string;
  usage: Answer["usage"] | null;
  blocked: Answer["blocked"] | null;
  /** Asked, granted (tools, resources, where trust came from), enforced by what, used. */
  receipt: Record<string, unknown> | null;
  /** Every decided call: its verdict and the rule. */
  calls: Run["calls"];
  further: number;
}

/** By the ids of runs. */
type Receipts = Record<string, Record<string, unknown> | undefined>;

/** How long a result may take that is there already. */
const PATIENCE = 5_000;

/** Characters of a summary that are kept: the result holds all of it. */
const SUMMARY = 2_000;

export class Entries {
  readonly #going = new Set<Promise<void>>();

  constructor(
    private readonly pi: ExtensionAPI,
    private readonly link: Link,
  ) {
    pi.registerEntryRenderer<Began>(BEGAN, ({ data }, _options, theme) => {
      if (data === undefined) return undefined;
      const { run, preset, workdir, model } = data;
      const text = `deputy ${run.slice(-8)} began · ${preset} · ${folder(workdir)} · ${model}`;
      return folded([theme.fg("muted", oneLine(text))], 1);
    });
    pi.registerEntryRenderer<Ended>(ENDED, ({ data }, { expanded }, theme) => {
      if (data === undefined) return undefined;
      const boundary = data.boundary ?? "no boundary";
      const used = data.usage ? ` · ${spent(data.usage)}` : "";
      const head = theme.fg("muted", `deputy ${data.run.slice(-8)} ended:`);
      const tail = theme.fg(
        "muted",
        `· ${data.calls.length + data.further} calls · ${boundary}${used}`,
      );
      const calls = data.calls.map(({ call, tool, preview, verdict, rule }) =>
        theme.fg("muted", oneLine(`  ${call} ${tool} ${preview}: ${verdict} (${rule})`)),
      );
      const line = `${head}${badge({ status: data.status }, theme)}${tail}`;
      return folded(expanded ? [line, ...calls] : [line], 1);
    });
    pi.registerEntryRenderer<{ title: string; text: string }>(
      LOOKED,
      ({ data }, _options, theme) =>
        data === undefined
          ? undefined
          : folded(
              [
                theme.bold(oneLine(data.title)),
                ...clean(data.text).split("\n").map(diffLine(theme)),
              ],
              1,
            ),
    );
  }

  began({ run, preset, workdir, model, started }: Run): void {
    this.#append(BEGAN, { run, preset, workdir, model, started });
  }

  /** Keeps how a run ended, with its result. */
  ended(run: Run, status: string): void {
    const keeping = this.link
      .call("subagent_status", { run: run.run }, { timeout: PATIENCE })
      .then(({ structuredContent, _meta }) => {
        const receipts = (_meta?.["deputize/receipts"] ?? {}) as Receipts;
        this.#ended(run, status, (structuredContent ?? {}) as Answer, receipts);
      })
      .catch(() => this.#ended(run, status, {}, {}));
    this.#going.add(keeping);
    void keeping.finally(() => this.#going.delete(keeping));
  }

  #ended(run: Run, status: string, all: Answer, receipts: Receipts): void {
    const answer = all.runs?.find((one) => one.run === run.run) ?? all;
    const { preset, workdir, model, started, calls, further } = run;
    this.#append<Ended>(ENDED, {
      ...{ run: run.run, preset, workdir, model, started },
      ended: new Date().toISOString(),
      status: answer.status ?? status,
      boundary: run.boundary ?? null,
      summary: (answer.summary ?? "").slice(0, SUMMARY),
      usage: answer.usage ?? null,
      blocked: answer.blocked ?? null,
      receipt: receipts[run.run] ?? null,
      calls,
      further,
    });
  }

  looked(title: string, text: string): void {
    this.#append(LOOKED, { title, text });
  }

  /** Waits until everything is kept. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#going);
  }

  #append<T>(type: string, data: T): void {
    try {
      this.pi.appendEntry(type, data);
    } catch {
      // The session is over; the ledger has all of it.
    }
  }
}

function diffLine(theme: {
  fg(colour: "toolDiffAdded" | "toolDiffRemoved" | "muted", text: string): string;
}) {
  return (line: string) => {
    if (line.startsWith("+")) return theme.fg("toolDiffAdded", line);
    if (line.startsWith("-")) return theme.fg("toolDiffRemoved", line);
    return theme.fg("muted", line);
  };
}
