// One file without dependencies: Pi loads an `.mjs` as it is, so that nothing transpiled lies in a
// folder that others can write, and nothing is installed beside it. The licences of what is in it lie beside it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const about = (folder) => JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));

/** What may be in it. */
const LICENCES = ["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"];

/** Leaves out a validator that nothing needs: src/no-validator.ts says why. */
const noValidator = {
  name: "no-validator",
  setup({ onResolve }) {
    onResolve({ filter: /\/ajv-provider\.js$/ }, () => ({
      path: join(here, "src/no-validator.ts"),
    }));
  },
};

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { deputize: "src/extension.ts" },
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  plugins: [noValidator],
  metafile: true,
  format: "esm",
  platform: "node",
  target: "node22.19",
  minifySyntax: true,
  legalComments: "none",
  define: { VERSION: JSON.stringify(about(".").version) },
  // Packages of CommonJS ask for Node's own modules.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
});

const inputs = Object.keys(metafile.inputs).map((path) =>
  path.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/),
);
const folders = [...new Set(inputs.flatMap((found) => (found === null ? [] : [found[0]])))].sort();
const parts = folders.map((folder) => {
  const { name, version, license } = about(folder);
  if (!LICENCES.includes(license)) throw new Error(`${name} is licensed as ${license}`);
  const file = readdirSync(join(here, folder)).find((file) => /^licen[cs]e/i.test(file));
  const text = file === undefined ? "" : readFileSync(join(here, folder, file), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(join(here, "dist", "LICENCES.txt"), parts.join(`\n${"-".repeat(72)}\n\n`));
if (!existsSync(join(here, "dist", "deputize.mjs"))) throw new Error("nothing was built");
