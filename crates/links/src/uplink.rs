//! Uplinks: several gateways, used side by side. Connections stay on the uplink that they began with.
//!
//! What a new connection takes is drawn in the kernel by the programs of `bpf/uplink.bpf.c`, which mark it; routing rules
//! lead marked packets, and packets with an uplink's own address, to that uplink's routing table. Here is decided which
//! uplinks live, in which shares they are drawn, and which rules and tables are to stand.

pub mod datapath;
pub mod health;
pub mod packet_mark;
pub mod plan;
pub mod source;
pub mod table;
pub mod translate;
pub mod uplink_wheel;
