//! Ports of return addresses: which of them a server's connections use, and how many ports each share has.
//!
//! The packet plane allocates its shares with these functions, and forecasts use the same ones. The shares of a running
//! plane are unknown here: a share keeps its original ports.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::ports::TRANSLATED_PORTS;
use crate::config::{
    Config, ForwardingMode, PacketPlaneConfig, PacketServiceConfig, PoolConfig, ServerConfig,
    ServerHost, ServiceConfig, TransportProtocols,
};

/// The protocol number of TCP in the IP header.
/// IANA's registry of protocol numbers, here and below.
pub const TCP: u8 = 6;
/// The protocol number of UDP.
pub const UDP: u8 = 17;

/// The smallest number of ports of a share.
pub const FEWEST_PORTS: u32 = 256;

/// The number of ports of each of `shares` new shares when `free` ports are free. A share gets the most that it can
/// have, unless all shares together would use more than half of the free ports. The other half is for services that are
/// added later. The result may exceed the free ports; then there is no room for these shares.
pub fn ports_per_share(free: u32, shares: u32) -> u32 {
    let shares = shares.max(1);
    let half = free / 2 / shares;
    let most = if half >= FEWEST_PORTS { half } else { free / shares };
    TRANSLATED_PORTS.min(most).max(FEWEST_PORTS)
}

/// The number of ports of each share that is allocated together with the others when `free` ports are free; empty if
/// there is no room.
pub fn distribute_ports(free: u32, shares: u32) -> Vec<u32> {
    let each = ports_per_share(free, shares);
    let fits = u64::from(each) * u64::from(shares) <= u64::from(free);
    if fits { vec![each; shares as usize] } else { Vec::new() }
}

/// The return addresses for servers of this family: one share each. `None` stands for the client's own address.
pub fn response_addresses(
    pool: &PoolConfig,
    plane: &PacketPlaneConfig,
    v4: bool,
) -> Vec<Option<IpAddr>> {
    if pool.source_client {
        return vec![None];
    }
    let own = if pool.source.is_empty() { &plane.returns } else { &pool.source };
    own.iter().copied().filter(|back| back.is_ipv4() == v4).map(Some).collect()
}

/// The protocols whose connections have separate shares.
pub fn protocols_with_shares(of: TransportProtocols) -> impl Iterator<Item = u8> {
    [(of.tcp, TCP), (of.udp, UDP)].into_iter().filter(|(has, _)| *has).map(|(_, number)| number)
}

/// The port in the keys of a service's shares: 0 if connections keep the port that the client connected to.
pub fn share_port(packets: &PacketServiceConfig, server: u16) -> u16 {
    let listen = &packets.listen;
    let single = listen.iter().all(|span| span.exact_port().is_some())
        && listen.windows(2).all(|two| two[0].first == two[1].first);
    if single { server } else { 0 }
}

/// The port shares of one server of a service, for one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPortShares {
    /// Shares: one for each return address.
    pub shares: u32,
    /// Ports of all shares.
    pub ports: u64,
    /// Ports of the smallest share; 0: there was no room for it.
    pub fewest_ports: u32,
}

/// Ports of all shares of a packet plane that starts with a configuration.
#[derive(Clone, Debug)]
pub struct PortAllocation<'a> {
    pub config: &'a Config,
    ports_by_share: HashMap<PortShareKey<'a>, u32>,
}

/// Server, port, return address, protocol.
type PortShareKey<'a> = (&'a ServerHost, u16, Option<IpAddr>, u8);

impl<'a> PortAllocation<'a> {
    /// Allocates the shares of services in the order of their names, as the packet plane does.
    pub fn allocate(config: &'a Config) -> PortAllocation<'a> {
        let mut made = PortAllocation { config, ports_by_share: HashMap::new() };
        let mut free = config.packets.flows;
        for service in
            config.services.values().filter(|service| service.forward == ForwardingMode::Nat)
        {
            let wanted: HashSet<PortShareKey<'a>> = share_keys(config, service)
                .into_iter()
                .filter(|key| !made.ports_by_share.contains_key(key))
                .collect();
            let each = distribute_ports(free, u32::try_from(wanted.len()).unwrap_or(u32::MAX));
            free -= each.iter().sum::<u32>();
            made.ports_by_share.extend(wanted.into_iter().zip(each));
        }
        made
    }

    /// Ports of a service's connections of a protocol towards a server of a pool; `None`: it has no return address.
    pub fn server_shares(
        &self,
        packets: &PacketServiceConfig,
        pool: &PoolConfig,
        server: &ServerConfig,
        protocol: u8,
    ) -> Option<ServerPortShares> {
        let port = share_port(packets, server.address.port);
        let backs = server_response_addresses(pool, &self.config.packets, &server.address.host);
        let ports: Vec<u32> = backs
            .into_iter()
            .map(|back| self.ports_by_share.get(&(&server.address.host, port, back, protocol)))
            .map(|ports| ports.copied().unwrap_or(0))
            .collect();
        let fewest = ports.iter().copied().min()?;
        let all = ports.iter().map(|ports| u64::from(*ports)).sum();
        Some(ServerPortShares {
            shares: u32::try_from(ports.len()).unwrap_or(u32::MAX),
            ports: all,
            fewest_ports: fewest,
        })
    }
}

fn share_keys<'a>(config: &'a Config, service: &'a ServiceConfig) -> Vec<PortShareKey<'a>> {
    let Some(packets) = &service.packets else { return Vec::new() };
    let rules = packets.rules.iter().map(|rule| rule.pool.as_str());
    let names = std::iter::once(service.pool.as_str()).chain(rules);
    let mut keys = Vec::new();
    for pool in names.filter_map(|name| config.pools.get(name)) {
        for server in &pool.servers {
            let host = &server.address.host;
            let port = share_port(packets, server.address.port);
            for back in server_response_addresses(pool, &config.packets, host) {
                keys.extend(
                    protocols_with_shares(packets.protocols)
                        .map(|number| (host, port, back, number)),
                );
            }
        }
    }
    keys
}

/// A name is assumed to have addresses of the family that it can be reached by; IPv4 if both are possible.
fn server_response_addresses(
    pool: &PoolConfig,
    plane: &PacketPlaneConfig,
    host: &ServerHost,
) -> Vec<Option<IpAddr>> {
    match host {
        ServerHost::Ip(ip) => response_addresses(pool, plane, ip.is_ipv4()),
        ServerHost::Name(_) => {
            let v4 = response_addresses(pool, plane, true);
            if v4.is_empty() { response_addresses(pool, plane, false) } else { v4 }
        }
        ServerHost::Unix(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn a_service_takes_no_more_than_half_unless_that_is_too_little() {
        // Free ports, number of shares, ports of each share.
        let rows = [
            (1 << 20, 1, TRANSLATED_PORTS),
            (1 << 20, 8, TRANSLATED_PORTS),
            (1 << 20, 32, 16_384),
            (1 << 20, 100, 5_242),
            (1 << 17, 1, TRANSLATED_PORTS),
            (1 << 16, 1, 32_768),
            (1_200, 2, 300),
            (1_000, 2, 500),
        ];
        for (free, shares, each) in rows {
            assert_eq!(ports_per_share(free, shares), each, "{free} for {shares}");
            assert_eq!(distribute_ports(free, shares), vec![each; shares as usize]);
        }
        assert_eq!(ports_per_share(1_000, 4), FEWEST_PORTS, "more than there is");
        assert!(distribute_ports(1_000, 4).is_empty());
        assert!(distribute_ports(1_024, 0).is_empty());
    }

    fn towards(text: &str, service: &str, at: usize) -> Option<ServerPortShares> {
        let config = load(text, "test.toml").unwrap().config;
        let service = &config.services[service];
        let pool = &config.pools[&service.pool];
        let packets = service.packets.as_ref().unwrap();
        PortAllocation::allocate(&config).server_shares(packets, pool, &pool.servers[at], TCP)
    }

    const ONE: &str =
        "[service.one]\nlisten = \"192.0.2.1:80\"\nforward = \"nat\"\npool = \"web\"\n";
    const SIX: &str = "[service.six]\nlisten = \"[2001:db8::100]:80\"\nforward = \"nat\"\npool = \"six\"\n\
                       [pool.six]\nservers = [\"[2001:db8::1]:80\"]\n";
    const WEB: &str = "[pool.web]\nservers = [\"10.0.0.1:80\"]\n";

    #[test]
    fn servers_use_addresses_of_their_family_and_of_their_pool() {
        let plane = "[packets]\nreturn = [\"192.0.2.8\", \"192.0.2.9\", \"2001:db8::9\"]\n";
        let full = |shares: u32| ServerPortShares {
            shares,
            ports: u64::from(shares * TRANSLATED_PORTS),
            fewest_ports: TRANSLATED_PORTS,
        };
        let usual = format!("{plane}{ONE}{SIX}{WEB}");
        assert_eq!(
            (towards(&usual, "one", 0), towards(&usual, "six", 0)),
            (Some(full(2)), Some(full(1)))
        );
        let own = format!("{usual}source = [\"192.0.2.7\"]\n");
        assert_eq!(towards(&own, "one", 0), Some(full(1)));
        let client_source = format!("{usual}source = \"client\"\n");
        assert_eq!(towards(&client_source, "one", 0), Some(full(1)), "it has a share of places");
    }

    #[test]
    fn services_share_what_leads_to_the_same_server_and_the_next_one_takes_of_the_rest() {
        let plane = "[packets]\nflows = 4096\nreturn = \"192.0.2.9\"\n";
        let two = ONE.replace("one", "two").replace("192.0.2.1:80", "192.0.2.2:80");
        let web = "[pool.web]\nservers = [\"10.0.0.1:80\"]\n";
        let ports = |text: &str, service| towards(text, service, 0).unwrap().ports;
        let same = format!("{plane}{ONE}{two}{web}");
        assert_eq!((ports(&same, "one"), ports(&same, "two")), (2_048, 2_048));
        let other = two.replace("\"web\"", "\"far\"");
        let other = format!("{plane}{ONE}{other}{web}[pool.far]\nservers = [\"10.0.0.2:80\"]\n");
        assert_eq!((ports(&other, "one"), ports(&other, "two")), (2_048, 1_024));
        let many: Vec<String> = (1..18).map(|n| format!("\"10.0.1.{n}:80\"")).collect();
        let none = format!("{plane}{ONE}[pool.web]\nservers = [{}]\n", many.join(", "));
        assert_eq!(towards(&none, "one", 0).unwrap().fewest_ports, 0, "no room for 17 times 256");
    }
}
