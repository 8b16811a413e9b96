//! Networks to prove things in: namespaces, cables, a router between clients and servers, and a bpf file system.
//!
//! All of it is made by the caller, under names that no other run has, and is gone when dropped; `sweep` removes
//! what a killed run left. It needs root and iproute2, and says so. It carries no traffic by itself.

mod bpffs;
mod cable;
mod kernel;
mod name;
mod namespace;
mod plan;
mod site;
mod sweep;
mod tool;

pub use bpffs::{BpfFs, BpfFsError};
pub use cable::{Checksums, End, LinkError, lay};
pub use kernel::{Congestion, FORWARDING, HOST};
pub use name::{Keeper, fresh};
pub use namespace::{Namespace, NamespaceError};
pub use plan::{Arms, Host, Layout, RETURNS, SERVICE_V4, SERVICE_V6};
pub use site::{Node, Site, SiteError};
pub use sweep::{Swept, sweep};
pub use tool::{ToolError, find, said};
