//! From settings in force to the checked configuration. Everything was judged before: this only changes the form.

mod balance;
mod buffer;
mod capture;
mod compress;
mod heartbeat;
mod http2;
mod http3;
mod inner;
mod link;
mod mptcp;
mod names;
mod objective;
mod operate;
mod packets;
mod probe;
mod proxy;
mod reserved;
mod resilience;
mod rules;
mod tls;
mod uplink;
mod vrrp;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::address::{Host, ServerAddress};
use super::checked::{
    AccessFormat, AccessLog, AccessTarget, Admin, AllDown, Config, Global, Initial, LenientAnswers,
    Limits, Pool, PoolLimits, PoolTimeouts, Server, Service, ServiceTimeouts, Weight,
};
use super::forward::Forward;
use super::forwarded::{Fanout, Forwarded};
use super::network_set::NetworkSet;
use super::operate::Control;
use super::path::{PathCase, PathNormalization};
use super::reserved::Reserved;
use super::resolve::Effective;
use super::section::Section;
use super::sight::Metrics;
use super::socket::{KeepAlive, PathHint, SocketOptions};
use inner::inner;
use reserved::reserve;

/// Build what `verify` has approved.
pub fn build(effective: &Effective) -> Config {
    let shared: BTreeSet<IpAddr> =
        effective.vrrp.iter().flat_map(|group| group.addresses("addresses")).copied().collect();
    let services = effective.services.iter().map(|section| {
        let mut service = service(section);
        service.socket.shared = service.listen.iter().any(|at| shared.contains(&at.ip()));
        (section.name.clone(), Arc::new(service))
    });
    let pools =
        effective.pools.iter().map(|section| (section.name.clone(), Arc::new(pool(section))));
    let groups =
        effective.vrrp.iter().map(|section| (section.name.clone(), Arc::new(vrrp::vrrp(section))));
    let heartbeats = effective
        .heartbeats
        .iter()
        .map(|section| (section.name.clone(), Arc::new(heartbeat::heartbeat(section))));
    let captures = effective
        .captures
        .iter()
        .map(|section| (section.name.clone(), Arc::new(capture::capture(section))));
    let bundles = effective
        .links
        .iter()
        .map(|section| (section.name.clone(), Arc::new(link::bundle(section))));
    let uplinks = effective
        .uplinks
        .iter()
        .map(|section| (section.name.clone(), Arc::new(uplink::uplink(section))));
    let zones =
        effective.zones.iter().map(names::zone).map(|zone| (zone.name.clone(), Arc::new(zone)));
    let hosts = effective.hosts.iter().map(|section| {
        let named = names::named(section, &effective.zones);
        (named.name.clone(), Arc::new(named))
    });
    let mut config = Config {
        global: global(&effective.global),
        packets: packets::packets(&effective.packets),
        services: services.collect::<BTreeMap<_, _>>(),
        pools: pools.collect::<BTreeMap<_, _>>(),
        vrrp: groups.collect::<BTreeMap<_, _>>(),
        heartbeats: heartbeats.collect::<BTreeMap<_, _>>(),
        captures: captures.collect::<BTreeMap<_, _>>(),
        links: bundles.collect::<BTreeMap<_, _>>(),
        mptcp: mptcp::mptcp(&effective.mptcp),
        outward: uplink::all(&effective.outward),
        uplinks: uplinks.collect::<BTreeMap<_, _>>(),
        name_server: names::server(&effective.names),
        zones: zones.collect::<BTreeMap<_, _>>(),
        names: hosts.collect::<BTreeMap<_, _>>(),
    };
    reserve(&mut config);
    config
}

fn global(section: &Section) -> Global {
    let path = |section: &Section, key: &str| PathBuf::from(section.text(key).unwrap_or_default());
    let metrics = section.table("metrics").and_then(|metrics| metrics.sockets("listen").first());
    Global {
        workers: section.count("workers"),
        connections: section.count("connections"),
        access_log: inner(section, "access-log", |log| AccessLog {
            all: log.flag("all"),
            format: match log.text("format") {
                Some("common") => AccessFormat::Common,
                _ => AccessFormat::Json,
            },
            target: match log.text("target") {
                Some("off") => AccessTarget::Off,
                Some("stdout") => AccessTarget::Stdout,
                Some("stderr") | None => AccessTarget::Stderr,
                Some(file) => AccessTarget::File(PathBuf::from(file)),
            },
        }),
        control: inner(section, "control", |control| Control {
            socket: path(control, "socket"),
            mode: control.number("mode"),
            state: path(control, "state"),
            write_back: operate::write_back(control),
            allow_programs: control.flag("allow-programs"),
            audit: control.number("audit"),
            generations: control.number("generations"),
            remote: operate::remote(control),
        }),
        metrics: metrics.map(|listen| Metrics { listen: *listen }),
        telemetry: section.table("telemetry").and_then(operate::telemetry),
        drain: section.span("drain"),
        sample: section.count("sample"),
        sticky_secret_file: section.text("sticky-secret-file").map(PathBuf::from),
        certificate_warning: section.span("certificate-warning"),
        hooks: section.list("hook").iter().map(operate::hook).collect(),
        history: section.table("history").map(operate::history),
    }
}

fn service(section: &Section) -> Service {
    let forward = match section.text("forward") {
        Some("tcp") => Forward::Tcp,
        Some("mac") => Forward::Mac,
        Some("tunnel") => Forward::Tunnel,
        Some("nat") => Forward::Nat,
        _ => Forward::Http,
    };
    Service {
        name: section.name.clone(),
        listen: if forward.packets() { Vec::new() } else { section.sockets("listen").to_vec() },
        forward,
        pool: section.text("pool").unwrap_or_default().to_owned(),
        timeout: inner(section, "timeout", |timeout| ServiceTimeouts {
            header: timeout.span("header"),
            idle: timeout.span("idle"),
            between_bytes: timeout.span("between-bytes"),
            whole: timeout.time("whole"),
            drain: timeout.span("drain"),
            tunnel: timeout.span("tunnel"),
        }),
        limit: inner(section, "limit", |limit| Limits {
            connections: limit.count("connections"),
            connections_per_client: limit.count("connections-per-client"),
            header_bytes: limit.number("header-bytes"),
            header_count: limit.number("header-count"),
            target_bytes: limit.number("target-bytes"),
            connection_bytes: limit.number("connection-bytes"),
        }),
        socket: inner(section, "socket", socket),
        trust: NetworkSet::new(section.prefixes("trust")),
        forwarded: inner(section, "forwarded", |forwarded| Forwarded {
            x_forwarded: fanout(forwarded.text("x-forwarded")),
            forwarded: fanout(forwarded.text("forwarded")),
            via: forwarded.flag("via"),
        }),
        packets: forward.packets().then(|| packets::service(section)),
        tls: section.table("tls").map(tls::service),
        rules: if forward.packets() {
            Vec::new()
        } else {
            section.list("rule").iter().map(rules::rule).collect()
        },
        path_normalization: PathNormalization::of(section.text("path-normalization")),
        path_case: PathCase::of(section.text("path-case")),
        sticky: section
            .table("sticky")
            .filter(|_| !forward.packets())
            .map(|sticky| rules::affinity(sticky, section.table("tls").is_some())),
        http2: inner(section, "http2", http2::service),
        http3: inner(section, "http3", http3::service),
        accept_proxy: section.table("accept-proxy").map(proxy::accept),
        buffer: inner(section, "buffer", buffer::buffer),
        compress: section.table("compress").map(compress::compress),
        priority: inner(section, "priority", resilience::precedence),
        objective: section.table("objective").map(objective::objective),
        reserved: Reserved::default(),
    }
}

fn fanout(word: Option<&str>) -> Fanout {
    match word {
        Some("append") => Fanout::Append,
        Some("replace") => Fanout::Replace,
        Some("remove") => Fanout::Remove,
        _ => Fanout::Keep,
    }
}

fn lenient(section: &Section) -> LenientAnswers {
    let has = |word| section.words("lenient-answers").contains(&word);
    LenientAnswers {
        repeated_length: has("repeated-length"),
        bare_lf: has("bare-lf"),
        space_before_colon: has("space-before-colon"),
    }
}

fn pool(section: &Section) -> Pool {
    let probe = section.table("probe").map(probe::probe);
    let servers = section.list("servers").iter().map(|section| Arc::new(server(section)));
    Pool {
        name: section.name.clone(),
        balance: inner(section, "balance", balance::balance),
        hash_on: balance::hash_on(section),
        judge: balance::judge(section),
        slow_start: section.time("slow-start"),
        spill_over: section.count("spill-over"),
        locality: balance::locality(section),
        initial: match section.text("initial") {
            Some("unknown") => Initial::Unknown,
            Some("down") => Initial::Down,
            _ => Initial::Up,
        },
        all_down: if section.text("all-down") == Some("spread") {
            AllDown::Spread
        } else {
            AllDown::Refuse
        },
        servers: servers.collect(),
        discovery: section.table("servers-from").map(operate::discovery),
        probe,
        agent: section.table("agent").map(probe::agent),
        timeout: inner(section, "timeout", |timeout| PoolTimeouts {
            connect: timeout.span("connect"),
            first_byte: timeout.span("first-byte"),
            stream: timeout.span("stream"),
            attempts: resilience::attempts(section, timeout),
            between_bytes: timeout.span("between-bytes"),
            queue: timeout.span("queue"),
            idle: timeout.span("idle"),
        }),
        limit: inner(section, "limit", |limit| PoolLimits {
            idle: limit.number("idle"),
            queue: limit.number("queue"),
            header_bytes: limit.number("header-bytes"),
            header_count: limit.number("header-count"),
        }),
        source: section.addresses("source").to_vec(),
        source_client: section.unset("source"),
        socket: inner(section, "socket", socket),
        retries: section.number("retries"),
        retry: inner(section, "retry", resilience::retry),
        eject: section.table("eject").map(resilience::eject),
        breaker: inner(section, "breaker", resilience::breaker),
        shed: section.table("shed").map(resilience::shed),
        hedge: section.table("hedge").map(resilience::hedge),
        tls: section.table("tls").map(tls::pool),
        http2: inner(section, "http2", http2::pool),
        send_proxy: proxy::send(section),
        lenient_answers: lenient(section),
    }
}

/// A server in force.
pub fn server(section: &Section) -> Server {
    let nowhere = || ServerAddress { host: Host::Name(String::new()), port: 0 };
    Server {
        name: section.text("name").unwrap_or_default().to_owned(),
        address: section.server("address").cloned().unwrap_or_else(nowhere),
        weight: section.count("weight").and_then(Weight::new).unwrap_or(Weight::ONE),
        priority: balance::priority(section),
        locality: balance::locality(section),
        admin: match section.text("state") {
            Some("drain") => Admin::Drain,
            Some("disabled") => Admin::Disabled,
            _ => Admin::Enabled,
        },
        schedule: section.list("schedule").iter().filter_map(operate::scheduled).collect(),
        probe: section.table("probe").map(probe::probe),
        connections: section.count("connections"),
    }
}

fn socket(section: &Section) -> SocketOptions {
    let keep_alive = section.table("keep-alive").map(|keep| KeepAlive {
        idle: keep.span("idle"),
        interval: keep.span("interval"),
        count: keep.number("count"),
    });
    let path = section.table("path");
    SocketOptions {
        nodelay: section.flag("nodelay"),
        keep_alive,
        user_timeout: section.time("user-timeout"),
        mss: section.count("mss"),
        congestion: section.text("congestion").map(str::to_owned),
        defer_accept: section.time("defer-accept"),
        fast_open: section.count("fast-open"),
        // A pool has none of its own: the type's default stands.
        backlog: section.count("backlog").unwrap_or(SocketOptions::default().backlog),
        mptcp: section.flag("mptcp"),
        transparent: section.flag("transparent"),
        shared: false,
        interface: section.text("interface").map(str::to_owned),
        mark: section.count("mark"),
        send_buffer: section.count("send-buffer"),
        receive_buffer: section.count("receive-buffer"),
        path: path.map(|path| PathHint {
            rate: path.number("rate"),
            round_trip: path.span("round-trip"),
        }),
    }
}
