//! Bundles of links: several links to one far end, used as one. Uplinks: several gateways, used side by side.
//!
//! A program of traffic control on the bundle's device (`bpf/`) forwards each packet in the kernel. This crate computes
//! its tables, checks links, equalises delays, and loads it. It opens no socket and reads no clock.

pub mod advice;
pub mod bond;
pub mod datapath;
pub mod delay_equalizer;
pub mod echo;
pub mod forecast;
pub mod hold_queue;
pub mod link_monitor;
pub mod link_selection;
pub mod mptcp;
pub mod netlink;
pub mod packet_train;
pub mod schedule;
pub mod steering;
pub mod table;
pub mod uplink;
