//! The network of one side: a namespace for the balancer and its clients, and one for the stand-in servers.
//!
//! Servers have their own addresses behind a cable, so that a server's port may be one that the balancer listens at.
//! Addresses of listeners and clients are on the balancer's loopback.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use crate::net::{
    ChecksumMode, NamespaceError, NetworkNamespace, ToolError, VethEnd, VethError, create_veth,
};
use thiserror::Error;

use super::plan::ShadowPlan;

/// Why there is no network for a side.
#[derive(Debug, Error)]
pub enum PlaceError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Link(#[from] VethError),
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// The network of one side; dropping it removes it.
#[derive(Debug)]
pub struct ShadowPlace {
    pub balancer: NetworkNamespace,
    pub servers: NetworkNamespace,
    /// Stand-in servers in the balancer's own namespace.
    pub near: Vec<SocketAddr>,
    /// Stand-in servers behind the cable.
    pub far: Vec<SocketAddr>,
}

/// Addresses of the cable's ends, in networks that no configuration uses (RFC 3927, RFC 4193).
const CABLE: [&str; 4] = ["169.254.77.1", "169.254.77.2", "fd5a:d0::1", "fd5a:d0::2"];

impl ShadowPlace {
    pub fn open(plan: &ShadowPlan) -> Result<ShadowPlace, PlaceError> {
        let mut place = ShadowPlace {
            balancer: NetworkNamespace::new("shadow")?,
            servers: NetworkNamespace::new("shadowed")?,
            near: Vec::new(),
            far: Vec::new(),
        };
        for server in &plan.servers {
            let side = if plan.is_beside_balancer(server.address) {
                &mut place.near
            } else {
                &mut place.far
            };
            side.push(server.address);
        }
        let ends = [
            VethEnd { namespace: &place.balancer, link: "servers" },
            VethEnd { namespace: &place.servers, link: "balancer" },
        ];
        create_veth(ends[0], ends[1], 1500, ChecksumMode::Offloaded)?;
        let [near_v4, far_v4, near_v6, far_v6] = CABLE;
        let mut near =
            format!("addr add {near_v4}/30 dev servers\naddr add {near_v6}/64 dev servers nodad\n");
        let mut far = format!(
            "addr add {far_v4}/30 dev balancer\naddr add {far_v6}/64 dev balancer nodad\n\
             route add default via {near_v4}\nroute add ::/0 via {near_v6}\n"
        );
        let own = plan.listening().into_iter().chain(plan.clients.iter().copied());
        let own = own.chain(plan.resolvers.iter().map(SocketAddr::ip));
        let own: BTreeSet<IpAddr> = own.filter(|address| !address.is_loopback()).collect();
        for address in own {
            near.push_str(&loopback_address(address));
        }
        let distant: BTreeSet<IpAddr> = place.far.iter().map(SocketAddr::ip).collect();
        for address in distant {
            far.push_str(&loopback_address(address));
            near.push_str(&match address {
                IpAddr::V4(ip) => format!("route add {ip}/32 via {far_v4}\n"),
                IpAddr::V6(ip) => format!("route add {ip}/128 via {far_v6}\n"),
            });
        }
        place.balancer.ip(&near)?;
        place.servers.ip(&far)?;
        Ok(place)
    }
}

fn loopback_address(address: IpAddr) -> String {
    match address {
        IpAddr::V4(ip) => format!("addr add {ip}/32 dev lo\n"),
        IpAddr::V6(ip) => format!("addr add {ip}/128 dev lo nodad\n"),
    }
}
