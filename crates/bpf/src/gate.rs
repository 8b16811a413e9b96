//! The dead man's gate: until when a shared address may be answered for. Past that the kernel keeps it shut, whoever
//! lives.
//!
//! Program, map and links are pinned under the home, so it shuts without any process. It does not decide for how long.

use std::net::IpAddr;

use thiserror::Error;

use crate::home::{Home, HomeError};
use crate::hook::{HookError, Hooks, Side};
use crate::load::{LoadError, Loaded, Program, load};
use crate::table::{Table, TableError};
use crate::value::Value;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gate.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/gate`.
const TENANT: &str = "gate";
/// Where the links are pinned, by interface and side.
const HOOKS: Hooks = Hooks { what: "gate", pins: "gate-links" };
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
    /// The program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its maps.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Its place at an interface.
    #[error(transparent)]
    Hook(#[from] HookError),
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

    /// Stands at an interface, both sides; `false`: it stood there already.
    ///
    /// # Errors
    /// The interface is missing, or the kernel refuses.
    pub fn attach(&self, name: &str) -> Result<bool, GateError> {
        let mut new = false;
        for (side, program, ending) in PROGRAMS {
            new |= HOOKS.attach(&self.home, &self.loaded, (program, ending), (name, side))?;
        }
        Ok(new)
    }

    /// Leaves an interface, which may be gone.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, name: &str) -> Result<(), GateError> {
        for (_, _, ending) in PROGRAMS {
            HOOKS.detach(&self.home, name, ending)?;
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
}
