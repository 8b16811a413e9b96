//! Each kind of mistake as a row: the text, the key of the finding, a part of its message, and the suggestion.

use super::support::{BASE, errors, findings};

pub(super) struct MistakeRow {
    /// Added behind the good file, or standing alone where it has a service.
    text: &'static str,
    key: &'static str,
    says: &'static str,
    suggests: Option<&'static str>,
}

pub(super) const fn row(text: &'static str, key: &'static str, says: &'static str) -> MistakeRow {
    MistakeRow { text, key, says, suggests: None }
}

pub(super) const fn near(
    text: &'static str,
    key: &'static str,
    says: &'static str,
    meant: &'static str,
) -> MistakeRow {
    MistakeRow { text, key, says, suggests: Some(meant) }
}

/// A service `s` beside the valid one.
macro_rules! service {
    ($keys:literal) => {
        concat!(
            "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\n",
            $keys
        )
    };
}
pub(super) use service;
macro_rules! tcp {
    ($keys:literal) => {
        concat!("[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"tcp\"\npool = \"web\"\n", $keys)
    };
}
/// A pool `p` beside the valid one.
macro_rules! pool {
    ($keys:literal) => {
        concat!("[pool.p]\nservers = [\"10.0.0.9:80\"]\n", $keys)
    };
}

const KEYS: &[MistakeRow] = &[
    near("[services.x]\n", "services", "is not a key of", "service"),
    near("[global]\nthreads = 2\n", "global.threads", "`threads` is not a key", "workers"),
    near(service!("time_out = 1\n"), "service.s.time_out", "is not a key of", "timeout"),
    near(pool!("braker = 1\n"), "pool.p.braker", "is not a key of", "circuit-breaker"),
    near(pool!("jugde = true\n"), "pool.p.jugde", "is not a key of", "dynamic-weights"),
    row(service!("\"\\u0000 x\" = 1\n"), "service.s.\"\\u0000 x\"", "is not a key of"),
    row(
        service!("rule = [{ pool = \"elsewhere\" }]\n"),
        "service.s.rule[0].pool",
        "there is no pool",
    ),
    row(service!("accept-proxy = {}\n"), "service.s.accept-proxy.from", "needs `from`"),
    row(service!("accept-proxy = true\n"), "service.s.accept-proxy", ""),
    row(service!("compress = { types = \"json\" }\n"), "service.s.compress.types", ""),
    row(tcp!("compress = true\n"), "service.s.compress", "belongs to `forward = \"http\"`"),
    row(
        pool!("send-proxy = \"v2\"\nhttp2 = \"prefer\"\n"),
        "pool.p.send-proxy",
        "exclude each other",
    ),
    row(
        service!("[[service.s.rule]]\nzzzzzz = \"web\"\n"),
        "service.s.rule[0].zzzzzz",
        "is not a key of",
    ),
    row(service!("tls = { certificates = \"/a\", acme = true }\n"), "service.s.tls.acme", ""),
    row(
        service!("tls = \"a.pem\"\n"),
        "service.s.tls.certificates",
        "where the daemon was started",
    ),
    row(
        service!("tls = { certificates = \"/a\", policy = \"modern\", minimum = \"1.2\" }\n"),
        "service.s.tls.minimum",
        "contradicts",
    ),
    near(service!("sticky = \"1\"\n"), "service.s.sticky", "unit", "\"1s\""),
    row(
        service!("http2 = { window = \"1MiB\", max-window = \"512KiB\" }\n"),
        "service.s.http2.max-window",
        "is less than `window`",
    ),
    row(
        pool!("http2 = { mode = \"only\", window = \"8MiB\", max-window = \"4MiB\" }\n"),
        "pool.p.http2.max-window",
        "is less than `window`",
    ),
    row(
        service!("http3 = { window = \"1MiB\", max-window = \"512KiB\" }\n"),
        "service.s.http3.max-window",
        "is less than",
    ),
    row(service!("http3 = \"on\"\n"), "service.s.http3.offer", "always encrypted"),
    row(tcp!("http2 = \"off\"\n"), "service.s.http2", "http"),
    row(service!("balance = \"random\"\n"), "service.s.balance", "the pool's"),
    row(service!("timeout = { connect = \"1s\" }\n"), "service.s.timeout.connect", "the pool's"),
    row(pool!("sticky = \"x\"\n"), "pool.p.sticky", "keeping clients is the service's"),
    row(pool!("fin-timeout = \"30s\"\n"), "pool.p.fin-timeout", "in the service"),
    row(pool!("socket = { backlog = 10 }\n"), "pool.p.socket.backlog", "socket` of a service"),
    row(
        pool!("socket = { defer-accept = \"1s\" }\n"),
        "pool.p.socket.defer-accept",
        "accepts nothing",
    ),
    row(pool!("timeout = { header = \"1s\" }\n"), "pool.p.timeout.header", "the service's"),
    row("[global.limit]\nconnections = 9\n", "global.limit.connections", "`[global]` itself"),
    row("[global.timeout]\ndrain = \"9s\"\n", "global.timeout.drain", "`[global]` itself"),
];

const VALUES: &[MistakeRow] = &[
    near("[global]\ndrain = 5\n", "global.drain", "the unit is missing", "\"5s\""),
    near("[global]\ndrain = \"5\"\n", "global.drain", "the unit is missing", "\"5s\""),
    row("[global]\ndrain = \"5 parsecs\"\n", "global.drain", "not a unit"),
    row("[global]\ndrain = \"25h\"\n", "global.drain", "too large"),
    row("[global]\ndrain = true\n", "global.drain", "a flag does not fit"),
    near("[global.limit]\nheader-bytes = 4096\n", "global.limit.header-bytes", "unit", "\"4KiB\""),
    row("[global.limit]\nheader-bytes = \"61KiB\"\n", "global.limit.header-bytes", "too large"),
    near("[global]\nworkers = \"2\"\n", "global.workers", "a string does not fit", "2"),
    near("[global]\nworkers = \"Auto\"\n", "global.workers", "a string", "\"auto\""),
    row("[global]\nworkers = -1\n", "global.workers", "negative"),
    row("[global]\nworkers = 1.5\n", "global.workers", "with a point"),
    row("[global]\nworkers = 99999999999999999999999\n", "global.workers", ""),
    near("[global]\naccess-log = \"stdeer\"\n", "global.access-log", "not a text", "\"stderr\""),
    near("[global]\ncontrol = { mode = 660 }\n", "global.control.mode", "octal", "\"0660\""),
    row("[global]\ncontrol = { mode = \"999\" }\n", "global.control.mode", "does not fit"),
    row("[global]\ncontrol = \"x\"\n", "global.control", "a string is not the control table"),
    near("[global.socket]\nnodelay = \"true\"\n", "global.socket.nodelay", "a string", "true"),
    row("[global.socket]\nmss = 87\n", "global.socket.mss", "too small"),
    row("[global.socket]\nmss = 65496\n", "global.socket.mss", "too large"),
    row("[global.socket]\ncongestion = \"no such\"\n", "global.socket.congestion", "not a text"),
    row(
        "[global.socket]\ninterface = \"abcdefghijklmnop\"\n",
        "global.socket.interface",
        "not a text",
    ),
    row(
        "[global.socket]\npath = { rate = \"1Mbit/s\" }\n",
        "global.socket.path.round-trip",
        "needs",
    ),
    near("[global.socket]\npath = { rate = 5 }\n", "global.socket.path.rate", "unit", "\"5bit/s\""),
    row(
        "[global.socket]\nkeep-alive = { idle = \"1500ms\" }\n",
        "global.socket.keep-alive.idle",
        "whole seconds",
    ),
    near(
        service!("forwarded = { x-forwarded = \"apend\" }\n"),
        "service.s.forwarded.x-forwarded",
        "not a word",
        "\"append\"",
    ),
    near(pool!("balance = \"round_robin\"\n"), "pool.p.balance", "not a word", "\"round-robin\""),
    row(pool!("balance = []\n"), "pool.p.balance", "a list is not a balance"),
    near(pool!("probe = \"tpc\"\n"), "pool.p.probe", "a string is not a probe", "\"tcp\""),
    near(
        pool!("probe = { http = \"healthz\" }\n"),
        "pool.p.probe.http",
        "not a text",
        "\"/healthz\"",
    ),
    row(pool!("probe = { http = \"/\", status = 99 }\n"), "pool.p.probe.status", "not a status"),
    row(
        pool!("probe = { http = \"/\", status = \"399-200\" }\n"),
        "pool.p.probe.status",
        "not a status",
    ),
    row(pool!("probe = { http = \"/\", status = [] }\n"), "pool.p.probe.status", "1 to 64"),
    row(pool!("probe = { tcp = true, jitter = 51 }\n"), "pool.p.probe.jitter", "too large"),
    row(pool!("probe = { tcp = true, port = 0 }\n"), "pool.p.probe.port", "too small"),
    row(pool!("weight = 257\n"), "pool.p.weight", "too large"),
    row(pool!("source = \"10.0.0.300\"\n"), "pool.p.source", "not an address"),
    row(pool!("source = \"localhost\"\n"), "pool.p.source", "is a name"),
    row(pool!("source = [\"10.0.0.2\", \"10.0.0.2\"]\n"), "pool.p.source", "twice"),
    row(pool!("source = \"0.0.0.0\"\n"), "pool.p.source", "nothing can be sent"),
];

const ADDRESSES: &[MistakeRow] = &[
    near(
        service!("rule = [{ when = { host = \"bücher.example\" }, pool = \"web\" }]\n"),
        "service.s.rule[0].when.host",
        "not a text that fits here",
        "\"xn--bcher-kva.example\"",
    ),
    near(
        "[pool.p]\nservers = [\"b\u{fc}cher.example:80\"]\n",
        "pool.p.servers[0]",
        "is neither an address nor a name",
        "\"xn--bcher-kva.example:80\"",
    ),
    near("[service.s]\nlisten = 80\n", "service.s.listen", "not an address", "\":80\""),
    near("[service.s]\nlisten = \"80\"\n", "service.s.listen", "port is missing", "\":80\""),
    near("[service.s]\nlisten = \"*:80\"\n", "service.s.listen", "`*` is not", "\":80\""),
    row("[service.s]\nlisten = []\n", "service.s.listen", "nothing to listen on"),
    row("[service.s]\nlisten = \"10.0.0.1:0\"\n", "service.s.listen", "port 0"),
    row("[service.s]\nlisten = \"10.0.0.1:65536\"\n", "service.s.listen", "1 to 65535"),
    row("[service.s]\nlisten = \"10.0.0.1:+80\"\n", "service.s.listen", "1 to 65535"),
    row("[service.s]\nlisten = \"shop.example:80\"\n", "service.s.listen", "is a name"),
    row("[service.s]\nlisten = \"224.0.0.1:80\"\n", "service.s.listen", "one machine"),
    near(
        "[service.s]\nlisten = \"2001:db8::1\"\n",
        "service.s.listen",
        "brackets",
        "\"[2001:db8::1]:80\"",
    ),
    near(
        "[service.s]\nlisten = \"[::ffff:1.2.3.4]:80\"\n",
        "service.s.listen",
        "IPv6 form",
        "1.2.3.4",
    ),
    near(
        "[service.s]\nlisten = \"http://1.2.3.4:80/\"\n",
        "service.s.listen",
        "scheme",
        "\"1.2.3.4:80\"",
    ),
    row("[pool.p]\nservers = [\"10.0.0.1\"]\n", "pool.p.servers[0]", "port is missing"),
    row(
        "[pool.p]\nservers = [\"10.0.0:80\"]\n",
        "pool.p.servers[0]",
        "neither an address nor a name",
    ),
    row("[pool.p]\nservers = [\"0.0.0.0:80\"]\n", "pool.p.servers[0]", "no server can be at"),
    row("[pool.p]\nservers = [\"a b:80\"]\n", "pool.p.servers[0]", "neither an address nor a name"),
    row("[pool.p]\nservers = [\"ok:80\", 7]\n", "pool.p.servers[1]", "not the address"),
    row("[pool.p]\nservers = [[\"ok:80\"]]\n", "pool.p.servers[0]", "a list is not a server"),
    row("[pool.p]\nservers = true\n", "pool.p.servers", "not a list"),
    row("[pool.p]\nservers = [{ name = \"a\" }]\n", "pool.p.servers[0].address", "needs `address`"),
    near(
        "[pool.p]\nservers = [{ name = \"A b\", address = \"x:1\" }]\n",
        "pool.p.servers[0].name",
        "kebab-case",
        "a-b",
    ),
    near("[pool.\"My Pool\"]\nservers = [\"x:1\"]\n", "pool.\"My Pool\"", "kebab-case", "my-pool"),
    near("[pool.a--b]\nservers = [\"x:1\"]\n", "pool.a--b", "kebab-case", "a-b"),
    row("[service.s]\n", "service.s.listen", "needs `listen`"),
    row("[service.s]\n", "service.s.forward", "needs `forward`"),
    row("[service.s]\n", "service.s.pool", "needs `pool`"),
    row("[pool.p]\n", "pool.p.servers", "needs `servers`"),
    row("[pool.p]\nservers = []\n", "pool.p.servers", "no server"),
];

const RELATIONS: &[MistakeRow] = &[
    near("[service.s]\npool = \"wbe\"\n", "service.s.pool", "no pool `wbe`", "\"web\""),
    row(
        "[service.s]\nlisten = \"127.0.0.1:8080\"\n",
        "service.s.listen",
        "already taken by `service.shop.listen`",
    ),
    row(
        "[service.s]\nlisten = [\"1.1.1.1:1\", \"1.1.1.1:1\"]\n",
        "service.s.listen",
        "already taken",
    ),
    row("[global]\nmetrics = \"127.0.0.1:8080\"\n", "global.metrics.listen", "already taken"),
    row(
        "[global]\ncontrol = { listen = \"127.0.0.1:8080\" }\n",
        "global.control.listen",
        "already taken",
    ),
    row(
        "[global]\ncontrol = { listen = \"192.0.2.1:1\", tokens = \"/t\" }\n",
        "global.control.listen",
        "has no `certificate`",
    ),
    row(
        "[global]\ncontrol = { listen = \"0.0.0.0:1\", certificate = \"/c\" }\n",
        "global.control.listen",
        "has no `tokens`",
    ),
    row(
        "[global]\ncontrol = { tokens = \"/t\" }\n",
        "global.control.tokens",
        "not served over TCP",
    ),
    row(tcp!("timeout = { header = \"1s\" }\n"), "service.s.timeout.header", "forwards bytes"),
    row(tcp!("timeout = { total = \"off\" }\n"), "service.s.timeout.total", "forwards bytes"),
    row(tcp!("limit = { header-count = 3 }\n"), "service.s.limit.header-count", "forwards bytes"),
    row(tcp!("forwarded = { via = false }\n"), "service.s.forwarded", "forwards bytes"),
    row(
        service!("limit = { target-bytes = \"33KiB\" }\n"),
        "service.s.limit.target-bytes",
        "does not fit",
    ),
    row(
        service!("limit = { header-bytes = \"4KiB\", target-bytes = \"5KiB\" }\n"),
        "service.s.limit.target-bytes",
        "does not fit",
    ),
    row("[global.limit]\ntarget-bytes = \"33KiB\"\n", "global.limit.target-bytes", "does not fit"),
    row(pool!("probe = { tcp = true, http = \"/\" }\n"), "pool.p.probe.http", "exclude each other"),
    row(pool!("probe = { tcp = true, host = \"x\" }\n"), "pool.p.probe.host", "means nothing"),
    row(pool!("probe = { interval = \"5s\" }\n"), "pool.p.probe", "does not say what to do"),
    row(pool!("probe = { tcp = false }\n"), "pool.p.probe.tcp", "only be true"),
    row(
        pool!("probe = { tcp = true, interval = \"500ms\", timeout = \"1s\" }\n"),
        "pool.p.probe.timeout",
        "`timeout` (1s) is longer",
    ),
    row(
        pool!("probe = { tcp = true, fast-interval = \"3s\" }\n"),
        "pool.p.probe.fast-interval",
        "longer than `interval`",
    ),
    row(pool!("initial = \"down\"\n"), "pool.p.initial", "needs a probe"),
    row(pool!("initial = \"unknown\"\n"), "pool.p.initial", "needs a probe"),
    near(
        pool!("balance = { by = \"maglev\", size = 16384 }\n"),
        "pool.p.balance.size",
        "not a prime",
        "16411",
    ),
    row(pool!("balance = { by = \"random\", size = 251 }\n"), "pool.p.balance.size", "belongs to"),
    row(pool!("balance = { by = \"maglev\", mask4 = 24 }\n"), "pool.p.balance.mask4", "belongs to"),
    row(pool!("balance = { size = 251 }\n"), "pool.p.balance.size", "belongs to"),
    row(pool!("source = \"2001:db8::1\"\n"), "pool.p.source", "none has an IPv6 address"),
    row(
        pool!("source = \"10.0.0.2\"\nsocket = { transparent = true }\n"),
        "pool.p.source",
        "exclude",
    ),
    row("[pool.p]\nservers = [\"a:1\", \"a:1\"]\n", "pool.p.servers[1].name", "both named `a-1`"),
    row(
        "[pool.p]\nbalance = { by = \"maglev\", size = 3 }\nservers = [\"a:1\", \"b:1\", \"c:1\", \"d:1\"]\n",
        "pool.p.balance.size",
        "no room for 4 servers",
    ),
    row(
        "[pool.p]\nprobe = { http = \"/\", interval = \"5s\" }\nservers = [{ address = \"a:1\", probe = { timeout = \"6s\" } }]\n",
        "pool.p.servers[0].probe.timeout",
        "longer than `interval`",
    ),
];

#[test]
fn unknown_and_refused_keys_are_named() {
    check_rows(KEYS);
}

#[test]
fn wrong_values_are_named() {
    check_rows(VALUES);
}

#[test]
fn wrong_addresses_and_names_are_named() {
    check_rows(ADDRESSES);
}

#[test]
fn contradictions_are_named() {
    check_rows(RELATIONS);
}

#[test]
fn a_service_without_tables_of_its_own_is_shown_the_form() {
    let found = errors("[service]\nlisten = \":80\"\n");
    assert!(
        found.iter().any(|f| f.key == "service.listen"
            && f.expected.as_deref() == Some("tables `[service.NAME]`"))
    );
    let found = errors("service = 3\n");
    assert!(found.iter().any(|f| f.key == "service" && f.line == 1));
}

#[test]
fn a_broken_value_is_reported_once_and_not_checked_further() {
    for text in [
        pool!("probe = { tcp = true, timeout = 3, interval = \"500ms\" }\n"),
        "[pool.p]\nservers = 3\n",
        pool!("balance = { by = \"nonsense\", size = 251 }\n"),
        "[pool.p]\nservers = [{ address = \"x\", weight = 1 }]\n",
    ] {
        let text = format!("{BASE}{text}");
        assert_eq!(errors(&text).len(), 1, "{text}\n{:#?}", errors(&text));
    }
}

pub(super) fn check_rows(rows: &[MistakeRow]) {
    for MistakeRow { text, key, says, suggests } in rows {
        let text = format!("{BASE}{text}");
        let found = errors(&text);
        let about = found.iter().find(|f| f.key == *key && f.message.contains(says));
        let about = about.unwrap_or_else(|| panic!("{text}\n{:#?}", findings(&text)));
        assert_eq!(about.suggestion.as_deref(), *suggests, "{text}\n{about:#?}");
        let line = text.lines().nth(about.line as usize - 1).unwrap();
        assert!(about.column as usize <= line.chars().count() + 1, "{text}\n{about:#?}");
    }
}
