/**
 * The gate for Pi's own agent (G3), where the person turned it on. Whatever goes wrong blocks the call: Pi takes a
 * throw as a no. What the person types after `!` is theirs and passes.
 */
import type {
  ExtensionAPI,
  ToolCallEvent,
  ToolCallEventResult,
} from "@earendil-works/pi-coding-agent";
import { oneLine } from "./clean.ts";
import type { Link } from "./link.ts";
import type { Questions } from "./questions.ts";
import { Refusal } from "./refusal.ts";
import type { Mode } from "./settings.ts";

/** How long a verdict may take: it takes no thousandth of that. */
const VERDICT = 10_000;

/** Characters of a call on a question. */
const SHOWN = 1_500;

const YES = "Yes, this time";

interface Verdict {
  verdict: string;
  rule: string;
  reason: string;
  safer?: string | null;
}

export class Gate {
  constructor(
    pi: ExtensionAPI,
    private readonly link: Link,
    private readonly questions: Questions,
    private readonly mode: () => Mode,
  ) {
    pi.on("tool_call", async (event, ctx) => {
      const mode = this.mode();
      if (mode === "off") return undefined;
      const verdict = await this.#judge(event, ctx.cwd, mode);
      if (verdict.verdict === "allow") return undefined;
      if (verdict.verdict === "ask" && ctx.hasUI) {
        const signal = ctx.signal ?? new AbortController().signal;
        const said = await this.questions.ask(card(event, verdict, mode), [YES], signal);
        return said === YES ? undefined : blocked(verdict, "the person's answer was no");
      }
      return blocked(verdict, verdict.verdict === "ask" ? "nobody can be asked here" : undefined);
    });
  }

  async #judge(event: ToolCallEvent, cwd: string, mode: Mode): Promise<Verdict> {
    const asked = { tool: event.toolName, input: event.input, cwd, mode };
    const said = await this.link
      .request("deputize/gate", asked, { timeout: VERDICT })
      .catch((error: unknown) => {
        const { reason } = Refusal.from(error);
        throw new Error(
          `Blocked: the gate gave no verdict: ${reason} [gate_lost, gate].\nFix: start Pi again, or turn the gate off with --deputize-gate off.`,
        );
      });
    if (typeof said.verdict !== "string" || typeof said.rule !== "string") {
      throw new Error("Blocked: the gate's answer isn't understood [gate_lost, gate].");
    }
    return said as unknown as Verdict;
  }
}

function card(event: ToolCallEvent, { rule, reason, safer }: Verdict, mode: Mode): string {
  const input = oneLine(JSON.stringify(event.input));
  const shown =
    input.length > SHOWN ? `${input.slice(0, SHOWN)}… (${input.length} characters)` : input;
  return [
    "Pi's agent needs your yes for a call of its own.",
    "",
    `  call   ${oneLine(event.toolName)} ${shown}`,
    `  rule   ${oneLine(rule)} (mode ${mode})`,
    `  reason ${oneLine(reason)}`,
    ...(safer ? [`  safer  ${oneLine(safer)}`] : []),
    "",
    "Do it?",
  ].join("\n");
}

function blocked({ rule, reason, safer }: Verdict, why: string | undefined): ToolCallEventResult {
  const told = why === undefined ? reason : `${reason}; ${why}`;
  const fix = safer ? `\nSafer: ${safer}.` : "";
  return { block: true, reason: `Blocked by Deputize's gate: ${told} [${rule}].${fix}` };
}
