// Photographs the page of a daemon that balances planted traffic; site/screenshots starts this.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Agent, createServer, get } from "node:http";
import { createServer as reserve } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const shots = process.env.SHOTS;
/** How long requests come before the pictures are taken: lines of the page begin when it is opened. */
const warm_up_ms = 75_000;
const largest = 150 * 1024;

/** A server that answers after about so many milliseconds, and every `failing`th time with an error. */
async function origin(ms, failing) {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    const status = request.url === "/healthz" || !failing || count % failing !== 0 ? 200 : 503;
    const wait = request.url === "/healthz" ? 1 : ms * (0.5 + Math.random() + (Math.random() < 0.02 ? 12 : 0));
    setTimeout(() => response.writeHead(status, { "content-type": "text/html" }).end("x".repeat(2_000)), wait);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { server, address: `127.0.0.1:${server.address().port}` };
}

async function free_port() {
  const socket = reserve().listen(0, "127.0.0.1");
  await new Promise((done) => socket.once("listening", done));
  const { port } = socket.address();
  await new Promise((done) => socket.close(done));
  return port;
}

const home = mkdtempSync(join(tmpdir(), "steelyard-shots-"));
const origins = await Promise.all([origin(6, 0), origin(8, 0), origin(45, 40), origin(12, 0), origin(15, 0)]);
const [shop, api, control] = [await free_port(), await free_port(), await free_port()];
const servers = (names, from) => names.map((name, at) => `{ name = "${name}", address = "${origins[from + at].address}" }`).join(", ");
writeFileSync(join(home, "shop.toml"), `
[global]
control = { socket = "${home}/control.sock", state = "${home}/state", listen = "127.0.0.1:${control}" }
history = { step = "1s" }
access-log = "off"
[service.shop]
listen = "127.0.0.1:${shop}"
forward = "http"
pool = "web"
objective = { available = "99.9%", fast = "50ms" }
rule = [{ name = "api", when = { path = "/api/*" }, pool = "api" }, { name = "old", when = { path = "/old" }, redirect = "/new" }]
[service.staff]
listen = "127.0.0.1:${api}"
forward = "http"
pool = "api"
[pool.web]
probe = { http = "/healthz", interval = "2s" }
servers = [${servers(["web-1", "web-2", "web-3"], 0)}]
[pool.api]
probe = { http = "/healthz", interval = "2s" }
servers = [${servers(["api-1", "api-2"], 3)}]
`);
const daemon = spawn(process.env.STEELYARD, ["run", "-c", join(home, "shop.toml")], { stdio: "ignore" });

let active = true;
/** Sends requests one after another, each after a random pause. */
async function client(port, paths, pause_ms) {
  const agent = new Agent({ keepAlive: true });
  while (active) {
    await new Promise((done) => {
      const path = paths[Math.floor(Math.random() * paths.length)];
      get({ host: "127.0.0.1", port, path, agent }, (answer) => answer.resume().on("end", done)).on("error", done);
    });
    await new Promise((done) => setTimeout(done, pause_ms * (0.5 + Math.random())));
  }
  agent.destroy();
}

async function until_ready() {
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    const up = await fetch(`http://127.0.0.1:${control}/`).then((answer) => answer.ok, () => false);
    if (up) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail("the daemon serves no page");
}

const views = [["overview", ""], ["service", "service/shop"], ["slow", "slow"]];
try {
  await until_ready();
  const clients = Array.from({ length: 12 }, (_, at) => client(shop, ["/", "/cart", "/api/items", "/old"], 20 + 5 * at));
  clients.push(client(api, ["/"], 60));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  const open = async (colorScheme, name, way) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme, reducedMotion: "reduce" });
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${control}/#/${way}`);
    return { page, name: `${name}-${colorScheme}` };
  };
  const pages = [];
  for (const scheme of ["light", "dark"]) for (const [name, way] of views) pages.push(await open(scheme, name, way));
  await new Promise((done) => setTimeout(done, warm_up_ms));
  for (const { page, name } of pages) {
    const path = `${shots}/${name}.png`;
    await page.screenshot({ path });
    const { size } = statSync(path);
    console.log(`${path}: ${size} bytes`);
    assert.ok(size <= largest, `${path} is larger than ${largest} bytes`);
  }
  active = false;
  await browser.close();
  await Promise.all(clients);
} finally {
  active = false;
  daemon.kill("SIGTERM");
  await new Promise((done) => daemon.once("exit", done));
  origins.forEach(({ server }) => { server.closeAllConnections(); server.close(); });
  rmSync(home, { recursive: true, force: true });
}
