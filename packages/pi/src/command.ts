/** `/deputize`: runs, their results and changes, and what a person does with them. */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { Entries } from "./entries.ts";
import type { Link } from "./link.ts";
import { Refusal } from "./refusal.ts";
import { type Answer, listed } from "./result.ts";

type Act = (run: string) => Promise<void>;

export class Command {
  constructor(
    pi: ExtensionAPI,
    private readonly link: Link,
    private readonly entries: Entries,
  ) {
    pi.registerCommand("deputize", {
      description: "Deputize: runs, their results and changes; apply, discard, steer, stop",
      handler: (args, ctx) => this.#open(args.trim(), ctx),
    });
  }

  async #open(typed: string, ctx: ExtensionCommandContext): Promise<void> {
    try {
      if (!ctx.hasUI) {
        throw new Refusal(
          "needs_ui",
          "mode",
          "nobody can choose here",
          "use `deputize` in a shell",
        );
      }
      const run = typed || (await this.#choose(ctx));
      if (run !== undefined) await this.#actOn(run, ctx);
    } catch (error) {
      ctx.ui.notify(`Deputize: ${Refusal.from(error).message}`, "error");
    }
  }

  async #choose(ctx: ExtensionCommandContext): Promise<string | undefined> {
    const { structuredContent } = await this.link.call("subagent_status", {});
    const runs = ((structuredContent ?? {}) as Answer).runs ?? [];
    if (runs.length === 0) {
      ctx.ui.notify(
        "Deputize: no run was started in this session. `deputize audit` in a shell has older ones.",
      );
      return undefined;
    }
    const rows = runs.map(listed);
    const row = await ctx.ui.select("Deputies of this session", rows);
    return row === undefined ? undefined : runs[rows.indexOf(row)]?.run;
  }

  async #actOn(run: string, ctx: ExtensionCommandContext): Promise<void> {
    const status = await this.#call(ctx, "subagent_status", { run });
    if (status === undefined) return;
    const answer = (status.structuredContent ?? {}) as Answer;
    const one = answer.runs?.find((other) => other.run === run) ?? answer;
    const acts: Record<string, Act> = {};
    acts["Show where it stands"] = async () => this.entries.looked(`Run ${run}`, textOf(status));
    if (one.state !== "ended") {
      acts["Tell it something"] = (id) => this.#steer(id, ctx);
      acts["Stop it"] = async (id) =>
        this.#told(ctx, await this.#call(ctx, "subagent_stop", { run: id }));
    }
    if (one.changes === undefined || one.changes.length > 0) {
      acts["Show its changes"] = (id) => this.#diff(id, ctx);
      if (one.state === "ended") {
        acts["Apply its changes"] = (id) => this.#apply(id, ctx);
        acts["Throw its copy away"] = async (id) =>
          this.#told(ctx, await this.#call(ctx, "subagent_discard", { run: id }));
      }
    }
    const chosen = await ctx.ui.select(listed(one), Object.keys(acts));
    if (chosen !== undefined) await acts[chosen]?.(run);
  }

  async #diff(run: string, ctx: ExtensionCommandContext): Promise<void> {
    const diff = await this.#call(ctx, "subagent_diff", { run });
    if (diff !== undefined) this.entries.looked(`Changes of run ${run}`, textOf(diff));
  }

  /** The changes are shown; the program asks, with the list on its card. */
  async #apply(run: string, ctx: ExtensionCommandContext): Promise<void> {
    const diff = await this.#call(ctx, "subagent_diff", { run });
    if (diff === undefined) return;
    this.entries.looked(`Changes of run ${run}`, textOf(diff));
    const { manifest } = (diff.structuredContent ?? {}) as Answer;
    this.#told(ctx, await this.#call(ctx, "subagent_apply", { run, manifest }));
  }

  async #steer(run: string, ctx: ExtensionCommandContext): Promise<void> {
    const message = await ctx.ui.input("What is it to be told?");
    if (message) this.#told(ctx, await this.#call(ctx, "subagent_steer", { run, message }));
  }

  /** Calls a tool; one that refuses is told of. */
  async #call(
    ctx: ExtensionCommandContext,
    name: string,
    args: Record<string, unknown>,
  ): Promise<CallToolResult | undefined> {
    const answer = await this.link.call(name, args);
    if (!answer.isError) return answer;
    ctx.ui.notify(`Deputize: ${textOf(answer)}`, "error");
    return undefined;
  }

  #told(ctx: ExtensionCommandContext, answer: CallToolResult | undefined): void {
    if (answer !== undefined) ctx.ui.notify(`Deputize: ${textOf(answer)}`);
  }
}

function textOf({ content }: CallToolResult): string {
  return content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n")
    .trim();
}
