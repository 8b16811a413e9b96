//! Interfaces by name, and the program in their XDP slot. Attaches nothing.

use std::io;

use libbpf_rs::query::ProgInfoIter;
use thiserror::Error;

use crate::sys::{self, XdpSlotState};

#[derive(Debug, Error)]
pub enum InterfaceError {
    /// No interface has this name.
    #[error("there is no interface `{0}`: `ip link` lists those that exist")]
    Missing(String),
    #[error("cannot ask which packet program interface `{name}` runs")]
    Query {
        name: String,
        #[source]
        source: io::Error,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkInterface {
    pub name: String,
    pub index: u32,
}

/// A program in an XDP slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedProgram {
    /// The program's id in the kernel.
    pub id: u32,
    /// The program's name; empty when the kernel has none.
    pub name: String,
    /// Whether it runs in the driver.
    pub native: bool,
}

impl NetworkInterface {
    /// Finds an interface of this network namespace.
    pub fn find(name: &str) -> Result<NetworkInterface, InterfaceError> {
        let index = by_name(name);
        let index = index.ok_or_else(|| InterfaceError::Missing(name.to_owned()))?;
        Ok(NetworkInterface { name: name.to_owned(), index })
    }

    /// The program in the interface's XDP slot.
    pub fn attached_program(&self) -> Result<Option<AttachedProgram>, InterfaceError> {
        let XdpSlotState { mode, program: id, .. } = self.xdp_state()?;
        if mode == NONE {
            return Ok(None);
        }
        let program = ProgInfoIter::default().find(|program| program.id == id);
        let name = program.map(|program| program.name.to_string_lossy().into_owned());
        Ok(Some(AttachedProgram { id, name: name.unwrap_or_default(), native: mode != GENERIC }))
    }
}

/// Whether an interface sends the frames of XDP_TX and XDP_REDIRECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpTransmitSupport {
    /// The driver sends them.
    Supported,
    /// The driver drops them, as a virtual Ethernet pair does whose far end has neither a program nor GRO.
    Dropped,
    /// The kernel does not report it (before Linux 6.3).
    Unknown,
}

impl XdpTransmitSupport {
    fn from_features(features: u64) -> XdpTransmitSupport {
        match (features & BASIC != 0, features & SENDS != 0) {
            (_, true) => XdpTransmitSupport::Supported,
            (true, false) => XdpTransmitSupport::Dropped,
            (false, false) => XdpTransmitSupport::Unknown,
        }
    }
}

impl NetworkInterface {
    /// Whether the interface sends frames of XDP programs now. Some drivers send them only while a program is attached
    /// to them.
    pub fn transmit_support(&self) -> Result<XdpTransmitSupport, InterfaceError> {
        Ok(XdpTransmitSupport::from_features(self.xdp_state()?.features))
    }

    fn xdp_state(&self) -> Result<XdpSlotState, InterfaceError> {
        sys::xdp_state(self.index)
            .map_err(|source| InterfaceError::Query { name: self.name.clone(), source })
    }
}

/// NETDEV_XDP_ACT_BASIC and NETDEV_XDP_ACT_NDO_XMIT of the kernel's uapi header linux/netdev.h.
const BASIC: u64 = 1;
const SENDS: u64 = 4;
/// XDP_ATTACHED_NONE and XDP_ATTACHED_SKB of the kernel's uapi header linux/if_link.h.
const NONE: u8 = 0;
const GENERIC: u8 = 2;

fn by_name(name: &str) -> Option<u32> {
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)
            .ok()?;
    rustix::net::netdevice::name_to_index(&socket, name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmit_support_by_driver_features() {
        for (features, sending) in [
            (0, XdpTransmitSupport::Unknown),
            (BASIC, XdpTransmitSupport::Dropped),
            (BASIC | 2, XdpTransmitSupport::Dropped),
            (BASIC | 2 | SENDS, XdpTransmitSupport::Supported),
        ] {
            assert_eq!(XdpTransmitSupport::from_features(features), sending);
        }
    }
}
