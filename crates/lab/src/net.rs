//! Test networks: namespaces, cables, a router between clients and servers, and a BPF file system.
//!
//! The caller creates them under names unique to the run, and dropping them removes them. `sweep` removes what a killed
//! run left. They need root and iproute2; errors name what is missing. This module sends no traffic.

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
pub use namespace::{NamespaceError, NetworkNamespace, SysctlSetting};
pub use namespace_name::{OwnerProcess, unique_name};
pub use site::{SiteError, SiteHost, TestSite};
pub use site_layout::{BalancerArms, HostAddresses, RETURNS, SERVICE_V4, SERVICE_V6, SiteLayout};
pub use sweep::{SweepReport, sweep_orphans};
pub use tool::{ToolError, find, run_command};
pub use veth::{ChecksumMode, VethEnd, VethError, create_veth};
