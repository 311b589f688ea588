/**
 * What the person sets: on Pi's command line, or in `deputize/pi.json` below their configuration folder.
 * Nothing of a project is read.
 */
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Refusal } from "./refusal.ts";

/** How much of its own doing Pi's agent is asked about (G3). */
export const MODES = ["off", "explore", "ask", "auto-edit", "auto-all"] as const;
export type Mode = (typeof MODES)[number];

export interface Settings {
  /** The host program, where it isn't the package's own. */
  program: string | undefined;
  /** Further options for `deputize mcp`, such as `--budget` and `--allow`. */
  options: string[];
  mode: Mode;
}

const GATE = "deputize-gate";
const PROGRAM = "deputize-program";

export function registerFlags(pi: ExtensionAPI): void {
  pi.registerFlag(GATE, {
    type: "string",
    description: `Judge Pi's own tool calls by Deputize's gate: ${MODES.join(", ")}`,
  });
  pi.registerFlag(PROGRAM, {
    type: "string",
    description: "The deputize program, where it isn't the package's own (absolute path)",
  });
}

/** Reads both. The command line comes first. */
export function readSettings(pi: ExtensionAPI): Settings {
  const path = settingsFile();
  const file = path === undefined ? {} : readFile(path);
  const field = path ?? "settings";
  const program = pi.getFlag(PROGRAM) ?? file.program;
  if (program !== undefined && (typeof program !== "string" || !isAbsolute(program))) {
    throw invalid(field, "`program` is no absolute path");
  }
  const mode = pi.getFlag(GATE) ?? file.gate ?? "off";
  if (!isMode(mode)) {
    throw invalid(field, `the gate's mode is one of ${MODES.join(", ")}`);
  }
  const options = file.options ?? [];
  if (!Array.isArray(options) || !options.every((option) => typeof option === "string")) {
    throw invalid(field, "`options` is no list of texts");
  }
  return { program, options, mode };
}

function isMode(value: unknown): value is Mode {
  return MODES.some((mode) => mode === value);
}

function settingsFile(): string | undefined {
  const moved = process.env.XDG_CONFIG_HOME;
  const home = homedir();
  const base = moved !== undefined && isAbsolute(moved) ? moved : home && join(home, ".config");
  return base ? join(base, "deputize", "pi.json") : undefined;
}

function readFile(path: string): Record<string, unknown> {
  let text: string;
  try {
    const about = statSync(path);
    const others = about.uid !== process.getuid?.() && about.uid !== 0;
    if (others || (about.mode & 0o022) !== 0) {
      throw invalid(path, "others can write the file");
    }
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error instanceof Refusal ? error : invalid(path, String(error));
  }
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw invalid(path, String(error));
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    throw invalid(path, "the file holds no object");
  }
  const unknown = Object.keys(read).find((key) => !["program", "options", "gate"].includes(key));
  if (unknown !== undefined) throw invalid(path, `there is no setting \`${unknown}\``);
  return read as Record<string, unknown>;
}

function invalid(field: string, why: string): Refusal {
  return new Refusal(
    "pi_settings_invalid",
    field,
    `Deputize's settings for Pi can't be used: ${why}`,
    "correct them; docs/pi.md names all of them",
  );
}
