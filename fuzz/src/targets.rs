//! The list of targets, each with the covered code and its inputs.

use std::sync::LazyLock;

use ::convert::dialect::Dialect;

use crate::mutate::HTTP_WORDS;
use crate::target::FuzzTarget;
use crate::{
    beat, config, connection, convert, dialogue, hello, history, http1, http2, http2_machine,
    http3, names, patch, path, proxy, replica, trace, vrrp,
};

const HTTP1: &[&str] = &["crates/wire/src/http1", "fuzz/src/http1.rs"];
const HTTP2: &[&str] = &["crates/wire/src/http2", "crates/wire/src/http1", "fuzz/src/http2.rs"];
const HTTP2_MACHINE: &[&str] = &["crates/wire/src/http2", "fuzz/src/http2_machine.rs"];
const HTTP3: &[&str] = &["crates/wire/src/http3", "crates/wire/src/http1", "fuzz/src/http3.rs"];
const PROBE: &[&str] = &["crates/probe/src", "crates/wire/src/http2", "fuzz/src/dialogue.rs"];
const AGENT: &[&str] =
    &["crates/probe/src", "crates/model/src/load_report", "fuzz/src/dialogue.rs"];
const TRACE: &[&str] = &["crates/trace/src", "fuzz/src/trace.rs", "Cargo.lock#flate2"];
const HISTORY: &[&str] = &[
    "crates/model/src/history.rs",
    "crates/daemon/src/observability/history/digest.rs",
    "fuzz/src/history.rs",
];
const CONFIG: &[&str] = &["crates/model/src/config", "fuzz/src/config.rs", "Cargo.lock#toml"];
const VRRP: &[&str] = &[
    "crates/ha/src/advert.rs",
    "crates/ha/src/frame.rs",
    "crates/ha/src/state_machine.rs",
    "crates/ha/src/state_machine",
    "fuzz/src/vrrp.rs",
];
const BEAT: &[&str] = &[
    "crates/ha/src/heartbeat.rs",
    "crates/ha/src/peer_link.rs",
    "crates/ha/src/peer_link",
    "crates/ha/src/keys.rs",
    "fuzz/src/beat.rs",
];
const REPLICA: &[&str] = &["crates/ha/src/replica", "crates/ha/src/keys.rs", "fuzz/src/replica.rs"];
const PROXY: &[&str] = &["crates/wire/src/proxy_protocol", "fuzz/src/proxy.rs"];
const HELLO: &[&str] = &["crates/wire/src/client_hello.rs", "fuzz/src/hello.rs"];
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
    "crates/model/src/config/toml_tree.rs",
    "fuzz/src/patch.rs",
    "Cargo.lock#toml_edit",
];
const CONVERT: &[&str] = &["crates/convert/src", "fuzz/src/convert.rs"];
const NAMES: &[&str] = &["crates/names/src", "fuzz/src/names.rs"];

/// All targets. Their seeds are made once in a process, because compressing and converting them takes seconds.
pub fn all() -> &'static [FuzzTarget] {
    static ALL: LazyLock<Vec<FuzzTarget>> = LazyLock::new(|| {
        let mut all = requests();
        all.extend(probes());
        all.extend(files());
        all.extend(members());
        all
    });
    &ALL
}

/// The target of this name.
pub fn find(name: &str) -> Option<&'static FuzzTarget> {
    all().iter().find(|target| target.name == name)
}

/// Bytes from clients and servers.
fn requests() -> Vec<FuzzTarget> {
    let http = |target: FuzzTarget| target.with_dictionary(HTTP_WORDS);
    vec![
        http(FuzzTarget::new("http1_request", http1::request, HTTP1, http1::request_seeds())),
        http(FuzzTarget::new("http1_response", http1::response, HTTP1, http1::response_seeds())),
        http(
            FuzzTarget::new("chunked", http1::chunked, HTTP1, http1::chunked_seeds())
                .with_runs(40_000),
        ),
        http(FuzzTarget::new("http2_request", http2::request, HTTP2, http2::request_seeds())),
        http(FuzzTarget::new("http2_answer", http2::answer, HTTP2, http2::answer_seeds())),
        FuzzTarget::new(
            "http2_blocks",
            http2_machine::blocks,
            HTTP2_MACHINE,
            http2_machine::blocks_seeds(),
        ),
        FuzzTarget::new(
            "http2_machine",
            http2_machine::machine,
            HTTP2_MACHINE,
            http2_machine::machine_seeds(),
        )
        .with_runs(2_000),
        http(FuzzTarget::new("http3_request", http3::request, HTTP3, http3::request_seeds())),
        http(
            FuzzTarget::new("http3_block", http3::block, HTTP3, http3::block_seeds())
                .with_runs(40_000),
        ),
        FuzzTarget::new("http3_one_way", http3::one_way, HTTP3, http3::one_way_seeds()),
        FuzzTarget::new("proxy_header", proxy::header, PROXY, proxy::seeds())
            .with_dictionary(proxy::WORDS)
            .with_runs(40_000)
            .with_max_bytes(600),
        FuzzTarget::new("hello", hello::any, HELLO, hello::any_seeds()),
        FuzzTarget::new("hello_extensions", hello::extensions, HELLO, hello::extensions_seeds()),
        FuzzTarget::new("path", path::read, PATH, path::seeds())
            .with_dictionary(path::WORDS)
            .with_max_bytes(200),
        http(FuzzTarget::new("connection", connection::any, CONNECTION, connection::any_seeds()))
            .with_runs(200),
        FuzzTarget::new(
            "connection_http2",
            connection::frames,
            CONNECTION,
            connection::frames_seeds(),
        )
        .with_runs(200),
        FuzzTarget::new("names_query", names::query, NAMES, names::seeds())
            .with_dictionary(names::WORDS)
            .with_max_bytes(600),
    ]
}

/// Responses of servers to health checks, by protocol, and of agents.
fn probes() -> Vec<FuzzTarget> {
    let agents = FuzzTarget::new("agents", dialogue::agent, AGENT, dialogue::agent_seeds());
    let mut all = vec![agents.with_dictionary(dialogue::WORDS).with_runs(10_000)];
    for (name, protocol) in dialogue::protocols() {
        // Fewer runs, because HTTP/2 needs a whole connection before it responds.
        let runs = if matches!(protocol.kind.name(), "http2" | "grpc") { 300 } else { 2_000 };
        let kind = protocol.kind;
        let judge = move |bytes: &[u8]| dialogue::talk(&kind, bytes);
        let target = FuzzTarget::new(&format!("probe_{name}"), judge, PROBE, protocol.seeds);
        all.push(target.with_dictionary(dialogue::WORDS).with_runs(runs));
    }
    all
}

/// Files and texts.
fn files() -> Vec<FuzzTarget> {
    let capture = |name, seeds| {
        let target = FuzzTarget::new(name, trace::capture, TRACE, seeds);
        target.with_dictionary(trace::WORDS).with_runs(2_000).with_max_bytes(16_384)
    };
    let history = |name, judge: fn(&[u8])| {
        FuzzTarget::new(name, judge, HISTORY, history::seeds())
            .with_dictionary(history::WORDS)
            .with_runs(10_000)
    };
    let convert = |dialect: Dialect| {
        let judge = move |bytes: &[u8]| convert::text(dialect, bytes);
        let name = format!("convert_{}", dialect.name());
        FuzzTarget::new(&name, judge, CONVERT, convert::seeds(dialect))
            .with_runs(400)
            .with_max_bytes(16_384)
    };
    let mut all = vec![
        FuzzTarget::new("config", config::load, CONFIG, config::seeds())
            .with_dictionary(config::WORDS)
            .with_runs(400)
            .with_max_bytes(20_000),
        capture("capture_pcap", trace::pcap_seeds()),
        capture("capture_pcapng", trace::pcapng_seeds()),
        capture("capture_gzip", trace::gzip_seeds()),
        capture("capture_zstd", trace::zstd_seeds()),
        capture("capture_lz4", trace::lz4_seeds()),
        history("history_file", history::file),
        history("history_records", history::records),
        FuzzTarget::new("patch", patch::merge, PATCH, patch::seeds())
            .with_dictionary(patch::WORDS)
            .with_runs(5_000),
    ];
    all.extend(Dialect::ALL.map(convert));
    all
}

/// Messages between members that share an address.
fn members() -> Vec<FuzzTarget> {
    vec![
        FuzzTarget::new("vrrp_frames", vrrp::frame, VRRP, vrrp::seeds())
            .with_runs(40_000)
            .with_max_bytes(600),
        FuzzTarget::new("vrrp_talk", vrrp::run_member, VRRP, vrrp::seeds()),
        FuzzTarget::new("beat_packets", beat::packet, BEAT, beat::seeds())
            .with_runs(40_000)
            .with_max_bytes(1_500),
        FuzzTarget::new("beat_talk", beat::run_member, BEAT, beat::talk_seeds()).with_runs(10_000),
        FuzzTarget::new("replica_packets", replica::packet, REPLICA, replica::seeds())
            .with_runs(40_000)
            .with_max_bytes(1_500),
        FuzzTarget::new("replica_talk", replica::run_partner, REPLICA, replica::talk_seeds())
            .with_runs(10_000),
    ]
}
