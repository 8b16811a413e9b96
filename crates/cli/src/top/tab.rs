//! The views, by name. `rows` fills them.

use clap::ValueEnum;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Tab {
    /// One line for each service.
    Services,
    /// One line for each server.
    Servers,
    /// Causes of failed exchanges and dropped packets.
    Causes,
    /// The packet plane by service and server, if there is one.
    Packets,
    /// Virtual addresses shared with other machines, if there are any.
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
