/**
 * Deputize in Pi: an MCP client with screens. What a child may do, and what a person is asked, is decided by the
 * host program; without it, calls are refused.
 */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Command } from "./command.ts";
import { Entries } from "./entries.ts";
import { Gate } from "./gate.ts";
import { Link } from "./link.ts";
import { serveModels } from "./models.ts";
import { findProgram } from "./program.ts";
import { Questions } from "./questions.ts";
import { Runs } from "./runs.ts";
import { readSettings, registerFlags } from "./settings.ts";
import { Tools } from "./tools.ts";
import { Widget } from "./widget.ts";

export default function deputize(pi: ExtensionAPI): void {
  registerFlags(pi);
  let current: ExtensionContext | undefined;
  const here = () => current;
  const questions = new Questions(here);
  const link = new Link(
    () => {
      const cwd = current?.cwd ?? process.cwd();
      const { program, options } = readSettings(pi);
      return { program: findProgram(program, cwd), options, cwd };
    },
    {
      capabilities: () => ({
        sampling: { tools: {} },
        ...(current?.hasUI ? { elicitation: { form: {} } } : {}),
      }),
      answer: (client, secret) => {
        if (current?.hasUI) questions.serve(client, secret);
        serveModels(client, here);
      },
      event: (data) => runs.take(data),
      lost: (reason) => {
        runs.clear();
        current?.ui.notify(`Deputize: the host program was lost: ${reason}`, "error");
      },
    },
  );
  const entries = new Entries(pi, link);
  const runs: Runs = new Runs(
    () => widget.update(),
    (run) => entries.began(run),
    (run, status) => entries.ended(run, status),
  );
  const widget = new Widget(runs, here);
  const tools = new Tools(pi, link, (ctx) => {
    current = ctx;
  });
  new Gate(pi, link, questions, () => readSettings(pi).mode);
  new Command(pi, link, entries);
  pi.on("session_start", async (_event, ctx) => {
    current = ctx;
    await tools.register(ctx);
  });
  pi.on("session_shutdown", async () => {
    await entries.settled();
    widget.clear();
    await link.close();
    current = undefined;
  });
}
