//! From settings in force to the checked configuration. Everything was judged before: this only changes the form.

mod balance;
mod buffer;
mod capture;
mod compression;
mod dns;
mod heartbeat;
mod http2;
mod http3;
mod inner_table;
mod link;
mod mptcp;
mod objective;
mod operations;
mod packets;
mod probe;
mod proxy_protocol;
mod reserved_fields;
mod resilience;
mod rules;
mod tls;
mod uplink;
mod vrrp;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::address::{ServerAddress, ServerHost};
use super::forwarded_headers::{ForwardedHeaderAction, ForwardedHeaders};
use super::forwarding_mode::ForwardingMode;
use super::network_set::NetworkSet;
use super::objects::{
    AccessLogConfig, AccessLogFormat, AccessLogTarget, AdminState, AllDownPolicy, Config,
    GlobalConfig, InitialState, LenientAnswers, PoolConfig, PoolLimits, PoolTimeouts, ServerConfig,
    ServerWeight, ServiceConfig, ServiceLimits, ServiceTimeouts,
};
use super::operations::ControlConfig;
use super::path_normalization::{PathCase, PathNormalization};
use super::reserved_fields::ReservedFields;
use super::resolve::EffectiveSettings;
use super::section::ConfigSection;
use super::socket::{KeepAlive, PathHint, SocketOptions};
use super::telemetry::MetricsConfig;
use inner_table::read_inner_table;
use reserved_fields::fill_reserved_fields;

/// Build what `verify` has approved.
pub fn build_config(effective: &EffectiveSettings) -> Config {
    let shared: BTreeSet<IpAddr> =
        effective.vrrp.iter().flat_map(|group| group.addresses("addresses")).copied().collect();
    let services = effective.services.iter().map(|section| {
        let mut service = build_service(section);
        service.socket.shared = service.listen.iter().any(|at| shared.contains(&at.ip()));
        (section.name.clone(), Arc::new(service))
    });
    let pools =
        effective.pools.iter().map(|section| (section.name.clone(), Arc::new(build_pool(section))));
    let groups = effective
        .vrrp
        .iter()
        .map(|section| (section.name.clone(), Arc::new(vrrp::build_vrrp(section))));
    let heartbeats = effective
        .heartbeats
        .iter()
        .map(|section| (section.name.clone(), Arc::new(heartbeat::build_heartbeat(section))));
    let captures = effective
        .captures
        .iter()
        .map(|section| (section.name.clone(), Arc::new(capture::build_capture(section))));
    let bundles = effective
        .links
        .iter()
        .map(|section| (section.name.clone(), Arc::new(link::build_bundle(section))));
    let uplinks = effective
        .uplinks
        .iter()
        .map(|section| (section.name.clone(), Arc::new(uplink::build_uplink(section))));
    let zones =
        effective.zones.iter().map(dns::build_zone).map(|zone| (zone.name.clone(), Arc::new(zone)));
    let hosts = effective.dns_names.iter().map(|section| {
        let named = dns::build_name(section, &effective.zones);
        (named.name.clone(), Arc::new(named))
    });
    let mut config = Config {
        global: build_global(&effective.global),
        packets: packets::build_packet_plane(&effective.packets),
        services: services.collect::<BTreeMap<_, _>>(),
        pools: pools.collect::<BTreeMap<_, _>>(),
        vrrp: groups.collect::<BTreeMap<_, _>>(),
        heartbeats: heartbeats.collect::<BTreeMap<_, _>>(),
        captures: captures.collect::<BTreeMap<_, _>>(),
        links: bundles.collect::<BTreeMap<_, _>>(),
        mptcp: mptcp::build_mptcp(&effective.mptcp),
        outward: uplink::build_uplinks(&effective.uplinks_common),
        uplinks: uplinks.collect::<BTreeMap<_, _>>(),
        name_server: dns::build_name_server(&effective.name_server),
        zones: zones.collect::<BTreeMap<_, _>>(),
        names: hosts.collect::<BTreeMap<_, _>>(),
    };
    fill_reserved_fields(&mut config);
    config
}

fn build_global(section: &ConfigSection) -> GlobalConfig {
    let path =
        |section: &ConfigSection, key: &str| PathBuf::from(section.text(key).unwrap_or_default());
    let metrics = section.table("metrics").and_then(|metrics| metrics.sockets("listen").first());
    GlobalConfig {
        workers: section.count("workers"),
        connections: section.count("connections"),
        access_log: read_inner_table(section, "access-log", |log| AccessLogConfig {
            all: log.flag("all"),
            format: match log.text("format") {
                Some("common") => AccessLogFormat::Common,
                _ => AccessLogFormat::Json,
            },
            target: match log.text("target") {
                Some("off") => AccessLogTarget::Off,
                Some("stdout") => AccessLogTarget::Stdout,
                Some("stderr") | None => AccessLogTarget::Stderr,
                Some(file) => AccessLogTarget::File(PathBuf::from(file)),
            },
        }),
        control: read_inner_table(section, "control", |control| ControlConfig {
            socket: path(control, "socket"),
            mode: control.count_or_zero("mode"),
            state: path(control, "state"),
            write_back: operations::build_write_back(control),
            allow_programs: control.flag("allow-programs"),
            audit: control.count_or_zero("audit"),
            generations: control.count_or_zero("generations"),
            remote: operations::build_remote_api(control),
        }),
        metrics: metrics.map(|listen| MetricsConfig { listen: *listen }),
        telemetry: section.table("telemetry").and_then(operations::build_telemetry),
        drain: section.time_or_zero("drain"),
        sample: section.count("sample"),
        sticky_secret_file: section.text("sticky-secret-file").map(PathBuf::from),
        certificate_warning: section.time_or_zero("certificate-warning"),
        hooks: section.list("hook").iter().map(operations::build_hook).collect(),
        history: section.table("history").map(operations::build_history_retention),
    }
}

fn build_service(section: &ConfigSection) -> ServiceConfig {
    let forward = match section.text("forward") {
        Some("tcp") => ForwardingMode::Tcp,
        Some("mac") => ForwardingMode::Mac,
        Some("tunnel") => ForwardingMode::Tunnel,
        Some("nat") => ForwardingMode::Nat,
        _ => ForwardingMode::Http,
    };
    ServiceConfig {
        name: section.name.clone(),
        listen: if forward.forwards_packets() {
            Vec::new()
        } else {
            section.sockets("listen").to_vec()
        },
        forward,
        pool: section.text("pool").unwrap_or_default().to_owned(),
        timeout: read_inner_table(section, "timeout", |timeout| ServiceTimeouts {
            header: timeout.time_or_zero("header"),
            idle: timeout.time_or_zero("idle"),
            between_bytes: timeout.time_or_zero("between-bytes"),
            whole: timeout.time("whole"),
            drain: timeout.time_or_zero("drain"),
            tunnel: timeout.time_or_zero("tunnel"),
        }),
        limit: read_inner_table(section, "limit", |limit| ServiceLimits {
            connections: limit.count("connections"),
            connections_per_client: limit.count("connections-per-client"),
            header_bytes: limit.count_or_zero("header-bytes"),
            header_count: limit.count_or_zero("header-count"),
            target_bytes: limit.count_or_zero("target-bytes"),
            connection_bytes: limit.count_or_zero("connection-bytes"),
        }),
        socket: read_inner_table(section, "socket", build_socket_options),
        trust: NetworkSet::new(section.prefixes("trust")),
        forwarded: read_inner_table(section, "forwarded", |forwarded| ForwardedHeaders {
            x_forwarded: forwarded_header_action(forwarded.text("x-forwarded")),
            forwarded: forwarded_header_action(forwarded.text("forwarded")),
            via: forwarded.flag("via"),
        }),
        packets: forward.forwards_packets().then(|| packets::build_packet_service(section)),
        tls: section.table("tls").map(tls::build_service_tls),
        rules: if forward.forwards_packets() {
            Vec::new()
        } else {
            section.list("rule").iter().map(rules::build_rule).collect()
        },
        path_normalization: PathNormalization::from_keyword(section.text("path-normalization")),
        path_case: PathCase::from_keyword(section.text("path-case")),
        sticky: section
            .table("sticky")
            .filter(|_| !forward.forwards_packets())
            .map(|sticky| rules::build_affinity(sticky, section.table("tls").is_some())),
        http2: read_inner_table(section, "http2", http2::build_client_http2),
        http3: read_inner_table(section, "http3", http3::build_client_http3),
        accept_proxy: section.table("accept-proxy").map(proxy_protocol::build_accept_proxy),
        buffer: read_inner_table(section, "buffer", buffer::build_buffer),
        compress: section.table("compress").map(compression::build_compression),
        priority: read_inner_table(section, "priority", resilience::build_request_priority),
        objective: section.table("objective").map(objective::build_objective),
        reserved: ReservedFields::default(),
    }
}

fn forwarded_header_action(word: Option<&str>) -> ForwardedHeaderAction {
    match word {
        Some("append") => ForwardedHeaderAction::Append,
        Some("replace") => ForwardedHeaderAction::Replace,
        Some("remove") => ForwardedHeaderAction::Remove,
        _ => ForwardedHeaderAction::Keep,
    }
}

fn build_lenient_answers(section: &ConfigSection) -> LenientAnswers {
    let has = |word| section.keywords("lenient-answers").contains(&word);
    LenientAnswers {
        repeated_length: has("repeated-length"),
        bare_lf: has("bare-lf"),
        space_before_colon: has("space-before-colon"),
    }
}

fn build_pool(section: &ConfigSection) -> PoolConfig {
    let probe = section.table("probe").map(probe::build_probe);
    let servers = section.list("servers").iter().map(|section| Arc::new(build_server(section)));
    PoolConfig {
        name: section.name.clone(),
        balance: read_inner_table(section, "balance", balance::build_balance),
        hash_on: balance::build_hash_key(section),
        judge: balance::build_weight_controller(section),
        slow_start: section.time("slow-start"),
        spill_over: section.count("spill-over"),
        locality: balance::build_locality(section),
        initial: match section.text("initial") {
            Some("unknown") => InitialState::Unknown,
            Some("down") => InitialState::Down,
            _ => InitialState::Up,
        },
        all_down: if section.text("all-down") == Some("spread") {
            AllDownPolicy::Spread
        } else {
            AllDownPolicy::Refuse
        },
        servers: servers.collect(),
        discovery: section.table("servers-from").map(operations::build_discovery),
        probe,
        agent: section.table("agent").map(probe::build_agent),
        timeout: read_inner_table(section, "timeout", |timeout| PoolTimeouts {
            connect: timeout.time_or_zero("connect"),
            first_byte: timeout.time_or_zero("first-byte"),
            stream: timeout.time_or_zero("stream"),
            attempts: resilience::attempts_timeout(section, timeout),
            between_bytes: timeout.time_or_zero("between-bytes"),
            queue: timeout.time_or_zero("queue"),
            idle: timeout.time_or_zero("idle"),
        }),
        limit: read_inner_table(section, "limit", |limit| PoolLimits {
            idle: limit.count_or_zero("idle"),
            queue: limit.count_or_zero("queue"),
            header_bytes: limit.count_or_zero("header-bytes"),
            header_count: limit.count_or_zero("header-count"),
        }),
        source: section.addresses("source").to_vec(),
        source_client: section.is_unset("source"),
        socket: read_inner_table(section, "socket", build_socket_options),
        retries: section.count_or_zero("retries"),
        retry: read_inner_table(section, "retry", resilience::build_retry),
        eject: section.table("eject").map(resilience::build_outlier_detection),
        breaker: read_inner_table(section, "breaker", resilience::build_circuit_breaker),
        shed: section.table("shed").map(resilience::build_load_shedding),
        hedge: section.table("hedge").map(resilience::build_hedging),
        tls: section.table("tls").map(tls::build_pool_tls),
        http2: read_inner_table(section, "http2", http2::build_server_http2),
        send_proxy: proxy_protocol::build_send_proxy(section),
        lenient_answers: build_lenient_answers(section),
    }
}

/// A server in force.
pub fn build_server(section: &ConfigSection) -> ServerConfig {
    let nowhere = || ServerAddress { host: ServerHost::Name(String::new()), port: 0 };
    ServerConfig {
        name: section.text("name").unwrap_or_default().to_owned(),
        address: section.server_address("address").cloned().unwrap_or_else(nowhere),
        weight: section.count("weight").and_then(ServerWeight::new).unwrap_or(ServerWeight::ONE),
        priority: balance::build_priority(section),
        locality: balance::build_locality(section),
        admin: match section.text("state") {
            Some("drain") => AdminState::Drain,
            Some("disabled") => AdminState::Disabled,
            _ => AdminState::Enabled,
        },
        schedule: section
            .list("schedule")
            .iter()
            .filter_map(operations::build_schedule_rule)
            .collect(),
        probe: section.table("probe").map(probe::build_probe),
        connections: section.count("connections"),
    }
}

fn build_socket_options(section: &ConfigSection) -> SocketOptions {
    let keep_alive = section.table("keep-alive").map(|keep| KeepAlive {
        idle: keep.time_or_zero("idle"),
        interval: keep.time_or_zero("interval"),
        count: keep.count_or_zero("count"),
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
            rate: path.count_or_zero("rate"),
            round_trip: path.time_or_zero("round-trip"),
        }),
    }
}
