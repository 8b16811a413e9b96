//! The dead man's gate: until when a shared address may be answered for. Past that the kernel keeps it shut, whoever
//! lives.
//!
//! Program, map and links are pinned under the home, so it shuts without any process. It does not decide for how long.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::{fs, io};

use thiserror::Error;

use crate::home::{Home, HomeError};
use crate::interface::{Interface, InterfaceError};
use crate::load::{LoadError, Loaded, Program, load};
use crate::sys::{self, Side};
use crate::table::{Table, TableError};
use crate::value::Value;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gate.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/gate`.
const TENANT: &str = "gate";
/// Where the links are pinned, by interface and side.
const LINKS: &str = "gate-links";
/// Raised when the maps of `bpf/gate.bpf.c` change.
const VERSION: u32 = 1;
/// Its programs, by side.
const PROGRAMS: [(Side, &str, &str); 2] =
    [(Side::Ingress, "gate_in", "in"), (Side::Egress, "gate_out", "out")];

/// Why it does not stand.
#[derive(Debug, Error)]
pub enum GateError {
    /// The directory for pins.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The interface.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its maps.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A link cannot be made, pinned or opened; links of this kind came with Linux 6.6.
    #[error("cannot {act} the gate of interface `{interface}`, which needs Linux 6.6")]
    Link {
        /// What was attempted.
        act: &'static str,
        /// The interface.
        interface: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// What it kept from passing, packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shut {
    /// Questions where the address is, and answers.
    pub resolution: u64,
    /// To the address.
    pub inward: u64,
    /// From it.
    pub outward: u64,
}

/// The gate, loaded.
#[derive(Debug)]
pub struct Gate {
    home: Home,
    loaded: Loaded,
    holds: Table<Key, u64>,
}

/// An address as the map has it: IPv4 as `::ffff:a.b.c.d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key([u8; 16]);

impl Key {
    fn of(ip: IpAddr) -> Key {
        Key(match ip {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        })
    }
}

impl Value for Key {
    const SIZE: usize = 16;

    fn write(&self, out: &mut [u8]) {
        out[..16].copy_from_slice(&self.0);
    }

    fn read(bytes: &[u8]) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&bytes[..16]);
        Key(key)
    }
}

impl Gate {
    /// Loads it; what is pinned is kept, so that an address stays shut or held over a restart.
    ///
    /// # Errors
    /// Rights, kernel or pins are missing.
    pub fn open(home: &Home) -> Result<Gate, GateError> {
        let program = Program {
            tenant: TENANT,
            object: OBJECT,
            version: VERSION,
            fingerprint: 0,
            sizes: &[],
            only: &[],
            replace: true,
        };
        let loaded = load(home, &program)?;
        let holds = loaded.table("holds")?;
        Ok(Gate { home: home.clone(), loaded, holds })
    }

    /// Stands at an interface, both sides.
    ///
    /// # Errors
    /// The interface is missing, or the kernel refuses.
    pub fn attach(&self, name: &str) -> Result<(), GateError> {
        let interface = Interface::find(name)?;
        for (side, program, ending) in PROGRAMS {
            let failed = |act| {
                let interface = interface.name.clone();
                move |source| GateError::Link { act, interface, source }
            };
            let program = self.loaded.program(program)?;
            let path = self.pin(name, ending)?;
            match sys::pinned(&path) {
                // An interface that was removed and made anew has another number: its old link is of no use.
                Ok(link) if sys::tcx_ifindex(link.as_fd()).ok() == Some(interface.index) => {
                    sys::link_update(link.as_fd(), program.as_fd()).map_err(failed("renew"))?;
                    continue;
                }
                Ok(_) => fs::remove_file(&path).map_err(failed("renew"))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("open")(error)),
            }
            let link = sys::link_tcx(program.as_fd(), interface.index, side);
            let link = link.map_err(failed("attach"))?;
            sys::pin(link.as_fd(), &path).map_err(failed("pin"))?;
        }
        Ok(())
    }

    /// Leaves an interface, which may be gone.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, name: &str) -> Result<(), GateError> {
        for (_, _, ending) in PROGRAMS {
            let path = self.pin(name, ending)?;
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(GateError::Link {
                        act: "remove",
                        interface: name.to_owned(),
                        source,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// From now on the address may be answered for until then: nanoseconds of CLOCK_MONOTONIC. 0 shuts it at once.
    ///
    /// # Errors
    /// The map refuses.
    pub fn hold(&self, ip: IpAddr, until: u64) -> Result<(), GateError> {
        Ok(self.holds.set(&Key::of(ip), &until)?)
    }

    /// Until when; `None`: the address is no business of the gate.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn held(&self, ip: IpAddr) -> Result<Option<u64>, GateError> {
        Ok(self.holds.get(&Key::of(ip))?)
    }

    /// The address is no business of the gate any more.
    ///
    /// # Errors
    /// The map refuses.
    pub fn forget(&self, ip: IpAddr) -> Result<(), GateError> {
        self.holds.remove(&Key::of(ip))?;
        Ok(())
    }

    /// What it kept from passing since it was loaded first.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn shut(&self) -> Result<Shut, GateError> {
        let table: Table<u32, u64> = self.loaded.table("shut")?;
        let sum = |at: u32| table.each_cpu(&at).map(|each| each.iter().sum());
        Ok(Shut { resolution: sum(0)?, inward: sum(1)?, outward: sum(2)? })
    }

    fn pin(&self, name: &str, ending: &str) -> Result<PathBuf, GateError> {
        // Names in a BPF file system have no dots; interfaces may.
        Ok(self.home.below(LINKS)?.join(format!("{}-{ending}", name.replace('.', "%"))))
    }
}
