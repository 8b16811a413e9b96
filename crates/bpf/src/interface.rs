//! Interfaces by name, and who holds their XDP slot. Attaches nothing.

use std::io;

use libbpf_rs::query::ProgInfoIter;
use thiserror::Error;

use crate::sys;

/// Why an interface cannot be asked.
#[derive(Debug, Error)]
pub enum InterfaceError {
    /// There is none of this name.
    #[error("there is no interface `{0}`: `ip link` lists those that exist")]
    Missing(String),
    /// The kernel refused.
    #[error("cannot ask which packet program interface `{name}` runs")]
    Query {
        /// The interface.
        name: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// An interface that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
}

/// A program in an XDP slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The kernel's number of the program.
    pub id: u32,
    /// Its name; empty when the kernel knows none.
    pub name: String,
    /// Whether it runs in the driver.
    pub native: bool,
}

impl Interface {
    /// Finds an interface of this network namespace.
    pub fn find(name: &str) -> Result<Interface, InterfaceError> {
        let index = by_name(name);
        let index = index.ok_or_else(|| InterfaceError::Missing(name.to_owned()))?;
        Ok(Interface { name: name.to_owned(), index })
    }

    /// The program that holds the slot.
    pub fn holder(&self) -> Result<Option<Holder>, InterfaceError> {
        let (mode, id) = sys::xdp_state(self.index)
            .map_err(|source| InterfaceError::Query { name: self.name.clone(), source })?;
        if mode == NONE {
            return Ok(None);
        }
        let program = ProgInfoIter::default().find(|program| program.id == id);
        let name = program.map(|program| program.name.to_string_lossy().into_owned());
        Ok(Some(Holder { id, name: name.unwrap_or_default(), native: mode != GENERIC }))
    }
}

/// `XDP_ATTACHED_NONE` of `linux/if_link.h`.
const NONE: u8 = 0;
/// `XDP_ATTACHED_SKB`.
const GENERIC: u8 = 2;

fn by_name(name: &str) -> Option<u32> {
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)
            .ok()?;
    rustix::net::netdevice::name_to_index(&socket, name).ok()
}
