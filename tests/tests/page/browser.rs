//! The page in a real Chromium: every view, light and dark, a thousand servers, a wrong token, and a daemon that dies
//! and returns. `crates/api/web/test/browse.mjs` drives the browser and reports its findings; screenshots are stored in
//! `target/page/`.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use api::types::Role;
use rustix::process::Signal;
use tests::e2e::balancer::figure;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::target::target;
use tests::e2e::wait;
use tests::skip::skip;
use tests::tree::top;

use crate::client::{ApiListener, token};

/// Servers of the large pool.
const MANY: usize = 1_000;
/// Requests that servers answer with an error: enough for a share in red.
const FAILING: usize = 40;
const RULES: &str = "objective = { availability = \"99.9%\", latency = \"300ms\" }\nrule = [\
    { name = \"api\", when = { path = \"/api/*\" }, pool = \"many\" },\
    { name = \"old\", when = { path = \"/old\" }, redirect = \"/new\" }]\n";

/// The packages for building and testing the page, installed once from the lock file. `None` if npm is not installed.
pub fn npm_packages() -> Option<PathBuf> {
    static DONE: OnceLock<Option<PathBuf>> = OnceLock::new();
    DONE.get_or_init(|| {
        let here = |name: &str| Command::new(name).arg("--version").output().is_ok();
        if !here("node") || !here("npm") {
            return None;
        }
        let web = top().join("crates/api/web");
        let written =
            |name: &str| web.join(name).metadata().and_then(|facts| facts.modified()).ok();
        let (lock, done) = ("package-lock.json", "node_modules/.package-lock.json");
        if written(done).is_some_and(|done| Some(done) >= written(lock)) {
            return Some(web.join("node_modules"));
        }
        let mut command = Command::new("npm");
        command.args(["ci", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"]);
        let done = command.current_dir(&web).output().unwrap();
        assert!(done.status.success(), "npm ci: {}", String::from_utf8_lossy(&done.stderr));
        Some(web.join("node_modules"))
    })
    .clone()
}

#[test]
fn every_view_works_in_a_browser() {
    if npm_packages().is_none() {
        return skip("node and npm are not installed: tests/setup test");
    }
    let Some(chromium) = chromium() else {
        return skip("chromium is not installed: tests/setup test");
    };
    let origins = [origin("a"), origin("b")];
    let door = ApiListener::new();
    let many: Vec<String> = (0..MANY)
        .map(|n| format!("{{ name = \"s{n:04}\", address = \"127.0.1.1:{}\" }}", 1000 + n))
        .collect();
    let many = format!("[pool.many]\nservers = [{}]\n", many.join(", "));
    let setup = BalancerConfig::http(&addresses(&origins)).service(RULES).with_tables(&many);
    let place = CliEnvironment::new(&door.on(setup.global("history = { step = \"1s\" }"), ""));
    let mut process = place.start();
    let roles = [Role::View, Role::Operate, Role::Configure];
    let tokens = roles.map(|role| token(place.dir(), role));
    door.open();
    let mut client = HttpClient::connect(place.setup().fronts()[0]);
    for path in ["/", "/old", "/", "/"] {
        client.get(path);
    }
    let shots = target().join("page");
    std::fs::create_dir_all(&shots).unwrap();
    let mut command = Command::new("node");
    command.arg(top().join("crates/api/web/test/browse.mjs"));
    command.env("PAGE", format!("http://{}/", door.address())).env("CHROMIUM", chromium);
    command.env("SHOTS", &shots).env("TOKENS", tokens.join(" "));
    command.env("CAPTURE", top().join("crates/trace/tests/captures/two_lb_slow_lb2.pcap.gz"));
    let mut driver = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = driver.stdin.take().unwrap();
    let mut said = String::new();
    for line in BufReader::new(driver.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        match line.as_str() {
            "please: kill" => {
                process.signal(Signal::KILL);
                wait::until("it is gone", || process.try_wait().is_some());
            }
            "please: start" => process = place.start(),
            "please: fail" => {
                (0..FAILING).for_each(|_| assert_eq!(client.get("/status/500").status(), 500));
            }
            "please: request" => assert_eq!(client.get("/").status(), 200),
            other => {
                if let Some(told) = other.strip_prefix("figure: ") {
                    figure(told);
                }
                said += other;
                said += "\n";
                continue;
            }
        }
        answers.write_all(b"done\n").unwrap();
    }
    let ended = driver.wait().unwrap();
    assert!(ended.success(), "{said}");
}

fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| places.iter().map(move |place| place.join(name)))
        .find(|file| file.is_file())
}
