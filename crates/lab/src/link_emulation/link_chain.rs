//! A client and a server with a forwarding host between them, and an emulated link on each side of that host.
//!
//! ```text
//!  client ──── line ──── middle ──── line ──── server
//!  10.42.1.1        10.42.1.2  10.42.2.2    10.42.2.1
//! ```
//! The client reaches services through the middle, and the server reaches everything through it. Interfaces of client
//! and server are `eth0`, those of the middle `eth0` and `eth1`.

use std::net::Ipv4Addr;

use super::link::{EmulatedLinkError, ForwarderHandle, LinkSettings};
use super::queue::LinkShape;
use crate::net::{NetworkNamespace, SysctlSetting, VethEnd};

/// The hosts and their links; dropping them removes everything.
#[derive(Debug)]
pub struct LinkChain {
    pub client: NetworkNamespace,
    pub middle: NetworkNamespace,
    pub server: NetworkNamespace,
    // Must drop before the namespaces that the links are in.
    _wires: [ForwarderHandle; 2],
    /// The namespace that the links pass. Its interfaces towards the middle are `front` (to `eth0`) and `back` (to
    /// `eth1`): they carry all packets that the middle receives and sends.
    pub between: NetworkNamespace,
}

/// Private addresses (RFC 1918) inside the chain's own namespaces: nothing outside can have them.
pub const CHAIN_CLIENT: Ipv4Addr = Ipv4Addr::new(10, 42, 1, 1);
/// The middle's addresses on the client's side and on the server's side.
pub const CHAIN_MIDDLE: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 42, 1, 2), Ipv4Addr::new(10, 42, 2, 2)];
/// A source address of the middle for connections to the server, used for nothing else.
pub const CHAIN_RETURN: Ipv4Addr = Ipv4Addr::new(10, 42, 2, 3);
pub const CHAIN_SERVER: Ipv4Addr = Ipv4Addr::new(10, 42, 2, 1);
/// The address of a service; no interface has it.
pub const CHAIN_SERVICE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 10);

impl LinkChain {
    /// Creates the chain. `near` holds the shapes of the client's link, `far` those of the server's; each for packets
    /// from the left and from the right.
    pub fn open(near: [LinkShape; 2], far: [LinkShape; 2]) -> Result<LinkChain, EmulatedLinkError> {
        let client = NetworkNamespace::new("client")?;
        let server = NetworkNamespace::new("server")?;
        let middle = NetworkNamespace::new("middle")?;
        let between = NetworkNamespace::new("lines")?;
        let end = |namespace, link| VethEnd { namespace, link };
        let ends = [end(&client, "eth0"), end(&middle, "eth0")];
        let near =
            ForwarderHandle::connect(ends, &between, ["left", "front"], LinkSettings::new(near))?;
        let ends = [end(&middle, "eth1"), end(&server, "eth0")];
        let far =
            ForwarderHandle::connect(ends, &between, ["back", "right"], LinkSettings::new(far))?;
        let [at_client, at_server] = CHAIN_MIDDLE;
        middle.write_sysctls(&[
            SysctlSetting { path: "net/ipv4/ip_forward", value: "1" },
            SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
            SysctlSetting { path: "net/ipv4/conf/eth0/rp_filter", value: "0" },
            SysctlSetting { path: "net/ipv4/conf/eth1/rp_filter", value: "0" },
            SysctlSetting { path: "net/ipv4/conf/all/send_redirects", value: "0" },
        ])?;
        // The last address is deprecated, so that the middle's own connections use another source address.
        middle.ip(&format!(
            "addr add {at_client}/24 dev eth0\naddr add {at_server}/24 dev eth1\n\
             addr add {CHAIN_RETURN}/24 dev eth1 preferred_lft 0\n"
        ))?;
        client.ip(&format!(
            "addr add {CHAIN_CLIENT}/24 dev eth0\nroute add default via {at_client}\n"
        ))?;
        server.ip(&format!(
            "addr add {CHAIN_SERVER}/24 dev eth0\nroute add default via {at_server}\n"
        ))?;
        Ok(LinkChain { client, middle, server, _wires: [near, far], between })
    }

    /// Adds the service's address to the server's loopback without announcing it by ARP, for direct server return.
    pub fn enable_direct_return(&self) -> Result<(), EmulatedLinkError> {
        self.server.write_sysctls(&[
            SysctlSetting { path: "net/ipv4/conf/all/arp_ignore", value: "1" },
            SysctlSetting { path: "net/ipv4/conf/all/arp_announce", value: "2" },
            SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
        ])?;
        self.server.ip(&format!("addr add {CHAIN_SERVICE}/32 dev lo\n"))?;
        Ok(())
    }
}
