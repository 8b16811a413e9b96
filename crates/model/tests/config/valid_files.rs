//! The meaning of valid files: defaults, short forms, inheritance.

use std::time::Duration;

use model::config::{
    AccessLogTarget, AdminState, BalancePolicy, DownAction, ForwardedHeaderAction, ForwardingMode,
    HttpProbe, InitialState, ProbeConfig, ProbeKind, ServerHost, SocketOptions,
};

use super::support::{BASE, errors, good};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// Rows: Z11
#[test]
fn nothing_written_has_the_documented_defaults() {
    let config = good(BASE).config;
    let global = &config.global;
    assert_eq!((global.workers, global.connections, global.drain), (None, None, secs(30)));
    assert_eq!(
        (global.access_log.all, &global.access_log.target),
        (false, &AccessLogTarget::Stderr)
    );
    assert_eq!((global.control.mode, global.control.generations), (0o660, 20));
    assert_eq!(
        global.control.socket.as_deref(),
        Some(std::path::Path::new("/run/steelyard/control.sock"))
    );
    assert_eq!(global.metrics, None);
    let shop = &config.services["shop"];
    assert_eq!(shop.forward, ForwardingMode::Http);
    assert_eq!((shop.timeout.header, shop.timeout.idle), (secs(10), secs(60)));
    assert_eq!((shop.timeout.between_bytes, shop.timeout.whole), (secs(30), None));
    assert_eq!((shop.timeout.drain, shop.timeout.tunnel), (secs(30), secs(3600)));
    assert_eq!((shop.limit.connections, shop.limit.header_bytes), (None, 32 * 1024));
    assert_eq!((shop.limit.header_count, shop.limit.target_bytes), (100, 8 * 1024));
    assert_eq!(shop.limit.connection_bytes, 64 * 1024);
    assert_eq!(shop.socket, SocketOptions::default());
    assert_eq!(
        (shop.forwarded.x_forwarded, shop.forwarded.forwarded),
        (ForwardedHeaderAction::Append, ForwardedHeaderAction::Keep)
    );
    assert!(shop.forwarded.via);
    let web = &config.pools["web"];
    assert_eq!(
        (web.balance, web.initial, web.retries),
        (BalancePolicy::LeastRequest, InitialState::Up, 2)
    );
    assert_eq!((web.timeout.connect, web.timeout.first_byte), (secs(3), secs(60)));
    assert_eq!(
        (web.timeout.between_bytes, web.timeout.queue, web.timeout.idle),
        (secs(30), secs(1), secs(60))
    );
    assert_eq!(
        (web.limit.idle, web.limit.queue, web.limit.header_bytes, web.limit.header_count),
        (256, 1024, 32 * 1024, 100)
    );
    assert_eq!(web.socket, SocketOptions::default());
    assert_eq!((web.probe.is_none(), web.source.is_empty()), (true, true));
    let server = &web.servers[0];
    assert_eq!((server.name.as_str(), server.weight.get()), ("10-0-0-1-80", 1));
    assert_eq!((server.admin, server.connections), (AdminState::Enabled, None));
}

#[test]
fn a_pool_with_tls_is_probed_by_its_handshake_unless_configured_otherwise() {
    let tls = "tls = { name = \"b.example\", ca = \"/ca.pem\", minimum = \"1.3\" }\n";
    let probe = |lines: &str| (*good(&format!("{BASE}{lines}")).config.pools["web"]).clone();
    let pool = probe(tls);
    let of_pool = pool.probe.as_ref().unwrap();
    let spoken = of_pool.tls.as_ref().unwrap();
    assert_eq!((spoken.name.as_deref(), spoken.verify), (Some("b.example"), true));
    assert_eq!(spoken.ca.as_deref(), Some(std::path::Path::new("/ca.pem")));
    assert_eq!((of_pool.every, of_pool.rise, of_pool.fall), (secs(2), 2, 3));
    assert_eq!(
        (pool.servers[0].probe.as_ref(), pool.initial),
        (Some(of_pool), InitialState::Unknown)
    );
    let trusting = probe("tls = { verify = \"off\" }\n").probe.unwrap();
    assert!(!trusting.tls.unwrap().verify);
    for (lines, probed) in [("probe = \"off\"\n", false), ("probe = \"ping\"\n", true)] {
        let pool = probe(&format!("{tls}{lines}"));
        let plain =
            |probe: &Option<ProbeConfig>| probe.as_ref().is_none_or(|probe| probe.tls.is_none());
        let [of_pool, of_server] = [&pool.probe, &pool.servers[0].probe];
        assert_eq!([of_pool.is_some(), of_server.is_some()], [probed; 2], "{lines}");
        assert!(plain(of_pool) && plain(of_server), "{lines}");
    }
}

// Rows: I17
#[test]
fn a_probe_has_the_documented_defaults() {
    let config = good(&format!("{BASE}probe = \"tcp\"\n")).config;
    let expected = ProbeConfig {
        kind: ProbeKind::Tcp,
        every: secs(2),
        fast_interval: Duration::from_millis(250),
        timeout: secs(1),
        rise: 2,
        fall: 3,
        jitter: 10,
        port: None,
        tls: None,
        grace: Duration::ZERO,
        on_down: DownAction::Keep,
    };
    let web = &config.pools["web"];
    assert_eq!(web.probe.as_ref(), Some(&expected));
    assert_eq!(web.servers[0].probe.as_ref(), Some(&expected));
    assert_eq!(web.initial, InitialState::Unknown);
    let config = good(&format!("{BASE}probe = {{ http = \"/healthz\" }}\n")).config;
    let kind = &config.pools["web"].servers[1].probe.as_ref().unwrap().kind;
    assert_eq!(kind, &ProbeKind::Http(HttpProbe::get("/healthz")));
}

/// A sample configuration with most features.
const SKETCH: &str = r#"
[service.shop]
listen  = "203.0.113.10:80"
forward = "http"
pool    = "web"

[[service.shop.rule]]
when = { path = "/api/*", method = ["GET", "POST"] }
pool = "api"

[pool.web]
balance = "least-request"
probe   = { http = "/healthz", interval = "2s" }
servers = [
  { name = "a", address = "10.0.0.11:8080" },
  { name = "b", address = "10.0.0.12:8080", weight = 3 },
]
"#;

#[test]
fn the_sketch_loads() {
    let found = errors(SKETCH);
    assert_eq!((found[0].key.as_str(), found[0].line), ("service.shop.rule[0].pool", 9));
    assert_eq!(found.len(), 1, "{found:#?}");
    let config = good(&format!("{SKETCH}[pool.api]\nservers = [\"10.0.0.13:8080\"]\n")).config;
    let rule = &config.services["shop"].rules[0];
    assert_eq!(rule.pools(), [Some("api")]);
    let web = &config.pools["web"];
    assert_eq!(web.balance, BalancePolicy::LeastRequest);
    assert_eq!((web.servers[1].name.as_str(), web.servers[1].weight.get()), ("b", 3));
}

#[test]
fn short_forms_mean_the_long_ones() {
    for (short, long) in [
        ("probe = \"tcp\"", "probe = { tcp = true }"),
        ("balance = \"maglev\"", "[pool.web.balance]\nby = \"maglev\"\nsize = 16381"),
        ("source = \"10.0.0.9\"", "source = [\"10.0.0.9\"]"),
        ("socket = { keep-alive = \"9s\" }", "[pool.web.socket.keep-alive]\nidle = \"9s\""),
        ("[global]\nmetrics = \"[::1]:9\"", "[global.metrics]\nlisten = \"[::1]:9\""),
        ("[global]\naccess-log = \"off\"", "[global.access-log]\ntarget = \"off\""),
        ("[global]\ncontrol.mode = \"600\"", "[global]\ncontrol.mode = 0o600"),
        (
            "[service.x]\nlisten = \":9\"\nforward = \"tcp\"\npool = \"web\"",
            "[service.x]\nlisten = [\"0.0.0.0:9\", \"[::]:9\"]\nforward = \"tcp\"\npool = \"web\"",
        ),
    ] {
        let one = good(&format!("{BASE}{short}\n"));
        let other = good(&format!("{BASE}{long}\n"));
        assert_eq!(one.config, other.config, "{short}");
        assert_ne!(one.config, good(BASE).config, "{short}");
    }
    let text =
        "[service.s]\nlisten = \":1\"\nforward = \"tcp\"\npool = \"p\"\n[pool.p]\nservers = ";
    let servers = |list: &str| good(&format!("{text}{list}\n")).config.pools["p"].servers.clone();
    let names = |list: &str| servers(list).iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(names("\"a.example:8080\""), ["a-example-8080"]);
    assert_eq!(
        names("[\"A.example.:80\", { address = \"[2001:db8::1]:80\" }]"),
        ["a-example-80", "2001-db8-0-0-0-0-0-1-80"]
    );
    assert_eq!(
        servers("[\"A.Example.:80\"]")[0].address.host,
        ServerHost::Name("a.example".into())
    );
}

#[test]
fn balance_follows_the_methods_that_use_the_pool() {
    let tcp = BASE.replace("\"http\"", "\"tcp\"");
    assert_eq!(good(&tcp).config.pools["web"].balance, BalancePolicy::RoundRobin);
    let both = format!("{tcp}[service.h]\nlisten = \":9\"\nforward = \"http\"\npool = \"web\"\n");
    assert_eq!(good(&both).config.pools["web"].balance, BalancePolicy::LeastRequest);
    let source = format!("{BASE}balance = {{ by = \"source\", mask4 = 24 }}\n");
    assert_eq!(
        good(&source).config.pools["web"].balance,
        BalancePolicy::Source { mask4: 24, mask6: 128 }
    );
}

// Rows: I04
#[test]
fn global_settings_reach_services_and_pools_and_nearer_ones_win() {
    let above = "\
[global]
drain = \"7s\"
timeout = { idle = \"9s\", connect = \"2s\", between-bytes = \"8s\" }
limit = { header-count = 50 }
socket = { keep-alive = { idle = \"5s\", count = 9 }, backlog = 99, mark = 4 }
";
    let near = "\
timeout = { idle = \"4s\" }
socket = { mark = \"off\", keep-alive = { count = 2 } }
[service.shop.socket]
keep-alive = \"off\"
";
    let config = good(&format!("{above}{BASE}{near}")).config;
    let shop = &config.services["shop"];
    let web = &config.pools["web"];
    assert_eq!((shop.timeout.idle, shop.timeout.drain), (secs(9), secs(7)));
    assert_eq!((web.timeout.idle, web.timeout.connect), (secs(4), secs(2)));
    assert_eq!((shop.timeout.between_bytes, web.timeout.between_bytes), (secs(8), secs(8)));
    assert_eq!((shop.limit.header_count, web.limit.header_count), (50, 50));
    assert_eq!((shop.socket.backlog, web.socket.backlog), (99, 4096));
    assert_eq!((shop.socket.mark, web.socket.mark), (Some(4), None));
    assert_eq!(shop.socket.keep_alive, None);
    let keep_alive = web.socket.keep_alive.unwrap();
    assert_eq!((keep_alive.idle, keep_alive.interval, keep_alive.count), (secs(5), secs(10), 2));
}

// Rows: I04
#[test]
fn servers_take_from_their_pool_and_override_single_keys() {
    let text = "\
[service.s]
listen = \":1\"
forward = \"http\"
pool = \"p\"
[pool.p]
weight = 7
connections = 5
probe = { http = \"/x\", host = \"h\", interval = \"9s\" }
servers = [
  \"a:1\",
  { address = \"b:1\", weight = 0, connections = \"off\", probe = { interval = \"3s\" } },
  { address = \"c:1\", probe = \"tcp\" },
  { address = \"d:1\", probe = \"off\", state = \"disabled\" },
]
";
    let config = good(text).config;
    let servers = &config.pools["p"].servers;
    let weights: Vec<_> = servers.iter().map(|s| (s.weight.get(), s.connections)).collect();
    assert_eq!(weights, [(7, Some(5)), (0, None), (7, Some(5)), (7, Some(5))]);
    let http = ProbeKind::Http(HttpProbe { host: Some("h".into()), ..HttpProbe::get("/x") });
    let probes: Vec<_> =
        servers.iter().map(|s| s.probe.as_ref().map(|p| (p.kind.clone(), p.every))).collect();
    let expected = [
        Some((http.clone(), secs(9))),
        Some((http, secs(3))),
        Some((ProbeKind::Tcp, secs(9))),
        None,
    ];
    assert_eq!(probes, expected);
    assert_eq!(servers[3].admin, AdminState::Disabled);
    assert_eq!(config.pools["p"].initial, InitialState::Up);
}

/// A default yields to contradicting explicit settings.
#[test]
fn no_default_contradicts_what_is_written() {
    for (owner, line, key, value) in [
        (
            "pool.web",
            "probe = { tcp = true, interval = \"200ms\" }",
            "pool.web.probe.fast-interval",
            "\"200ms\"",
        ),
        (
            "pool.web",
            "probe = { tcp = true, interval = \"200ms\" }",
            "pool.web.probe.timeout",
            "\"200ms\"",
        ),
        (
            "pool.web",
            "probe = { tcp = true, interval = \"300ms\" }",
            "pool.web.probe.fast-interval",
            "\"250ms\"",
        ),
        (
            "pool.web",
            "agent = { kind = \"text\", port = 9000, interval = \"100ms\" }",
            "pool.web.agent.timeout",
            "\"100ms\"",
        ),
        (
            "pool.web",
            "agent = { kind = \"text\", port = 9000, interval = \"1m\" }",
            "pool.web.agent.max-age",
            "\"3m\"",
        ),
        ("pool.web", "retry = { back-off = \"41s\" }", "pool.web.retry.max-back-off", "\"41s\""),
        (
            "pool.web",
            "http2 = { mode = \"prefer\", window = \"64MiB\" }",
            "pool.web.http2.max-window",
            "\"64MiB\"",
        ),
        (
            "service.shop",
            "http2 = { window = \"64MiB\" }",
            "service.shop.http2.max-window",
            "\"64MiB\"",
        ),
        (
            "service.shop",
            "limit = { header-bytes = \"4KiB\" }",
            "service.shop.limit.target-bytes",
            "\"4KiB\"",
        ),
    ] {
        let (table, own) = line.split_once(" = { ").unwrap();
        let text = format!(
            "{BASE}[{owner}.{table}]\n{}\n",
            own.trim_end_matches(" }").replace(", ", "\n")
        );
        let checked = good(&text);
        let entries = checked.origins.entries();
        let entry =
            entries.iter().find(|entry| entry.key == key).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(entry.value, value, "{line}: {key}");
    }
}

/// A key that accepts a list also accepts the list as short form of its table.
#[test]
fn lists_stand_for_tables_whose_short_form_takes_them() {
    let tls = "[service.t]\nlisten = \":9\"\nforward = \"http\"\npool = \"web\"\n";
    for line in [
        "tls = [\"/a.pem\", \"/b.pem\"]",
        "tls = { acme = [\"a.example\", \"b.example\"] }",
        "accept-proxy = [\"10.0.0.0/8\", \"::/0\"]",
        "edit = [{ when-response = [200, \"500-599\"], rewrite = { response-remove = \"x\" } }]",
    ] {
        good(&format!("{BASE}{tls}{line}\n"));
    }
    let reference =
        std::fs::read_to_string(crate::support::repository("docs/reference/configuration.md"))
            .unwrap();
    let promised = reference
        .lines()
        .filter(|line| line.contains("| a table; or ") && line.contains(", or a list of them"));
    let promised: Vec<&str> = promised.filter_map(|line| line.split('`').nth(1)).collect();
    for key in promised {
        assert!(
            ["tls", "accept-proxy", "acme", "reach", "when-response"].contains(&key),
            "try a list for {key} here"
        );
    }
}

#[test]
fn without_a_socket_everything_else_of_control_stays() {
    let of = |text: &str| {
        model::config::load(&format!("[global]\n{text}\n"), "f").unwrap().config.global.control
    };
    let on = of("");
    for off in ["control = \"off\"", "control = { socket = \"off\" }"] {
        let found = of(off);
        assert_eq!((found.socket.as_ref(), &found.state), (None, &on.state), "{off}");
        assert_eq!((found.generations, found.audit), (on.generations, on.audit), "{off}");
    }
}
