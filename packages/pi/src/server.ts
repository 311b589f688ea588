/** The host program as a process: its streams, its secret, its end. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { clean } from "./clean.ts";
import type { Secret } from "./proof.ts";

/** The descriptor from which the program reads the secret. */
const SECRET_FD = 3;

/** Bytes of what it says on standard error that are kept for a reason. */
const KEPT = 2_000;

/** How long it may take to end by itself once its input is closed. It needs that to end the runs. */
const ENDING = 20_000;

/** Speaks to one process of `deputize mcp`, as the SDK wants it. */
export class Process implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #child: ChildProcess;
  readonly #input = new ReadBuffer();
  #said = "";
  #end: string | undefined;
  #ended: Promise<void>;

  constructor(program: string, options: string[], cwd: string, secret: Secret) {
    const args = ["mcp", "--host", "pi", "--host-secret-fd", String(SECRET_FD), ...options];
    const stdio: "pipe"[] = ["pipe", "pipe", "pipe", "pipe"];
    this.#child = spawn(program, args, { cwd, stdio });
    this.#ended = new Promise((resolve) => {
      this.#child.once("error", (error) => {
        this.#end = `it can't be started: ${error.message}`;
        resolve();
      });
      this.#child.once("close", (code, signal) => {
        this.#end ??= signal === null ? `it ended with status ${code}` : `${signal} ended it`;
        resolve();
      });
    });
    const handing = this.#child.stdio[SECRET_FD] as Writable;
    secret.reveal((bytes) => handing.end(bytes));
    // A stream that breaks is told by the end of the program; unheard, it would end Pi.
    for (const stream of this.#child.stdio) stream?.on("error", () => {});
    this.#child.stderr?.on("data", (bytes: Buffer) => {
      this.#said = (this.#said + bytes.toString("utf8")).slice(-KEPT);
    });
  }

  /** Why it is gone; nothing as long as it runs. */
  get end(): string | undefined {
    const said = clean(this.#said).trim();
    return this.#end === undefined || said === "" ? this.#end : `${this.#end}; it said: ${said}`;
  }

  async start(): Promise<void> {
    const { stdin, stdout } = this.#child;
    stdin?.on("error", (error) => this.onerror?.(error));
    stdout?.on("data", (bytes: Buffer) => this.#take(bytes));
    void this.#ended.then(() => this.onclose?.());
  }

  #take(bytes: Buffer): void {
    try {
      this.#input.append(bytes);
    } catch (error) {
      this.onerror?.(error as Error);
      this.kill();
      return;
    }
    for (;;) {
      try {
        const message = this.#input.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        // A line that is no message is left out.
        this.onerror?.(error as Error);
      }
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child;
    if (this.#end !== undefined || stdin === null) throw new Error("the program is gone");
    try {
      await new Promise<void>((resolve, reject) => {
        stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      });
    } catch (error) {
      // A program that doesn't read any more is none: its end is the reason that is told.
      this.kill();
      await this.#ended;
      throw error;
    }
  }

  /** Ends it: its input ends, so it ends its runs and keeps their results. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    const late = setTimeout(() => this.kill(), ENDING);
    await this.#ended;
    clearTimeout(late);
  }

  /** Ends one that doesn't answer. What it started ends with it. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
