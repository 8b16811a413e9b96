//! Builds a pool of the checked configuration.

use std::sync::Arc;

use super::types::{
    AllDownPolicy, InitialState, LenientAnswers, PoolConfig, PoolLimits, PoolTimeouts,
};
use crate::config::inner_table::read_inner_table;
use crate::config::section::ConfigSection;
use crate::config::server::build_server;
use crate::config::socket::build_socket_options;
use crate::config::{
    agent, balance, circuit_breaker, discovery, hedging, http2, load_shedding, outlier_detection,
    probe, proxy_protocol, retry, tls,
};

fn build_lenient_answers(section: &ConfigSection) -> LenientAnswers {
    let has = |word| section.keywords("lenient-responses").contains(&word);
    LenientAnswers {
        repeated_length: has("repeated-length"),
        bare_lf: has("bare-lf"),
        space_before_colon: has("space-before-colon"),
    }
}

pub fn build_pool(section: &ConfigSection) -> PoolConfig {
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
        discovery: section.table("servers-from").map(discovery::build_discovery),
        probe,
        agent: section.table("agent").map(agent::build_agent),
        timeout: read_inner_table(section, "timeout", |timeout| PoolTimeouts {
            connect: timeout.time_or_zero("connect"),
            first_byte: timeout.time_or_zero("first-byte"),
            stream: timeout.time_or_zero("stream"),
            attempts: retry::attempts_timeout(section, timeout),
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
        retry: read_inner_table(section, "retry", retry::build_retry),
        eject: section.table("eject").map(outlier_detection::build_outlier_detection),
        breaker: read_inner_table(
            section,
            "circuit-breaker",
            circuit_breaker::build_circuit_breaker,
        ),
        shed: section.table("load-shedding").map(load_shedding::build_load_shedding),
        hedge: section.table("hedge").map(hedging::build_hedging),
        tls: section.table("tls").map(tls::build_pool_tls),
        http2: read_inner_table(section, "http2", http2::build_server_http2),
        send_proxy: proxy_protocol::build_send_proxy(section),
        lenient_answers: build_lenient_answers(section),
    }
}
