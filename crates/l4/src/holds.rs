//! Until when packets of shared addresses are forwarded: the map `holds` of a plane that runs, opened by its pin.
//!
//! Whoever holds the addresses writes here, apart from the plane and before it is open. It decides on no times.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bpf::{Table, TableError};
use libbpf_rs::MapHandle;
use thiserror::Error;

use crate::abi::Address;
use crate::plan::form::{address, from_address};
use crate::plane::TENANT;

/// Why the map is not to be had.
#[derive(Debug, Error)]
pub enum HoldsError {
    /// It is not what this build expects.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The kernel does not give it.
    #[error("the map `holds` of the packet plane cannot be opened at `{}`", path.display())]
    Pin {
        /// Where it is pinned.
        path: PathBuf,
        /// Why not.
        #[source]
        source: libbpf_rs::Error,
    },
}

/// The map of a plane.
#[derive(Debug)]
pub struct Holds {
    table: Table<Address, u64>,
    /// The pin, as it was opened.
    inode: u64,
}

impl Holds {
    /// Opens that of the plane under a directory of pins; `None`: no plane has one.
    ///
    /// # Errors
    /// It is there and cannot be used.
    pub fn open(pins: &Path) -> Result<Option<Holds>, HoldsError> {
        let path = path(pins);
        let Some(inode) = inode(&path) else { return Ok(None) };
        let map = MapHandle::from_pinned_path(&path)
            .map_err(|source| HoldsError::Pin { path, source })?;
        Ok(Some(Holds { table: Table::new("holds", map)?, inode }))
    }

    /// Whether it is still that of the plane there, which may have been taken down or made anew.
    pub fn stands(&self, pins: &Path) -> bool {
        inode(&path(pins)) == Some(self.inode)
    }

    /// From now on packets of an address are forwarded until then: ns of CLOCK_MONOTONIC. 0 shuts it at once.
    ///
    /// # Errors
    /// The map refuses.
    pub fn hold(&self, ip: IpAddr, until: u64) -> Result<(), TableError> {
        self.table.set(&key(ip), &until)
    }

    /// Until when; `None`: it is shared with nobody.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn held(&self, ip: IpAddr) -> Result<Option<u64>, TableError> {
        self.table.get(&key(ip))
    }

    /// No others than these are shared any more.
    ///
    /// # Errors
    /// The map refuses.
    pub fn keep(&self, shared: &BTreeSet<IpAddr>) -> Result<(), TableError> {
        for key in self.table.keys() {
            if !shared.contains(&from_address(key.addr)) {
                self.table.remove(&key)?;
            }
        }
        Ok(())
    }
}

fn key(ip: IpAddr) -> Address {
    Address { addr: address(ip) }
}

fn path(pins: &Path) -> PathBuf {
    pins.join(TENANT).join("maps").join("holds")
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.ino())
}
