// Runs axe-core on every page of the built site in the system's Chromium: light and dark, at 1366 and at 390 pixels.
// Fails by what axe calls serious or critical, and by a request that leaves the site. CHROMIUM names the browser. With
// pages as arguments only those are looked at.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { chromium } from "playwright-core";

const site = new URL("../../target/site/", import.meta.url);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kinds = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2" };
const schemes = ["light", "dark"];
const widths = [1366, 390];
/** Pages that are looked at side by side. */
const workers = 3;

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://site").pathname).slice(1) || "index.html";
  let body;
  try {
    body = readFileSync(new URL(path, site));
  } catch {
    return response.writeHead(404).end();
  }
  response.writeHead(200, { "content-type": kinds[extname(path)] ?? "text/plain; charset=utf-8" }).end(body);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}/`;

// The list of chapters for browsers without scripts is a frame, and no page of its own.
const all = readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html") && name !== "toc.html").sort();
const pages = process.argv.length > 2 ? process.argv.slice(2) : all;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const found = [];
let looked = 0;

/** What axe finds on the page as it is shown now, and what of it is grave. */
async function look(page, where) {
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, impact, nodes } of violations.filter((one) => ["serious", "critical"].includes(one.impact))) {
    found.push(`${where}: ${impact}: ${id}: ${nodes.length}: ${nodes[0].html.slice(0, 160)} ${nodes[0].any[0]?.message ?? ""}`);
  }
  looked += 1;
}

for (const colorScheme of schemes) {
  const context = await browser.newContext({ colorScheme, reducedMotion: "reduce" });
  await context.addInitScript(axe);
  const queue = [...pages];
  const work = async () => {
    const page = await context.newPage();
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) found.push(`${page.url()}: asks ${request.url()}`);
    });
    for (let name = queue.shift(); name; name = queue.shift()) {
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(origin + name);
        await look(page, `${name}, ${colorScheme}, ${width}`);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  await context.close();
}
await browser.close();
server.close();
for (const line of [...new Set(found)].sort()) console.log(line);
console.log(`proof: axe-core: ${pages.length} pages, ${looked} times in ${schemes.join(" and ")} at ${widths.join(" and ")} pixels: ${found.length} serious or critical`);
assert.equal(found.length, 0);
