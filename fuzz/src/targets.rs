//! The list of targets: each with the code that it covers and what feeds it.

use ::convert::dialect::Dialect;

use crate::mutate::HTTP_WORDS;
use crate::target::Target;
use crate::{
    beat, config, connection, convert, dialogue, hello, history, http1, http2, http3, names, patch,
    path, proxy, replica, trace, vrrp,
};

const HTTP1: &[&str] = &["crates/wire/src/http1", "fuzz/src/http1.rs"];
const HTTP2: &[&str] = &["crates/wire/src/http2", "crates/wire/src/http1", "fuzz/src/http2.rs"];
const HTTP3: &[&str] = &["crates/wire/src/http3", "crates/wire/src/http1", "fuzz/src/http3.rs"];
const PROBE: &[&str] = &["crates/probe/src", "fuzz/src/dialogue.rs", "Cargo.lock#h2"];
const AGENT: &[&str] = &["crates/probe/src", "crates/model/src/load", "fuzz/src/dialogue.rs"];
const TRACE: &[&str] = &["crates/trace/src", "fuzz/src/trace.rs", "Cargo.lock#flate2"];
const HISTORY: &[&str] =
    &["crates/model/src/history.rs", "crates/daemon/src/history/digest.rs", "fuzz/src/history.rs"];
const CONFIG: &[&str] = &["crates/model/src/config", "fuzz/src/config.rs", "Cargo.lock#toml"];
const VRRP: &[&str] = &[
    "crates/ha/src/advert.rs",
    "crates/ha/src/frame.rs",
    "crates/ha/src/machine.rs",
    "crates/ha/src/machine",
    "fuzz/src/vrrp.rs",
];
const BEAT: &[&str] = &[
    "crates/ha/src/beat.rs",
    "crates/ha/src/hearing.rs",
    "crates/ha/src/hearing",
    "crates/ha/src/keys.rs",
    "fuzz/src/beat.rs",
];
const REPLICA: &[&str] = &["crates/ha/src/replica", "crates/ha/src/keys.rs", "fuzz/src/replica.rs"];
const PROXY: &[&str] = &["crates/wire/src/proxy", "fuzz/src/proxy.rs"];
const HELLO: &[&str] = &["crates/wire/src/hello.rs", "fuzz/src/hello.rs"];
const PATH: &[&str] = &["crates/model/src/path.rs", "crates/model/src/path", "fuzz/src/path.rs"];
const CONNECTION: &[&str] = &[
    "crates/l7/src",
    "crates/wire/src",
    "crates/model/src/rules",
    "crates/model/src/affinity",
    "fuzz/src/connection.rs",
    "Cargo.lock#h2",
];
const PATCH: &[&str] = &[
    "crates/model/src/config/patch.rs",
    "crates/model/src/config/patch",
    "crates/model/src/config/tree.rs",
    "fuzz/src/patch.rs",
    "Cargo.lock#toml_edit",
];
const CONVERT: &[&str] = &["crates/convert/src", "fuzz/src/convert.rs"];
const NAMES: &[&str] = &["crates/names/src", "fuzz/src/names.rs"];

/// Every target.
pub fn all() -> Vec<Target> {
    let mut all = requests();
    all.extend(probes());
    all.extend(files());
    all.extend(members());
    all
}

/// The target of this name.
pub fn find(name: &str) -> Option<Target> {
    all().into_iter().find(|target| target.name == name)
}

/// What clients and servers send.
fn requests() -> Vec<Target> {
    let http = |target: Target| target.words(HTTP_WORDS);
    vec![
        http(Target::new("http1_request", http1::request, HTTP1, http1::request_seeds())),
        http(Target::new("http1_response", http1::response, HTTP1, http1::response_seeds())),
        http(Target::new("chunked", http1::chunked, HTTP1, http1::chunked_seeds()).runs(40_000)),
        http(Target::new("http2_request", http2::request, HTTP2, http2::request_seeds())),
        http(Target::new("http2_answer", http2::answer, HTTP2, http2::answer_seeds())),
        Target::new("http2_frames", http2::frames, HTTP2, http2::frames_seeds()).runs(40_000),
        http(Target::new("http3_request", http3::request, HTTP3, http3::request_seeds())),
        http(Target::new("http3_block", http3::block, HTTP3, http3::block_seeds()).runs(40_000)),
        Target::new("http3_one_way", http3::one_way, HTTP3, http3::one_way_seeds()),
        Target::new("proxy_header", proxy::header, PROXY, proxy::seeds())
            .words(proxy::WORDS)
            .runs(40_000)
            .longest(600),
        Target::new("hello", hello::any, HELLO, hello::any_seeds()),
        Target::new("hello_extensions", hello::extensions, HELLO, hello::extensions_seeds()),
        Target::new("path", path::read, PATH, path::seeds()).words(path::WORDS).longest(200),
        http(Target::new("connection", connection::any, CONNECTION, connection::any_seeds()))
            .runs(200),
        Target::new("connection_http2", connection::frames, CONNECTION, connection::frames_seeds())
            .runs(200),
        Target::new("names_query", names::query, NAMES, names::seeds())
            .words(names::WORDS)
            .longest(600),
    ]
}

/// What servers say to probes, by protocol, and agents.
fn probes() -> Vec<Target> {
    let agents = Target::new("agents", dialogue::agent, AGENT, dialogue::agent_seeds());
    let mut all = vec![agents.words(dialogue::WORDS).runs(10_000)];
    for (name, protocol) in dialogue::protocols() {
        // HTTP/2 takes a whole connection to say anything.
        let runs = if matches!(protocol.kind.name(), "http2" | "grpc") { 300 } else { 2_000 };
        let kind = protocol.kind;
        let judge = move |bytes: &[u8]| dialogue::talk(&kind, bytes);
        let target = Target::new(&format!("probe_{name}"), judge, PROBE, protocol.seeds);
        all.push(target.words(dialogue::WORDS).runs(runs));
    }
    all
}

/// What is read from files and texts.
fn files() -> Vec<Target> {
    let capture = |name, seeds| {
        let target = Target::new(name, trace::capture, TRACE, seeds);
        target.words(trace::WORDS).runs(2_000).longest(16_384)
    };
    let history = |name, judge: fn(&[u8])| {
        Target::new(name, judge, HISTORY, history::seeds()).words(history::WORDS).runs(10_000)
    };
    let convert = |dialect: Dialect| {
        let judge = move |bytes: &[u8]| convert::text(dialect, bytes);
        let name = format!("convert_{}", dialect.name());
        Target::new(&name, judge, CONVERT, convert::seeds(dialect)).runs(400).longest(16_384)
    };
    let mut all = vec![
        Target::new("config", config::load, CONFIG, config::seeds())
            .words(config::WORDS)
            .runs(400)
            .longest(20_000),
        capture("capture_pcap", trace::pcap_seeds()),
        capture("capture_pcapng", trace::pcapng_seeds()),
        capture("capture_gzip", trace::gzip_seeds()),
        history("history_file", history::file),
        history("history_records", history::records),
        Target::new("patch", patch::merge, PATCH, patch::seeds()).words(patch::WORDS).runs(5_000),
    ];
    all.extend(Dialect::ALL.map(convert));
    all
}

/// What members that share an address say to each other.
fn members() -> Vec<Target> {
    vec![
        Target::new("vrrp_frames", vrrp::frame, VRRP, vrrp::seeds()).runs(40_000).longest(600),
        Target::new("vrrp_talk", vrrp::talk, VRRP, vrrp::seeds()),
        Target::new("beat_packets", beat::packet, BEAT, beat::seeds()).runs(40_000).longest(1_500),
        Target::new("beat_talk", beat::talk, BEAT, beat::talks()).runs(10_000),
        Target::new("replica_packets", replica::packet, REPLICA, replica::seeds())
            .runs(40_000)
            .longest(1_500),
        Target::new("replica_talk", replica::talk, REPLICA, replica::talks()).runs(10_000),
    ]
}
