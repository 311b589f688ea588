/** Where the host program is. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";
import { Refusal } from "./refusal.ts";

/**
 * The program that was named; else the one of the platform's package beside this one; else one in PATH. A
 * program inside the folder that Pi works in, or among the packages of a project, is taken only where it was
 * named: a project could have put it there.
 */
export function findProgram(named: string | undefined, cwd: string): string {
  if (named !== undefined) {
    if (isProgram(named)) return named;
    throw missing(`\`${named}\` is no program that can be run`);
  }
  const packaged = fromPackage();
  if (packaged !== undefined) return packaged;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "deputize");
    const foreign = !isAbsolute(folder) || folder.includes("node_modules") || isInside(path, cwd);
    if (!foreign && isProgram(path)) return path;
  }
  throw missing("the program `deputize` isn't there");
}

function fromPackage(): string | undefined {
  const name = `@deputize/${process.platform}-${process.arch}`;
  try {
    const about = createRequire(import.meta.url).resolve(`${name}/package.json`);
    const path = join(dirname(about), "bin", "deputize");
    return isProgram(path) ? path : undefined;
  } catch {
    // No package for this platform is installed: there may be a program in PATH.
    return undefined;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isInside(path: string, folder: string): boolean {
  try {
    return realpathSync(path).startsWith(realpathSync(folder) + sep);
  } catch {
    return true;
  }
}

function missing(reason: string): Refusal {
  return new Refusal(
    "program_missing",
    "program",
    reason,
    "install the package again with optional dependencies, put `deputize` into PATH, or name it with --deputize-program",
  );
}
