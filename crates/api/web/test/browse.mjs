// Drives the page in the system's Chromium and fails when something is not as it should be: every view, light and
// dark, with the keyboard alone, with tokens good and wrong, with a thousand servers, and with a daemon that dies.
// The test that starts it kills and starts the daemon when it is asked to. Pictures go to $SHOTS.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const page_url = process.env.PAGE;
const shots = process.env.SHOTS;
const [view, operate, configure] = process.env.TOKENS.split(" ");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the test do something, and waits until it is done. */
async function please(what) {
  console.log(`please: ${what}`);
  assert.equal((await lines.next()).value, "done");
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
const page = await context.newPage();
page.setDefaultTimeout(20_000);

const wrong = [];
let expected = false;
page.on("console", (message) => {
  if (message.type() === "error" && !expected) wrong.push(`console: ${message.text()} (${message.location().url})`);
});
page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
const own = new URL(page_url).origin;
page.on("request", (request) => {
  if (!request.url().startsWith("http://127.0.0.1:") && !request.url().startsWith(own) && !request.url().startsWith("data:")) wrong.push(`foreign: ${request.url()}`);
});
let carried = 0;
page.on("response", async (response) => {
  if (!response.url().includes("/v1/")) carried += Number(response.headers()["content-length"] ?? 0);
});

const sees = (text) => page.getByText(text, { exact: false }).first().waitFor();
const shot = (name) => page.screenshot({ path: `${shots}/${name}.png` });
async function go(way, text) {
  await page.goto(`${page_url}#/${way}`);
  await sees(text);
}
async function use(token) {
  await page.locator("header.top > button").click();
  await page.getByLabel("Token", { exact: true }).last().fill(token);
  await page.getByRole("button", { name: "Use it" }).click();
}

/** The page as the daemon serves it, with a stream that changes fifty servers fifty times a second. */
async function hurried() {
  const answers = new Set();
  let last = null;
  const server = createServer(async (request, response) => {
    const answer = await fetch(new URL(request.url, page_url));
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    if (request.url !== "/v1/stream") return response.end(Buffer.from(await answer.arrayBuffer()));
    let text = "";
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.includes("\n\n")) break;
    }
    const scene = JSON.parse(text.slice(text.indexOf("data: ") + 6, text.indexOf("\n\n")));
    const send = (kind, some) => response.write(`event: ${kind}\nid: ${some.sequence}\ndata: ${JSON.stringify(some)}\n\n`);
    const part = (side, names, flight) => ({
      ...scene[side], services: [], pools: scene[side].pools.filter((pool) => pool.name === "many").map((pool) => (
        { ...pool, servers: pool.servers.filter((one) => names.has(one.name)).map((one) => ({ ...one, "in-flight": flight })) })),
    });
    const change = (first, flight) => {
      scene.sequence += 1;
      const names = new Set(Array.from({ length: 50 }, (_, at) => `s${String((first + at) % 1000).padStart(4, "0")}`));
      send("change", { ...scene, status: part("status", names, flight), report: part("report", names, flight) });
    };
    send("state", scene);
    let first = 0;
    answers.add(setInterval(() => change((first += 50) % 1000, first % 5000), 20));
    last = () => change(0, 7_777);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const stop = () => answers.forEach(clearInterval);
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    finish: () => { stop(); last(); },
    close: () => { stop(); server.closeAllConnections(); server.close(); },
  };
}

try {
  // The first view, and what it weighs.
  const begun = performance.now();
  await page.goto(page_url);
  await page.locator(".verdict").waitFor();
  console.log(`figure: page: first view after ${Math.round(performance.now() - begun)} ms, ${carried} bytes carried`);
  assert.ok(carried <= 300 * 1024, `${carried} bytes`);
  await sees("live");
  await please("request");
  await shot("overview");

  // Every view, by the links that people use.
  const views = [
    ["services", "shop"], ["service/shop", "Latency by phase"], ["pools", "many"], ["pool/web", "Last check"],
    ["events", "Audit log"], ["rules", "Try a request"], ["slow", "Which requests"], ["refused", "Refused requests"], ["users", "Error budget left"],
    ["configuration", "Generations"], ["captures", "Stored captures"], ["capacity", "First limit"],
    ["network", "There is no [link.NAME]"], ["lab", "Results side by side"], ["pair", "No address is shared"], ["packets", "Source ports"],
  ];
  for (const [way, text] of views) {
    await go(way, text);
    await shot(way.replace("/", "-"));
  }
  assert.equal(await page.locator("nav a[aria-current]").count(), 1);

  // Without a token nothing can be ordered.
  await go("pool/web", "Last check");
  assert.ok(await page.getByRole("button", { name: "Drain a" }).isDisabled());

  // A request is tried by everybody.
  await go("rules", "Try a request");
  await page.getByLabel("URL or path").fill("/api/cart");
  await page.getByLabel("Service").selectOption("shop");
  await page.getByRole("button", { name: "Which rule matches?" }).click();
  await sees("matches:");
  await shot("rules-tried");

  // A wrong token is told; the right one opens what it is for.
  expected = true;
  await use("steelyard_wrong");
  await sees("this token is not known here");
  await shot("wrong-token");
  await page.getByLabel("Token", { exact: true }).last().fill(operate);
  await page.getByRole("button", { name: "Use it" }).click();
  await sees("the-operate: operate");
  expected = false;
  await go("pool/web", "Last check");
  await page.getByRole("button", { name: "Drain a" }).click();
  await page.locator("tr", { hasText: "127.0.0.1" }).filter({ hasText: "drain" }).first().waitFor();
  await page.getByRole("button", { name: "Enable a" }).waitFor();
  await page.getByLabel("Weight of b").fill("7");
  await page.getByLabel("Weight of b").press("Enter");
  await page.getByRole("button", { name: "Why b" }).click();
  await sees("effective weight");
  await shot("pool-orders");
  await go("", "1 notice");
  await shot("overview-trouble");
  await go("pool/web", "Last check");
  await page.getByRole("button", { name: "Enable a" }).click();
  await page.getByRole("button", { name: "Drain a" }).waitFor();

  // Servers that answer with errors are an alarm at the top, in red, as long as they do.
  await please("fail");
  await go("", "5xx of servers");
  await page.locator(".verdict.bad").waitFor();
  await shot("overview-errors");
  await page.locator(".troubles").getByText("5xx of servers").first().waitFor({ state: "detached", timeout: 60_000 });

  // A thousand servers: few rows are drawn, and all of them are found.
  await go("pool/many", "Last check");
  const rows = page.locator(".many tbody tr:not(.space)");
  await rows.first().waitFor();
  assert.ok((await rows.count()) < 100, `${await rows.count()} rows are drawn`);
  await page.locator(".scroll.tall").evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await sees("s0999");
  await page.getByLabel("Filter Servers").fill("s0512");
  await sees("1 of 1000");
  await page.getByLabel("Filter Servers").fill("");
  await page.getByRole("button", { name: "Server" }).first().click();
  const longest = await page.evaluate(async () => {
    // How long the page is busy at a time while it scrolls through all of them.
    const tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration))).observe({ type: "longtask" });
    const box = document.querySelector(".scroll.tall");
    for (let at = 0; at <= 40; at++) {
      box.scrollTo(0, (box.scrollHeight * at) / 40);
      await new Promise((done) => requestAnimationFrame(done));
    }
    return Math.max(0, ...tasks);
  });
  console.log(`figure: page: scrolling 1,000 servers is busy for ${Math.round(longest)} ms at most at a time`);
  await shot("pool-many");

  // A capture that is dropped is explained with its diagrams, in a frame that runs its own script.
  await go("captures", "Explain a capture");
  await page.getByLabel("Drop a capture here").setInputFiles(process.env.CAPTURE);
  const told = page.frameLocator("iframe.explained");
  await told.getByText("Whose time was it?").waitFor();
  await told.locator(".bounce").first().waitFor();
  assert.ok(await told.locator(".plot svg").count() > 2);
  assert.notEqual(await told.locator(".bar span").first().evaluate((part) => part.style.width), "", "its script ran");
  await shot("captures-explained");
  await told.locator(".bounce").first().scrollIntoViewIfNeeded();
  await shot("captures-bounce");

  // Results of the lab are put side by side.
  await go("lab", "Results side by side");
  const result = (rps) => ({ format: "x", kind: "http", complete: true, provenance: { steelyard: "0.1", "began-unix-ms": 1, host: "h", kernel: "k", processors: "2" }, runs: [{ test: "small", complete: true, metrics: [{ name: "requests", unit: "1/s", value: rps }] }] });
  await page.getByLabel("Drop results here").setInputFiles([["old.json", 1000], ["new.json", 1250]].map(([name, rps]) => (
    { name, mimeType: "application/json", buffer: Buffer.from(JSON.stringify(result(rps))) })));
  await sees("1,250");
  await shot("lab-results");

  // The configuration: a mistake is found, a change is planned and applied, and taken back.
  await use(configure);
  await sees("the-configure: configure");
  await go("configuration", "Text of generation");
  const editor = page.getByLabel("Configuration", { exact: true }).last();
  let written = "";
  while (!written.includes("[pool.web]")) written = await editor.inputValue();
  expected = true;
  await editor.fill(written.replace("[pool.web]", "[pool.web]\nbalanse = \"random\""));
  await sees("did you mean");
  await shot("configuration-mistake");
  // What may stand at the caret is offered, and taken by the keyboard.
  await editor.fill(written.replace("[pool.web]", "[pool.web]\nbal"));
  await editor.evaluate((area) => { const at = area.value.indexOf("[pool.web]") + 14; area.setSelectionRange(at, at); });
  await editor.press("Control+Space");
  await page.getByRole("option", { name: "balance" }).waitFor();
  await shot("configuration-choices");
  await editor.press("Enter");
  assert.ok((await editor.inputValue()).includes("[pool.web]\nbalance"));
  expected = false;
  await editor.fill(written.replace("[pool.web]", "[pool.web]\nbalance = \"random\""));
  await sees("this would change");
  await shot("configuration-plan");
  await page.getByRole("button", { name: "Apply" }).click();
  await sees("is active");
  await page.getByRole("button", { name: "Restore" }).first().click();
  await sees("Text of generation 3");
  await go("events", "rollback");
  await shot("events-orders");
  // Back in time and to now again.
  await page.getByRole("button", { name: "Earlier" }).click();
  await sees("Events of that time");
  await shot("events-earlier");
  await page.getByRole("button", { name: "Now", exact: true }).click();
  await page.getByText("Events of that time").waitFor({ state: "detached" });

  // The keyboard alone leads to a view.
  await go("", "Requests per second");
  await page.keyboard.press("Tab");
  for (let presses = 0; presses < 40; presses++) {
    const at = await page.evaluate(() => document.activeElement?.textContent ?? "");
    if (at === "Packets") break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await sees("Source ports");

  // Dark.
  await page.getByLabel("Colours").selectOption("dark");
  await go("service/shop", "Latency by phase");
  await shot("service-dark");
  await go("", "Requests per second");
  await shot("overview-dark");

  // Fifty updates a second, each of fifty of the thousand servers: more than the daemon ever sends.
  const busy = await hurried();
  await page.goto(`${busy.url}#/pool/many`);
  await sees("s0003");
  const frames = await page.evaluate(async () => {
    const tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration))).observe({ type: "longtask" });
    let drawn = 0;
    for (const until = performance.now() + 3_000; performance.now() < until; drawn++) await new Promise((done) => requestAnimationFrame(done));
    return { drawn, longest: Math.max(0, ...tasks) };
  });
  busy.finish();
  await sees("7,777");
  console.log(`figure: page: at 50 updates a second it draws ${Math.round(frames.drawn / 3)} frames a second, and is busy for ${Math.round(frames.longest)} ms at most at a time`);
  await shot("pool-many-busy");
  // The page leaves first: a stream that is cut is an error that browsers tell.
  await page.goto("about:blank");
  busy.close();

  // Narrow.
  await go("", "Requests per second");
  await page.setViewportSize({ width: 420, height: 800 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(over <= 0, `the page is ${over} pixels too wide`);
  await shot("overview-narrow");
  await page.setViewportSize({ width: 1440, height: 900 });

  // The daemon dies: what is shown is marked as old. It comes again: the page too, by itself.
  expected = true;
  await please("kill");
  await sees("Stale:");
  await page.locator("main.old").waitFor();
  await shot("stale");
  await please("start");
  await page.locator("header.top.live").waitFor();
  await page.locator("main:not(.old)").waitFor();
  expected = false;
  assert.deepEqual(wrong, []);
} catch (error) {
  await shot("failed").catch(() => {});
  console.log(error.stack ?? String(error));
  console.log(wrong.join("\n"));
  process.exitCode = 1;
} finally {
  await browser.close();
  process.exit();
}
