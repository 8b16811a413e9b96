//! Builds heartbeats.

use std::net::IpAddr;
use std::path::PathBuf;

use super::types::{
    HeartbeatConfig, HeartbeatPathConfig, ReachabilityConfig, WitnessConfig, WitnessProtocol,
    WitnessUrl,
};
use crate::config::section::ConfigSection;

pub fn build_heartbeat(section: &ConfigSection) -> HeartbeatConfig {
    let address = |path: &ConfigSection, key: &str| {
        path.addresses(key).first().copied().unwrap_or(IpAddr::from([0; 4]))
    };
    let path = |path: &ConfigSection| HeartbeatPathConfig {
        local: address(path, "local"),
        peer: address(path, "peer"),
        interface: path.text("interface").map(str::to_owned),
    };
    HeartbeatConfig {
        peer: section.name.clone(),
        name: section.text("name").unwrap_or_default().to_owned(),
        secret: PathBuf::from(section.text("secret").unwrap_or_default()),
        paths: section.list("paths").iter().map(path).collect(),
        port: section.count_or_zero("port"),
        every: section.time_or_zero("interval"),
        timeout: section.time_or_zero("timeout"),
        reach: section.table("reach").map(|reach| ReachabilityConfig {
            echo: reach.addresses("echo").to_vec(),
            connect: reach.sockets("connect").to_vec(),
            every: reach.time_or_zero("interval"),
            timeout: reach.time_or_zero("timeout"),
            rise: reach.count_or_zero("rise"),
            fall: reach.count_or_zero("fall"),
            settle: reach.time_or_zero("hold-time"),
        }),
        witness: section.table("witness").map(build_witness),
    }
}

fn build_witness(section: &ConfigSection) -> WitnessConfig {
    let etcd = section.texts("etcd");
    let (by, written) = match section.text("http") {
        Some(http) => (WitnessProtocol::Http, vec![http]),
        None => (WitnessProtocol::Etcd, etcd.iter().map(String::as_str).collect()),
    };
    let file = |key: &str| section.text(key).map(PathBuf::from);
    WitnessConfig {
        by,
        at: written.into_iter().filter_map(WitnessUrl::parse).collect(),
        lease: section.time_or_zero("lease"),
        token: file("token"),
        ca: file("ca"),
    }
}
