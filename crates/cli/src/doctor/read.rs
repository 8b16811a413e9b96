//! Takes the snapshot of this machine: links, addresses and routes from ip(8), settings from /proc/sys, pins.
//!
//! It checks nothing. The output of `ip` is foreign: a missing or odd field is left out, never guessed.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::Command;

use lab::net::{ToolError, find, run_command};
use model::preflight::{
    Decapsulator, Encapsulation, InterfaceIp, InterfaceState, Ipv4Settings, PreflightSnapshot,
    RouteEntry,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why there is no snapshot.
#[derive(Debug, Error)]
pub enum ServerReadError {
    /// ip(8) cannot be run.
    #[error("this machine's network cannot be read")]
    Tool(#[from] ToolError),
    /// The pins of this program's decapsulator.
    #[error(transparent)]
    Decap(#[from] l4::decapsulation::DecapError),
    /// It printed something else than its JSON.
    #[error("`ip {arguments}` printed something unexpected")]
    Json {
        /// The arguments of the command.
        arguments: String,
        /// Why it cannot be read.
        #[source]
        source: serde_json::Error,
    },
}

/// The snapshot as of now.
pub fn read_server_settings(pins: &Path) -> Result<PreflightSnapshot, ServerReadError> {
    let links: Vec<RawLink> = run_ip_command(&["-j", "-d", "addr", "show"])?;
    let mut routes = Vec::new();
    for family in ["-4", "-6"] {
        let raw: Vec<RawRoute> = run_ip_command(&["-j", family, "route", "show", "table", "all"])?;
        routes.extend(raw.into_iter().filter_map(|raw| route(raw, family == "-6")));
    }
    let shown = l4::decapsulation::read_status(pins)?.into_iter().flat_map(own_decapsulators);
    let decapsulators = links.iter().filter_map(kernel_tunnel).chain(shown).collect();
    let named = links.into_iter().map(|raw| (raw.ifname.clone(), link(raw)));
    Ok(PreflightSnapshot {
        interfaces: named.collect(),
        routes,
        all_settings: settings("all"),
        decapsulators,
    })
}

fn run_ip_command<T: DeserializeOwned + Default>(arguments: &[&str]) -> Result<T, ServerReadError> {
    let text = run_command(Command::new(find("ip")).args(arguments))?;
    // Of nothing it prints nothing.
    if text.trim().is_empty() {
        return Ok(T::default());
    }
    serde_json::from_str(&text)
        .map_err(|source| ServerReadError::Json { arguments: arguments.join(" "), source })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawLink {
    ifname: String,
    flags: Vec<String>,
    mtu: u32,
    addr_info: Vec<RawAddress>,
    linkinfo: RawInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawInfo {
    info_kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawAddress {
    local: Option<IpAddr>,
    prefixlen: u8,
    tentative: bool,
    dadfailed: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawRoute {
    r#type: Option<String>,
    dst: String,
    gateway: Option<IpAddr>,
    dev: Option<String>,
    table: Option<String>,
    metrics: Vec<BTreeMap<String, serde_json::Value>>,
    nexthops: Vec<RawHop>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawHop {
    gateway: Option<IpAddr>,
    dev: Option<String>,
}

fn link(raw: RawLink) -> InterfaceState {
    let has = |flag: &str| raw.flags.iter().any(|one| one == flag);
    let addresses = raw.addr_info.iter().filter_map(|one| {
        let doubted = one.tentative || one.dadfailed;
        Some(InterfaceIp { ip: one.local?, prefix: one.prefixlen, duplicate_suspected: doubted })
    });
    InterfaceState {
        up: has("UP"),
        loopback: has("LOOPBACK"),
        arp: !has("LOOPBACK") && !has("NOARP"),
        mtu: raw.mtu,
        addresses: addresses.collect(),
        settings: settings(&raw.ifname),
    }
}

fn route(raw: RawRoute, v6: bool) -> Option<RouteEntry> {
    let whole = if v6 { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
    let (to, prefix) = if raw.dst == "default" {
        (whole, 0)
    } else if let Some((to, prefix)) = raw.dst.split_once('/') {
        (to.parse().ok()?, prefix.parse().ok()?)
    } else {
        (raw.dst.parse().ok()?, if v6 { 128 } else { 32 })
    };
    let hop = raw.nexthops.into_iter().next().unwrap_or_default();
    let kind = raw.r#type.unwrap_or_else(|| "unicast".to_owned());
    // Broadcast and multicast routes, and those that refuse, lead nowhere.
    if !matches!(kind.as_str(), "unicast" | "local") {
        return None;
    }
    let advmss = raw.metrics.iter().find_map(|metrics| metrics.get("advmss")?.as_u64());
    Some(RouteEntry {
        to,
        prefix,
        via: raw.gateway.or(hop.gateway),
        link: raw.dev.or(hop.dev)?,
        local: kind == "local",
        table: raw.table.unwrap_or_else(|| "main".to_owned()),
        advmss: advmss.and_then(|bytes| u32::try_from(bytes).ok()),
    })
}

/// Our own decapsulator, on each of its interfaces.
fn own_decapsulators(
    shown: l4::decapsulation::DecapsulationStatus,
) -> impl Iterator<Item = Decapsulator> {
    let takes = shown.settings.protocols;
    let names = shown.interfaces.into_iter().map(|interface| interface.name);
    names.map(move |link| Decapsulator { link: Some(link), takes: takes.clone() })
}

/// A tunnel of the kernel's own that unpacks.
fn kernel_tunnel(raw: &RawLink) -> Option<Decapsulator> {
    let takes = match raw.linkinfo.info_kind.as_str() {
        "ipip" | "ip6tnl" | "sit" => Encapsulation::Ipip,
        "gre" | "ip6gre" => Encapsulation::Gre,
        _ => return None,
    };
    let up = raw.flags.iter().any(|flag| flag == "UP");
    up.then(|| Decapsulator { link: Some(raw.ifname.clone()), takes: vec![takes] })
}

/// The settings of a link, or of `all`; unreadable ones are unset.
fn settings(link: &str) -> Ipv4Settings {
    let value = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{link}/{name}"));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    };
    Ipv4Settings {
        arp_ignore: value("arp_ignore"),
        arp_announce: value("arp_announce"),
        rp_filter: value("rp_filter"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read_in_every_form_that_ip_writes() {
        let text = r#"[
            {"dst":"default","gateway":"10.0.0.1","dev":"eth0","metrics":[{"advmss":1400}],"flags":[]},
            {"type":"local","dst":"198.51.100.0/24","dev":"lo","table":"local"},
            {"dst":"10.1.0.1","nexthops":[{"gateway":"10.0.0.2","dev":"eth1","weight":1}]},
            {"type":"broadcast","dst":"10.0.0.255","dev":"eth0","table":"local"},
            {"dst":"garbled","dev":"eth0"}]"#;
        let raw: Vec<RawRoute> = serde_json::from_str(text).unwrap();
        let routes: Vec<RouteEntry> = raw.into_iter().filter_map(|raw| route(raw, false)).collect();
        assert_eq!(routes.len(), 3, "{routes:?}");
        assert_eq!((routes[0].prefix, routes[0].advmss), (0, Some(1400)));
        assert_eq!((routes[1].prefix, routes[1].local), (24, true));
        assert_eq!((routes[2].prefix, routes[2].link.as_str()), (32, "eth1"));
    }

    #[test]
    fn links_are_read_with_what_is_odd_about_their_addresses() {
        let text = r#"{"ifname":"none-such","flags":["BROADCAST","UP"],"mtu":1400,
            "addr_info":[{"local":"2001:db8::1","prefixlen":64,"tentative":true},{"family":"inet"}]}"#;
        let read = link(serde_json::from_str(text).unwrap());
        assert!(read.up && read.arp && !read.loopback);
        assert_eq!(read.addresses.len(), 1);
        assert!(read.addresses[0].duplicate_suspected);
        let tunnel = r#"{"ifname":"t","flags":["UP"],"linkinfo":{"info_kind":"ipip"}}"#;
        let takes = kernel_tunnel(&serde_json::from_str(tunnel).unwrap()).unwrap().takes;
        assert_eq!(takes, [Encapsulation::Ipip]);
    }
}
