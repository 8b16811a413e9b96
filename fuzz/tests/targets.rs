//! Every target on stable Rust: its regressions, its seeds, its stored corpus, and seeded mutations of these.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use fuzz::drive::drive;
use fuzz::targets::{all, find};

/// One test for each target, so that targets run in parallel and a failure names its target.
macro_rules! targets {
    ($($name:ident)*) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                drive(find(stringify!($name)).unwrap());
            }
        )*
    };
}

targets! {
    http1_request http1_response chunked
    http2_request http2_answer http2_blocks http2_machine
    http3_request http3_block http3_one_way
    proxy_header hello hello_extensions path connection connection_http2 names_query agents
    probe_tcp probe_http probe_http_digest probe_http2 probe_grpc probe_dns probe_smtp probe_imap probe_pop3 probe_ftp
    probe_telnet probe_nntp probe_ldap probe_ldap_search probe_redis probe_mysql probe_postgres probe_sip probe_udp probe_ping
    probe_radius probe_snmp
    config capture_pcap capture_pcapng capture_gzip capture_zstd capture_lz4 history_file history_records
    patch
    convert_haproxy convert_nginx convert_keepalived convert_dispatcher
    convert_envoy convert_traefik convert_caddy convert_apache
    vrrp_frames vrrp_talk beat_packets beat_talk replica_packets replica_talk
}

#[test]
fn every_target_has_a_test_and_begins_with_something() {
    let targets = all();
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, TESTED);
    assert!(targets.iter().all(|target| !target.seeds.is_empty() && !target.dictionary.is_empty()));
    assert!(find("chunked").unwrap().seeds.len() > 20);
}
