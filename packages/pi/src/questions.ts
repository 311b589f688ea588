/**
 * The program's questions, put by Pi's own dialog. No stands first and is what Enter says; each answer carries the
 * proof that it comes from here (S9). Where Pi has no dialogs, none is declared, so the program refuses.
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { clean } from "./clean.ts";
import type { Secret } from "./proof.ts";

/** Ends bold and colour, which Pi's dialog gives to all of its title. */
const PLAIN = "\u001b[22m\u001b[39m";

const NO = "No";

/** What a yes of each scope is called; without any it is for this time. */
const YES: Record<string, string> = {
  once: "Yes, this time",
  run: "Yes, for this run",
  preset: "Yes, and for this preset and folder for 30 minutes",
};

interface About {
  id: string;
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
      const labels = scopes.map((scope) => YES[scope] ?? (scope === "" ? "Yes" : scope));
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
      const [first, ...rest] = clean(card).trimEnd().split("\n");
      const plain = ctx.mode === "tui" ? PLAIN : "";
      const title = [first, ...rest.map((line) => plain + line)].join("\n");
      const said = await ctx.ui.select(title, [NO, ...yes], { signal });
      signal.throwIfAborted();
      return said === NO ? undefined : said;
    });
    this.#before = put.catch(() => {});
    return put;
  }
}

function aboutOf(meta: unknown): About | undefined {
  const about = (meta as Record<string, unknown> | undefined)?.["deputize/question"];
  if (typeof about !== "object" || about === null) return undefined;
  const { id, scopes } = about as Record<string, unknown>;
  if (typeof id !== "string") return undefined;
  const named = Array.isArray(scopes) ? scopes.filter((one) => typeof one === "string") : [];
  return { id, scopes: named };
}
