//! Networks to prove things in: namespaces, cables, a router between clients and servers, and a bpf file system.
//!
//! All of it is made by the caller, under names that no other run has, and is gone when dropped; `sweep` removes
//! what a killed run left. It needs root and iproute2, and says so. It carries no traffic by itself.

mod bpffs;
mod congestion_control;
mod namespace;
mod namespace_name;
mod site;
mod site_layout;
mod sweep;
mod tool;
mod veth;

pub use bpffs::{BpfFs, BpfFsError};
pub use congestion_control::{Congestion, FORWARDING, HOST};
pub use namespace::{NamespaceError, NetworkNamespace};
pub use namespace_name::{OwnerProcess, unique_name};
pub use site::{SiteError, SiteHost, TestSite};
pub use site_layout::{BalancerArms, HostAddresses, RETURNS, SERVICE_V4, SERVICE_V6, SiteLayout};
pub use sweep::{SweepReport, sweep_orphans};
pub use tool::{ToolError, find, run_command};
pub use veth::{ChecksumMode, VethEnd, VethError, create_veth};
