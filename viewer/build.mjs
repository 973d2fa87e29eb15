// Bundles the viewer and three.js into the one file that every page carries.
//
//   npm ci && npm run build     write ../src/spoonful/view/viewer.js
//   npm run check               fail if that file is not what the sources give

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const OUT = here("../src/spoonful/view/viewer.js");
const NOTICE = here("../src/spoonful/view/LICENSE-three.txt");

// Lets a test see, without Node, that the bundle belongs to these sources.
const sources = ["build.mjs", "package-lock.json"];
sources.push(...readdirSync(here("src")).sort().map((name) => `src/${name}`));
const digest = createHash("sha256");
for (const name of sources) digest.update(readFileSync(here(name)));

const licence = readFileSync(here("node_modules/three/LICENSE"), "utf8").trim();
const { version } = JSON.parse(readFileSync(here("node_modules/three/package.json"), "utf8"));

const { outputFiles } = await build({
  entryPoints: [here("src/main.js")],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15.4"],
  charset: "ascii",
  legalComments: "none", // the full notice is in the banner
  write: false,
  banner: {
    js: [
      `/* Spoonful's viewer, Apache-2.0. sources ${digest.digest("hex")}`,
      `Contains three.js ${version} (https://threejs.org):`,
      `${licence} */`,
    ].join("\n"),
  },
});
const bundle = outputFiles[0].text;
if (/<\/script|<!--/i.test(bundle)) throw new Error("the bundle would end its own <script> element");

if (process.argv.includes("--check")) {
  if (readFileSync(OUT, "utf8") !== bundle) {
    console.error("viewer.js is not what viewer/src gives: run `npm run build`");
    process.exit(1);
  }
  console.log("viewer.js is up to date");
} else {
  writeFileSync(OUT, bundle);
  writeFileSync(NOTICE, `viewer.js contains three.js ${version} (https://threejs.org).\n\n${licence}\n`);
  console.log(`viewer.js: ${Math.round(bundle.length / 1024)} KB`);
}
