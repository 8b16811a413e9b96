//! The leases of shared addresses, until which their packets are forwarded: the map `holds` of a running plane, opened
//! by its pin.
//!
//! The process that holds the addresses writes here, independently of the plane and even before the plane is open. The
//! caller decides the times.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bpf::{MapError, TypedMap};
use libbpf_rs::MapHandle;
use thiserror::Error;

use crate::abi::Address;
use crate::datapath::TENANT;
use crate::plan::encoding::{from_mapped_bytes, to_mapped_bytes};

/// Why the map cannot be opened.
#[derive(Debug, Error)]
pub enum AddressLeaseError {
    /// The map differs from what this build expects.
    #[error(transparent)]
    Table(#[from] MapError),
    /// The kernel cannot open the pin.
    #[error("the map `holds` of the packet plane cannot be opened at `{}`", path.display())]
    Pin {
        path: PathBuf,
        #[source]
        source: libbpf_rs::Error,
    },
}

/// The map of a plane.
#[derive(Debug)]
pub struct AddressLeases {
    table: TypedMap<Address, u64>,
    /// The inode of the pin when it was opened.
    inode: u64,
}

impl AddressLeases {
    /// Opens the map of the plane under a pin directory. `None` if there is no plane.
    ///
    /// # Errors
    /// The map exists and cannot be used.
    pub fn open(pins: &Path) -> Result<Option<AddressLeases>, AddressLeaseError> {
        let path = map_path(pins);
        let Some(inode) = map_inode(&path) else { return Ok(None) };
        let map = MapHandle::from_pinned_path(&path)
            .map_err(|source| AddressLeaseError::Pin { path, source })?;
        Ok(Some(AddressLeases { table: TypedMap::new("holds", map)?, inode }))
    }

    /// Whether the map still belongs to the plane in this directory. The plane may have been removed or recreated.
    pub fn is_current(&self, pins: &Path) -> bool {
        map_inode(&map_path(pins)) == Some(self.inode)
    }

    /// Forwards packets of an address until this time, in nanoseconds of CLOCK_MONOTONIC. 0 stops forwarding at once.
    ///
    /// # Errors
    /// The map refuses.
    pub fn lease_address(&self, ip: IpAddr, until: u64) -> Result<(), MapError> {
        self.table.set(&address_key(ip), &until)
    }

    /// The end of the address's lease. `None` if the address is not shared.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn leased_until(&self, ip: IpAddr) -> Result<Option<u64>, MapError> {
        self.table.get(&address_key(ip))
    }

    /// Removes every address that is not in `shared`.
    ///
    /// # Errors
    /// The map refuses.
    pub fn retain(&self, shared: &BTreeSet<IpAddr>) -> Result<(), MapError> {
        for key in self.table.keys() {
            if !shared.contains(&from_mapped_bytes(key.addr)) {
                self.table.remove(&key)?;
            }
        }
        Ok(())
    }
}

fn address_key(ip: IpAddr) -> Address {
    Address { addr: to_mapped_bytes(ip) }
}

fn map_path(pins: &Path) -> PathBuf {
    pins.join(TENANT).join("maps").join("holds")
}

fn map_inode(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.ino())
}
