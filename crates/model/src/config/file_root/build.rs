//! Builds the checked configuration from verified settings; it only converts types.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::reserved_fields::fill_reserved_fields;
use super::types::Config;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::global::build_global;
use crate::config::pool::build_pool;
use crate::config::service::build_service;
use crate::config::{auth, capture, dns, heartbeat, link, mptcp, packets, uplink, vrrp};

/// Builds a configuration that `verify` accepted.
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
    let auths = effective
        .auths
        .iter()
        .map(|section| (section.name.clone(), Arc::new(auth::build_auth(section))));
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
        auths: auths.collect::<BTreeMap<_, _>>(),
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
