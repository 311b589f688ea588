/**
 * The connection to the host program. It is begun when it is first needed, and again for the next call once it
 * was lost; a call that can't have it is refused.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  type CallToolResult,
  CallToolResultSchema,
  type ClientCapabilities,
  LoggingMessageNotificationSchema,
  ResultSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { Secret } from "./proof.ts";
import { Refusal } from "./refusal.ts";
import { Process } from "./server.ts";

declare const VERSION: string;

/** How long the program may take to begin. */
const BEGINNING = 10_000;

/** A start that failed is not tried again so soon after. */
const PAUSE = 5_000;

/** While something is waited for, it is asked this often whether it lives, and has this long to say so. */
const PULSE = 10_000;

/** The longest time that timers know: what waits for a person ends by itself. */
const UNLIMITED = 0x7fff_ffff;

/** What the program may ask of Pi, and hears of it. */
export interface Ears {
  capabilities(): ClientCapabilities;
  /** Sets what answers the program's requests. */
  answer(client: Client, secret: Secret): void;
  event(data: unknown): void;
  /** The program is gone, for this reason. */
  lost(reason: string): void;
}

export interface Launch {
  program: string;
  options: string[];
  cwd: string;
}

interface Connected {
  client: Client;
  process: Process;
  /** How many wait for an answer, and what looks meanwhile whether the program lives. */
  waiting: number;
  pulse: NodeJS.Timeout | undefined;
  tools: Tool[];
  instructions: string | undefined;
}

export class Link {
  #now: Promise<Connected> | undefined;
  #process: Process | undefined;
  #mute: Process | undefined;
  #failed: { at: number; why: unknown } | undefined;
  #over = false;

  constructor(
    private readonly launch: () => Launch,
    private readonly ears: Ears,
  ) {}

  /** The tools that there are, and what a model may be told about them. */
  async tools(): Promise<{ tools: Tool[]; instructions: string | undefined }> {
    return this.#connected();
  }

  async call(
    name: string,
    args: Record<string, unknown>,
    options: RequestOptions = {},
  ): Promise<CallToolResult> {
    return this.#ask({ method: "tools/call", params: { name, arguments: args } }, options, (raw) =>
      CallToolResultSchema.parse(raw),
    );
  }

  /** A request that only this program knows. */
  async request(
    method: string,
    params: Record<string, unknown>,
    options: RequestOptions = {},
  ): Promise<Record<string, unknown>> {
    return this.#ask({ method, params }, options, (raw) => raw);
  }

  async #ask<T>(
    request: { method: string; params: Record<string, unknown> },
    options: RequestOptions,
    read: (raw: Record<string, unknown>) => T,
  ): Promise<T> {
    const connected = await this.#connected();
    const { client, process } = connected;
    this.#begin(connected);
    try {
      const limits = { timeout: UNLIMITED, ...options };
      const known = request as Parameters<Client["request"]>[0];
      return read(await client.request(known, ResultSchema, limits));
    } catch (error) {
      const reason = this.#reason(process);
      if (reason !== undefined) this.#drop(process);
      throw reason ?? error;
    } finally {
      connected.waiting -= 1;
      if (connected.waiting === 0) clearInterval(connected.pulse);
    }
  }

  /** Ends the program and with it all runs; their results are kept. */
  async close(): Promise<void> {
    this.#over = true;
    const now = this.#now;
    this.#now = undefined;
    await now?.then(({ client }) => client.close()).catch(() => {});
  }

  async #connected(): Promise<Connected> {
    if (this.#over) {
      throw new Refusal("session_over", "session", "the session has ended", "ask in the new one");
    }
    if (this.#failed !== undefined && Date.now() - this.#failed.at < PAUSE) throw this.#failed.why;
    const begun = this.#now ?? this.#connect();
    this.#now = begun;
    begun.catch((why: unknown) => {
      if (this.#now !== begun) return;
      this.#now = undefined;
      this.#failed = { at: Date.now(), why };
    });
    return begun;
  }

  async #connect(): Promise<Connected> {
    const launch = this.launch();
    const secret = new Secret();
    const client = new Client(
      { name: "pi", title: "Pi", version: VERSION },
      { capabilities: this.ears.capabilities() },
    );
    this.ears.answer(client, secret);
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) =>
      this.ears.event(params.data),
    );
    const process = new Process(launch.program, launch.options, launch.cwd, secret);
    this.#process = process;
    try {
      await client.connect(process, { timeout: BEGINNING });
      const server = client.getServerVersion();
      if (server?.name !== "deputize" || server.version !== VERSION) {
        throw new Refusal(
          "version_mismatch",
          "program",
          `${launch.program} is ${server?.name} ${server?.version}, and this extension is of version ${VERSION}`,
          "install the program and the package of one version",
        );
      }
      const { tools } = await client.listTools({}, { timeout: BEGINNING });
      client.onclose = () => this.#drop(process);
      const instructions = client.getInstructions();
      return { client, process, tools, instructions, waiting: 0, pulse: undefined };
    } catch (error) {
      process.kill();
      if (error instanceof Refusal) throw error;
      const why = process.end ?? "it gave no answer in time";
      throw new Refusal(
        "program_unusable",
        "program",
        `${launch.program} can't be used: ${why}`,
        "run `deputize doctor` in a shell, and install the program and the package again",
      );
    }
  }

  /** A program that is gone is not asked again. */
  #drop(process: Process): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    this.#now = undefined;
    if (!this.#over) this.ears.lost(process.end ?? "its connection was closed");
  }

  /** Something is waited for: that the program lives is looked at meanwhile. */
  #begin(connected: Connected): void {
    const { client, process } = connected;
    connected.waiting += 1;
    if (connected.waiting > 1) return;
    connected.pulse = setInterval(() => {
      client.ping({ timeout: PULSE }).catch(() => {
        if (process.end !== undefined) return;
        this.#mute = process;
        process.kill();
      });
    }, PULSE);
    connected.pulse.unref();
  }

  /** Why a call failed, where that is the program's end. */
  #reason(process: Process): Refusal | undefined {
    if (process.end === undefined) return undefined;
    const why = this.#mute === process ? "it gave no sign of life any more" : process.end;
    return new Refusal(
      "program_lost",
      "program",
      `the host program was lost, and its runs with it: ${why}`,
      "ask again: it is started anew; `deputize audit` in a shell shows what became of the runs",
    );
  }
}
