//! The planes under the daemon, one thread each: packets, links, uplinks, VRRP, DNS.

pub mod draining_clients;
pub(crate) mod egress_routes;
pub mod flow_samples;
pub mod links;
pub mod mptcp;
pub mod name_server;
pub mod packets;
pub mod uplinks;
pub mod vrrp;
