// Checks manifests by Gyoshu's rule, in the language that it was made in: node check.mjs FILE…
// With --stringify it writes each line of its input, which is JSON, as JSON.stringify does, as one line of JSON.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

if (process.argv[2] === "--stringify") {
  for (const line of readFileSync(0, "utf8").split("\n")) {
    if (line !== "") console.log(JSON.stringify(JSON.stringify(JSON.parse(line), null, 2)));
  }
} else {
  for (const file of process.argv.slice(2)) {
    const { manifestSha256, ...rest } = JSON.parse(readFileSync(file, "utf8"));
    const sum = createHash("sha256").update(JSON.stringify(rest, null, 2), "utf8").digest("hex");
    console.log(sum === manifestSha256 ? "good" : "bad", file);
  }
}
