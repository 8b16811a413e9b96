//! Former names of keys and words mean what the names of now mean; the pages and examples have none of them.

use model::config::Severity;
use model::config::renamed_keys::{renamed_keys, renamed_words};

use super::support::{findings, good, repository};

/// Every renamed key once, by its name of now.
const NOW: &str = r#"
[global]
request-id = { header = "x-id", response = true }
hook = [{ name = "h", run = "/bin/true", on = ["server-commands-not-saved", "duplicate-address"], max-concurrent = 2 }]

[packets]
nat-source = ["10.0.0.4"]
flow-samples = 32
pin-path = "/sys/fs/bpf/a"

[service.shop]
listen = "203.0.113.10:443"
forward = "http"
pool = "web"
tls = { certificates = "/shop.pem", unknown-sni = "refuse" }
buffer = { request = "1MiB", when-larger = "refuse" }
timeout = { total = "1m" }
objective = { availability = "99.9%", latency = "300ms", latency-target = "98%", min-bad = 20 }
sticky = { by = "header", name = "x", expire = "1h", group = "g", when-down = "refuse", when-full = "spill" }
compress = { max-concurrent = 9, max-cpu = 70 }
http2 = { max-window = "8MiB", max-age = "30m" }
http3 = { offer = "on", max-window = "8MiB", max-age = "30m", alt-svc = "1h", retry-above = 9 }
rule = [{ when = { path = "/a/*", connection-rate = "5-", active = "9-", scope = "pool", servers = { average-active = "7-" } }, pool = "web", when-unavailable = "answer" }, { mirror = { pool = "web", max-concurrent = 8 }, rewrite = { response-set = "a: b", response-remove = "c" } }]

[service.mail]
listen = "203.0.113.10:587"
forward = "tcp"
pool = "mail"
accept-proxy = { from = "10.0.0.0/8", timeout = "1s" }

[service.plane]
listen = "203.0.113.10:25"
forward = "nat"
pool = "mail"
timeout = { half-open = "10s" }
idle-timeout = "3h"

[pool.web]
servers = ["10.0.0.1:80"]
agent = { kind = "responses", max-age = "20s" }
dynamic-weights = { max-weight = 99, interval = "3s" }
circuit-breaker = { requests = 9 }
load-shedding = "20ms"
lenient-responses = "bare-lf"
retry = { min-per-second = 5, max-back-off = "1s" }
hedge = { percentile = 90, min-delay = "8ms" }
eject = { truncation-rate = 7, min-requests = 20, base-time = "8s", max-time = "10m", max-percent = 40 }
probe = { tcp = true, interval = "3s", fast-interval = "100ms" }
http2 = { mode = "prefer", max-window = "16MiB" }

[pool.mail]
servers = ["10.0.0.2:25"]

[vrrp.front]
interface = "eth0"
id = 1
addresses = "203.0.113.10"
unadvertised = [{ addresses = "10.0.0.4", interface = "eth1" }]
fencing-timeout = "2s"
duplicate-check = "20s"
announce-interval = "2m"

[heartbeat.right]
name = "left"
secret = "/etc/k"
paths = [{ local = "192.0.2.1", peer = "192.0.2.2" }]
interval = "50ms"
reach = { connect = "192.0.2.53:53", hold-time = "9s", interval = "2s" }

[link.up]
links = [{ interface = "eth1", via = "10.41.1.2" }, { interface = "eth2", via = "10.41.2.2" }]
probe = { interval = "200ms" }

[uplinks]
source-nat = "both"
rule-priority = 9000

[uplink.fibre]
interface = "eth3"
via = "192.0.4.1"
probe = { echo = ["198.51.100.1", "198.51.100.2"], min-targets = 2, interval = "2s" }

[uplink.cable]
interface = "eth4"
via = "192.0.5.1"

[capture.slow]
latency = "1s"
reason = "LOSS"
duration = "3s"

[zone."lb.example"]
nameservers = "ns1.example.net"
contact = "dns@lb.example"
txt = "v"
"#;

/// The same by former names.
const BEFORE: &str = r#"
[global]
request-id = { header = "x-id", answer = true }
hook = [{ name = "h", run = "/bin/true", on = ["words-not-kept", "member-doubled"], at-once = 2 }]

[packets]
return = ["10.0.0.4"]
insight = 32
pins = "/sys/fs/bpf/a"

[service.shop]
listen = "203.0.113.10:443"
forward = "http"
pool = "web"
tls = { certificates = "/shop.pem", unknown-name = "refuse" }
buffer = { request = "1MiB", beyond = "refuse" }
timeout = { whole = "1m" }
objective = { available = "99.9%", fast = "300ms", share = "98%", at-least = 20 }
sticky = { by = "header", name = "x", time = "1h", share = "g", gone = "refuse", full = "spill" }
compress = { at-once = 9, busy = 70 }
http2 = { window-most = "8MiB", age = "30m" }
http3 = { offer = "on", window-most = "8MiB", age = "30m", announce = "1h", prove = 9 }
rule = [{ when = { path = "/a/*", arrivals = "5-", active = "9-", count = "pool", servers = { busy = "7-" } }, pool = "web", without-servers = "answer" }, { mirror = { pool = "web", at-once = 8 }, rewrite = { answer-set = "a: b", answer-remove = "c" } }]

[service.mail]
listen = "203.0.113.10:587"
forward = "tcp"
pool = "mail"
accept-proxy = { from = "10.0.0.0/8", time = "1s" }

[service.plane]
listen = "203.0.113.10:25"
forward = "nat"
pool = "mail"
timeout = { embryonic = "10s" }
stale-timeout = "3h"

[pool.web]
servers = ["10.0.0.1:80"]
agent = { kind = "answers", age = "20s" }
judge = { bound = 99, every = "3s" }
breaker = { requests = 9 }
shed = "20ms"
lenient-answers = "bare-lf"
retry = { at-least = 5, back-off-most = "1s" }
hedge = { percentile = 90, at-least = "8ms" }
eject = { cut-rate = 7, volume = 20, time = "8s", most = "10m", share = 40 }
probe = { tcp = true, every = "3s", doubt = "100ms" }
http2 = { speak = "prefer", window-most = "16MiB" }

[pool.mail]
servers = ["10.0.0.2:25"]

[vrrp.front]
interface = "eth0"
id = 1
addresses = "203.0.113.10"
also = [{ addresses = "10.0.0.4", interface = "eth1" }]
dead-man = "2s"
self-check = "20s"
announce-every = "2m"

[heartbeat.right]
name = "left"
secret = "/etc/k"
paths = [{ local = "192.0.2.1", peer = "192.0.2.2" }]
every = "50ms"
reach = { connect = "192.0.2.53:53", settle = "9s", every = "2s" }

[link.up]
links = [{ interface = "eth1", via = "10.41.1.2" }, { interface = "eth2", via = "10.41.2.2" }]
probe = { every = "200ms" }

[uplinks]
translate = "both"
rule = 9000

[uplink.fibre]
interface = "eth3"
via = "192.0.4.1"
probe = { echo = ["198.51.100.1", "198.51.100.2"], need = 2, every = "2s" }

[uplink.cable]
interface = "eth4"
via = "192.0.5.1"

[capture.slow]
latency = "1s"
cause = "LOSS"
time = "3s"

[zone."lb.example"]
nameservers = "ns1.example.net"
contact = "dns@lb.example"
text = "v"
"#;

#[test]
fn former_names_mean_the_same_with_a_warning_each() {
    let now = good(NOW);
    let before = good(BEFORE);
    assert_eq!(now.config, before.config);
    let renamed: Vec<_> =
        before.warnings.iter().filter(|one| one.message.contains("` is called `")).collect();
    assert!(renamed.iter().all(|one| one.severity == Severity::Warning));
    // The words: two events, and the kind of an agent.
    assert_eq!(renamed.len(), 71, "{renamed:#?}");
    assert!(!now.warnings.iter().any(|one| one.message.contains("` is called `")));
}

#[test]
fn every_renamed_key_stands_in_the_two_texts() {
    let written = |text: &str, name: &str| {
        let starts = [format!("\n{name} = "), format!(" {name} = ")];
        starts.iter().any(|start| text.contains(start.as_str()))
    };
    for key in renamed_keys().iter().filter(|key| !key.path.starts_with("auth")) {
        assert!(written(NOW, key.name), "{key:?}");
        assert!(key.former_names.iter().all(|name| written(BEFORE, name)), "{key:?}");
    }
    assert!(renamed_words().len() >= 2);
}

#[test]
fn pages_and_examples_have_no_former_name() {
    let mut blocks = 0;
    for folder in ["docs", "docs/guides", "examples", "."] {
        for entry in std::fs::read_dir(repository(folder)).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
            if !["md", "toml"].contains(&kind) || path.ends_with("CHANGELOG.md") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let files: Vec<&str> = match kind {
                "toml" => vec![&text],
                _ => text
                    .split("\n```toml\n")
                    .skip(1)
                    .filter_map(|it| it.split("\n```").next())
                    .collect(),
            };
            for file in files {
                blocks += 1;
                let found = findings(file);
                let former = found.iter().find(|one| one.message.contains("` is called `"));
                assert!(former.is_none(), "{}: {former:?}", path.display());
            }
        }
    }
    assert!(blocks > 50, "{blocks}");
}

#[test]
fn a_word_that_is_near_an_earlier_one_suggests_the_word_of_now() {
    let text = NOW.replace("kind = \"responses\"", "kind = \"anwers\"");
    let found = findings(&text);
    let about = found.iter().find(|one| one.key == "pool.web.agent.kind");
    let suggestion = about.and_then(|one| one.suggestion.as_deref());
    assert_eq!(suggestion, Some("\"responses\""), "{found:?}");
}
