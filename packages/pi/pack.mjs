// Makes the npm packages: the extension, and the program of each platform that is given.
//
//   node pack.mjs OUT PLATFORM=PROGRAM…      e.g. node pack.mjs out linux-x64=target/release/deputize
//
// OUT/node_modules/@deputize holds the packages as folders, side by side, so that the extension there finds its
// program: `pi install OUT/node_modules/@deputize/pi` works without a registry. OUT/*.tgz is what is published, and
// OUT/index.json says what each file is. The extension depends on exactly the platforms that were packed with it.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [to, ...programs] = process.argv.slice(2);
if (to === undefined || programs.length === 0) {
  console.error("usage: node pack.mjs OUT PLATFORM=PROGRAM…");
  process.exit(2);
}
const out = resolve(to);
const scope = join(out, "node_modules", "@deputize");
const own = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const { version, license, repository, engines, type, keywords, pi, description } = own;
const licences = ["LICENSE-MIT", "LICENSE-APACHE"];

/** Lays out a package; gives its folder. */
function lay(name, about, readme) {
  const folder = join(scope, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of licences) cpSync(join(here, "..", "..", file), join(folder, file));
  const all = { name: `@deputize/${name}`, version, license, repository, ...about };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(all, null, 2)}\n`);
  writeFileSync(join(folder, "README.md"), readme);
  return folder;
}

const folders = programs.map((given) => {
  const [platform, program] = given.split("=");
  const [os, cpu] = (platform ?? "").split("-");
  if (!os || !cpu || !program) throw new Error(`${given} is no PLATFORM=PROGRAM`);
  const about = { description: `The program of Deputize for ${platform}`, os: [os], cpu: [cpu] };
  const folder = lay(platform, about, `The program \`deputize\` for ${platform}.\n`);
  mkdirSync(join(folder, "bin"));
  cpSync(program, join(folder, "bin", "deputize"));
  chmodSync(join(folder, "bin", "deputize"), 0o755);
  return folder;
});

const names = programs.map((given) => `@deputize/${given.split("=")[0]}`);
const extension = lay(
  "pi",
  {
    ...{ description, keywords, type, engines, pi },
    optionalDependencies: Object.fromEntries(names.map((name) => [name, version])),
  },
  readFileSync(join(here, "README.md"), "utf8"),
);
cpSync(join(here, "dist"), join(extension, "dist"), { recursive: true });

const index = [extension, ...folders].map((folder) => {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", out, folder];
  const told = JSON.parse(execFileSync("npm", args, { encoding: "utf8" }));
  const [packed] = Array.isArray(told) ? told : Object.values(told);
  const { name, filename, integrity, size } = packed;
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  console.log(`  ${name} ${version}: ${filename}, ${Math.ceil(size / 1024)} KiB`);
  return { name, file: filename, integrity, about };
});
writeFileSync(join(out, "index.json"), `${JSON.stringify(index, null, 2)}\n`);
