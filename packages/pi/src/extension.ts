/**
 * Deputize in Pi: an MCP client with screens. What a child may do, and what a person is asked, is decided by the
 * host program; without it, calls are refused.
 */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Link } from "./link.ts";
import { findProgram } from "./program.ts";
import { Runs } from "./runs.ts";
import { readSettings, registerFlags } from "./settings.ts";
import { Tools } from "./tools.ts";

export default function deputize(pi: ExtensionAPI): void {
  registerFlags(pi);
  let here: ExtensionContext | undefined;
  const runs = new Runs(
    () => {},
    () => {},
    () => {},
  );
  const link = new Link(
    () => {
      const cwd = here?.cwd ?? process.cwd();
      const { program, options } = readSettings(pi);
      return { program: findProgram(program, cwd), options, cwd };
    },
    {
      capabilities: () => ({}),
      answer: () => {},
      event: (data) => runs.take(data),
      lost: (reason) => {
        runs.clear();
        here?.ui.notify(`Deputize: the host program was lost: ${reason}`, "error");
      },
    },
  );
  const tools = new Tools(pi, link, (ctx) => {
    here = ctx;
  });
  pi.on("session_start", async (_event, ctx) => {
    here = ctx;
    await tools.register(ctx);
  });
  pi.on("session_shutdown", async () => {
    here = undefined;
    await link.close();
  });
}
