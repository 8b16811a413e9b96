//! Uplinks: several gateways, used side by side. Connections stay on the uplink that they began with.
//!
//! The programs of `bpf/uplink.bpf.c` choose a new connection's uplink and mark it. Routing rules lead marked packets,
//! and packets with an uplink's own address, to that uplink's routing table. This module decides which uplinks are up,
//! their shares, and the rules and tables.

pub mod datapath;
pub mod health;
pub mod packet_mark;
pub mod plan;
pub mod source;
pub mod table;
pub mod translate;
pub mod uplink_wheel;
