//! The views, by name. `rows` fills them.

use clap::ValueEnum;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Tab {
    /// A line a service.
    Services,
    /// A line a server.
    Servers,
    /// Why exchanges failed, and why packets were dropped.
    Causes,
    /// The packet plane by service and server; only where one is.
    Packets,
    /// Addresses that are shared with other machines; only where some are.
    Shared,
}

impl Tab {
    pub const fn name(self) -> &'static str {
        match self {
            Tab::Services => "services",
            Tab::Servers => "servers",
            Tab::Causes => "causes",
            Tab::Packets => "packets",
            Tab::Shared => "shared",
        }
    }

    /// The text of a view without lines.
    pub const fn empty(self) -> &'static str {
        match self {
            Tab::Services => "no service is configured",
            Tab::Servers => "no pool has a server",
            Tab::Causes => "nothing has failed since the daemon's start",
            Tab::Packets => "no service forwards packets",
            Tab::Shared => "no address is shared",
        }
    }
}
