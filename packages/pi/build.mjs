// One file without dependencies: Pi loads an `.mjs` as it is, so that nothing transpiled lies in a
// folder that others can write, and nothing is installed beside it.
import { readFile } from "node:fs/promises";
import { build } from "esbuild";

const { version } = JSON.parse(await readFile(new URL("package.json", import.meta.url), "utf8"));

await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: { deputize: "src/extension.ts" },
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node22.19",
  minifySyntax: true,
  legalComments: "none",
  define: { VERSION: JSON.stringify(version) },
  // Packages of CommonJS ask for Node's own modules.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
});
