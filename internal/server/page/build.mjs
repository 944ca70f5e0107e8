// Bundles src into the folder that is the only argument. The same sources and packages give the same bytes.
import { build } from "esbuild"
import { copyFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"

const out = process.argv[2]
await mkdir(out, { recursive: true })
const result = await build({
	entryPoints: { page: "src/main.tsx", layout: "src/layout.ts", style: "src/style.css" },
	outdir: out,
	bundle: true,
	minify: true,
	format: "iife",
	target: ["es2022", "chrome125", "firefox128", "safari18"],
	charset: "utf8",
	jsx: "automatic",
	jsxImportSource: "preact",
	legalComments: "none", // NOTICE has the licenses
	metafile: true,
	logLevel: "warning",
})
for (const name of ["index.html", "icon.svg"]) await copyFile(join("src", name), join(out, name))

// The licenses of the packages in the bundle, for NOTICE.
const inputs = Object.keys(result.metafile.inputs)
const packages = new Set(inputs.flatMap((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []))
let text = ""
for (const name of [...packages].sort()) {
	const folder = join("node_modules", name)
	const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"))
	const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry))
	if (!file) throw new Error(`${name} has no license file`)
	const license = (await readFile(join(folder, file), "utf8")).replaceAll("\r\n", "\n").trim()
	text += `==== ${name} ${version}, ${file}\n${license}\n`
}
await writeFile(join(out, "LICENSES"), text)
