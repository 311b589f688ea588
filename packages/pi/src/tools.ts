/** The program's tools as Pi's. A call goes through as it is, and the answer comes back as it is. */
import type {
  AgentToolResult,
  ExtensionAPI,
  ExtensionContext,
  Theme,
} from "@earendil-works/pi-coding-agent";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { oneLine } from "./clean.ts";
import type { Link } from "./link.ts";
import { Refusal } from "./refusal.ts";
import { type Answer, lines, type Usage } from "./result.ts";
import { cut, folded, folder } from "./text.ts";

/** Seconds that the program waits for a run before it says where it stands. */
const WAIT = 45;

/** What is there as long as the program isn't: the call says why. */
const STAND_IN: Tool = {
  name: "subagent",
  description: "Hand a task to a confined child agent.",
  inputSchema: { type: "object", properties: { prompt: { type: "string" } } },
};

type Params = Record<string, unknown>;

/** What stays of an answer in Pi's session, beside the text that the model reads. */
export interface Details {
  answer: Answer;
}

export class Tools {
  /** Runs whose usage Pi has counted. */
  readonly #counted = new Set<string>();

  /** Whether the program's own tools are there, and not the stand-in. */
  #complete = false;

  constructor(
    private readonly pi: ExtensionAPI,
    private readonly link: Link,
    private readonly seen: (ctx: ExtensionContext) => void,
  ) {}

  /** Asks what there is and registers it. A program that can't be had is told of and refuses each call. */
  async register(ctx: ExtensionContext): Promise<void> {
    try {
      await this.#fill();
    } catch (error) {
      this.#register(STAND_IN, undefined);
      ctx.ui.notify(`Deputize: ${Refusal.from(error).message}`, "error");
    }
  }

  async #fill(): Promise<void> {
    const { tools, instructions } = await this.link.tools();
    for (const tool of tools) this.#register(tool, instructions);
    this.#complete = true;
  }

  #register(tool: Tool, instructions: string | undefined): void {
    const about = tool.description ?? "";
    this.pi.registerTool({
      name: tool.name,
      label: tool.name,
      description: about,
      parameters: tool.inputSchema as never,
      promptSnippet: about.split(/[.:](\s|$)/)[0] ?? about,
      ...(tool.name === "subagent" && instructions ? { promptGuidelines: [instructions] } : {}),
      ...(tool.annotations === undefined ? {} : { annotations: annotations(tool) }),
      execute: (_id, params, signal, onUpdate, ctx) => {
        this.seen(ctx);
        const told = onUpdate && ((text: string) => onUpdate(update(text)));
        return this.#call(tool.name, params as Params, signal, told);
      },
      renderCall: (args, theme) => folded([callLine(tool.name, args as Params, theme)]),
      renderResult: (result, { expanded, isPartial }, theme) =>
        isPartial
          ? cut(() => [theme.fg("muted", oneLine(textOf(result)))])
          : folded(shown(result, theme, expanded)),
    });
  }

  async #call(
    name: string,
    params: Params,
    signal: AbortSignal | undefined,
    told: ((text: string) => void) | undefined,
  ): Promise<AgentToolResult<Details> & { isError?: boolean }> {
    try {
      const options = {
        ...(signal === undefined ? {} : { signal }),
        onprogress: ({ message }: { message?: string }) => {
          if (message !== undefined) told?.(message);
        },
      };
      if (!this.#complete) await this.#fill();
      let answer = await this.link.call(name, params, options);
      if (name === "subagent" && params.background !== true) {
        answer = await this.#follow(answer, signal, told);
      }
      return this.#result(answer);
    } catch (error) {
      if (signal?.aborted) throw new Error("the turn was aborted, and with it what it began");
      return refused(Refusal.from(error));
    }
  }

  /** What takes longer than an answer is waited for: Pi gives a call all the time that it needs. */
  async #follow(
    first: CallToolResult,
    signal: AbortSignal | undefined,
    told: ((text: string) => void) | undefined,
  ): Promise<CallToolResult> {
    if (!goesOn(first)) return first;
    const { run, runs = [], chain } = objectOf(first);
    const named = runs.flatMap((one) => one.run ?? []);
    // Of a chain any run tells of all; of several side by side each tells of itself.
    const watched = run !== undefined ? [run] : chain !== undefined ? named.slice(-1) : named;
    const stop = () => {
      for (const id of [run ?? [], named].flat()) {
        void this.link.call("subagent_stop", { run: id }).catch(() => {});
      }
    };
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const ends = await Promise.all(watched.map((id) => this.#end(id, signal, told)));
      return ends.length === 1 && ends[0] !== undefined ? ends[0] : together(ends);
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async #end(
    run: string,
    signal: AbortSignal | undefined,
    told: ((text: string) => void) | undefined,
  ): Promise<CallToolResult> {
    for (;;) {
      const answer = await this.link.call("subagent_status", { run, wait: WAIT });
      signal?.throwIfAborted();
      if (!goesOn(answer)) return answer;
      told?.(oneLine(textOf(answer)));
    }
  }

  #result(answer: CallToolResult): AgentToolResult<Details> & { isError?: boolean } {
    const object = objectOf(answer);
    const usage = this.#usage(object);
    return {
      content: [{ type: "text", text: textOf(answer) }],
      details: { answer: kept(object) },
      ...(usage === undefined ? {} : { usage }),
      ...(answer.isError ? { isError: true } : {}),
    };
  }

  /** What the ended runs of an answer used, each counted once in Pi's own sums. */
  #usage(answer: Answer) {
    const runs = [answer, ...(answer.runs ?? [])].filter(
      ({ run, usage }) => run !== undefined && usage !== undefined && !this.#counted.has(run),
    );
    if (runs.length === 0) return undefined;
    for (const { run } of runs) this.#counted.add(run as string);
    const sum = (of: (usage: Usage) => number) =>
      runs.reduce((all, { usage }) => all + of(usage as Usage), 0);
    const input = sum((usage) => usage.input_tokens);
    const output = sum((usage) => usage.output_tokens);
    const cacheRead = sum((usage) => usage.cached_input_tokens);
    const total = sum((usage) => usage.cost_micros ?? 0) / 1_000_000;
    return {
      input,
      output,
      cacheRead,
      cacheWrite: 0,
      totalTokens: input + output + cacheRead,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total },
    };
  }
}

/** `subagent · preset · workdir · prompt preview` */
function callLine(name: string, args: Params, theme: Theme): string {
  const text = (value: unknown) => (typeof value === "string" ? oneLine(value) : undefined);
  const head = theme.fg("toolTitle", theme.bold(name));
  if (name !== "subagent") {
    const rest = [text(args.run), text(args.message), text(args.manifest)?.slice(0, 12)];
    return [head, ...rest.filter(Boolean)].join(" · ");
  }
  const many = [...list(args.tasks), ...list(args.chain)];
  const tasks = many.length > 0 ? `${many.length} tasks: ` : "";
  const prompt = text(args.prompt) ?? many.map((task) => text(task.prompt)).join(" | ");
  const cutPrompt = prompt.length > 120 ? `${prompt.slice(0, 120)}…` : prompt;
  return [
    head,
    theme.fg("accent", text(args.preset) ?? "general"),
    folder(text(args.workdir) ?? "."),
    theme.fg("muted", tasks + cutPrompt),
  ].join(" · ");
}

function list(value: unknown): Params[] {
  return Array.isArray(value)
    ? value.filter((item): item is Params => typeof item === "object" && item !== null)
    : [];
}

function shown(result: AgentToolResult<unknown>, theme: Theme, expanded: boolean): string[] {
  const answer = (result.details as Details | undefined)?.answer;
  if (answer !== undefined && (answer.run ?? answer.error ?? answer.runs) !== undefined) {
    return lines(answer, theme, expanded);
  }
  const text = textOf(result).split("\n").map(oneLine);
  return expanded ? text : text.slice(0, 10);
}

function objectOf({ structuredContent }: CallToolResult): Answer {
  return (structuredContent ?? {}) as Answer;
}

/** Whether something of what an answer tells of goes on. */
function goesOn(answer: CallToolResult): boolean {
  const { state, runs, chain, elsewhere } = objectOf(answer);
  const goes = (one: string | undefined) => one === "running" || one === "waiting";
  if (chain !== undefined) return !chain.over;
  if (runs !== undefined) return runs.some((one) => goes(one.state));
  return goes(state) && !elsewhere;
}

/** The ends of several runs as one answer. */
function together(ends: CallToolResult[]): CallToolResult {
  return {
    content: [{ type: "text", text: ends.map(textOf).join("\n") }],
    structuredContent: { runs: ends.map(objectOf) },
  };
}

/** An answer without what the text has. */
function kept({ diff: _diff, runs, ...answer }: Answer): Answer {
  return runs === undefined ? answer : { ...answer, runs: runs.map(kept) };
}

function update(text: string): AgentToolResult<Details> {
  return { content: [{ type: "text", text }], details: { answer: {} } };
}

function refused(refusal: Refusal): AgentToolResult<Details> & { isError: boolean } {
  const { code, field, reason, fix } = refusal;
  return {
    content: [{ type: "text", text: refusal.message }],
    details: { answer: { error: { code, field, reason, fix } } },
    isError: true,
  };
}

function textOf({ content }: { content: { type: string; text?: string }[] }): string {
  return content.map(({ text }) => text ?? "").join("\n");
}

function annotations({ annotations }: Tool) {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations ?? {};
  return {
    ...(readOnlyHint === undefined ? {} : { readOnlyHint }),
    ...(destructiveHint === undefined ? {} : { destructiveHint }),
    ...(idempotentHint === undefined ? {} : { idempotentHint }),
    ...(openWorldHint === undefined ? {} : { openWorldHint }),
  };
}
