/**
 * The program's questions, put by Pi's own dialog. No stands first and is what Enter says; each answer carries the
 * proof that it comes from here (S9). Where Pi has no dialogs, none is declared, so the program refuses.
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { ask, NO } from "./dialog.ts";
import type { Secret } from "./proof.ts";

/** What a yes of each scope is called; without any it is for this time. */
const YES: Record<string, string> = {
  once: "Yes, this time",
  run: "Yes, for this run",
  preset: "Yes, and for this preset and folder for 30 minutes",
};

/** For a single call a run is not the whole of it. */
const SAME_CALL = "Yes, and for the same call in this run";

interface About {
  id: string;
  kind: unknown;
  scopes: string[];
}

export class Questions {
  /** Dialogs come one after the other: two at once would hide each other. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(private readonly here: () => ExtensionContext | undefined) {}

  /** Answers a client's requests. */
  serve(client: Client, secret: Secret): void {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
      const about = aboutOf(params._meta);
      if (about === undefined) throw new Error("a question without an id can't be answered");
      const scopes = about.scopes.length === 0 ? [""] : about.scopes;
      const labels = scopes.map((scope) => labelOf(scope, about.kind));
      const said = await this.ask(params.message, labels, signal);
      const index = labels.findIndex((label) => label === said);
      const answer = index < 0 ? "no" : "yes";
      const scope = index < 0 ? "" : (scopes[index] ?? "");
      return {
        action: "accept" as const,
        content: {
          answer,
          ...(scope === "" ? {} : { scope }),
          proof: secret.prove(about.id, answer, scope),
        },
      };
    });
  }

  /**
   * Shows a card and waits for an answer; nothing is a No. A question that is taken away rejects, as does
   * one where nobody can be asked.
   */
  ask(card: string, yes: string[], signal: AbortSignal): Promise<string | undefined> {
    const put = this.#before.then(async () => {
      signal.throwIfAborted();
      const ctx = this.here();
      if (ctx === undefined || !ctx.hasUI) throw new Error("nobody can be asked here");
      const said = await ask(ctx, card, yes, signal);
      signal.throwIfAborted();
      return said === NO ? undefined : said;
    });
    this.#before = put.catch(() => {});
    // One that still waits for its place is taken away as well.
    const taken = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("the question was taken away")), {
        once: true,
      });
    });
    return Promise.race([put, taken]);
  }
}

function labelOf(scope: string, kind: unknown): string {
  if (kind === "call" && scope === "run") return SAME_CALL;
  return YES[scope] ?? (scope === "" ? "Yes" : `Yes: ${scope}`);
}

function aboutOf(meta: unknown): About | undefined {
  const about = (meta as Record<string, unknown> | undefined)?.["deputize/question"];
  if (typeof about !== "object" || about === null) return undefined;
  const { id, kind, scopes } = about as Record<string, unknown>;
  if (typeof id !== "string") return undefined;
  const named = Array.isArray(scopes) ? scopes.filter((one) => typeof one === "string") : [];
  return { id, kind, scopes: named };
}
