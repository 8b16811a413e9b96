//! The dead man's gate: until when a shared address may be answered for. Past that the kernel keeps it shut, whoever
//! lives.
//!
//! Program, map and links are pinned under the home, so it shuts without any process. It does not decide for how long.

use std::net::IpAddr;

use thiserror::Error;

use crate::load::{LoadError, LoadedObject, ProgramSpec, load};
use crate::pin_directory::{PinDirectory, PinDirectoryError};
use crate::tcx::{TcDirection, TcxError, TcxPrograms};
use crate::typed_map::{MapError, TypedMap};
use crate::value::MapValue;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gate.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/gate`.
const TENANT: &str = "gate";
/// Where the links are pinned, by interface and side.
const HOOKS: TcxPrograms = TcxPrograms { what: "gate", pins: "gate-links" };
/// Raised when the maps of `bpf/gate.bpf.c` change.
const VERSION: u32 = 1;
/// Its programs, by side.
const PROGRAMS: [(TcDirection, &str, &str); 2] =
    [(TcDirection::Ingress, "gate_in", "in"), (TcDirection::Egress, "gate_out", "out")];

/// Why it does not stand.
#[derive(Debug, Error)]
pub enum GateError {
    /// The directory for pins.
    #[error(transparent)]
    Home(#[from] PinDirectoryError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Table(#[from] MapError),
    /// Its place at an interface.
    #[error(transparent)]
    Hook(#[from] TcxError),
}

/// What it kept from passing, packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockedPackets {
    /// Questions where the address is, and answers.
    pub resolution: u64,
    pub inbound: u64,
    pub outbound: u64,
}

#[derive(Debug)]
pub struct AddressGate {
    pin_directory: PinDirectory,
    loaded: LoadedObject,
    leases: TypedMap<AddressKey, u64>,
}

/// An address as the map has it: IPv4 as `::ffff:a.b.c.d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AddressKey([u8; 16]);

impl AddressKey {
    fn from_ip(ip: IpAddr) -> AddressKey {
        AddressKey(match ip {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        })
    }
}

impl MapValue for AddressKey {
    const SIZE: usize = 16;

    fn write(&self, out: &mut [u8]) {
        out[..16].copy_from_slice(&self.0);
    }

    fn read(bytes: &[u8]) -> AddressKey {
        let mut key = [0; 16];
        key.copy_from_slice(&bytes[..16]);
        AddressKey(key)
    }
}

impl AddressGate {
    /// Loads it; what is pinned is kept, so that an address stays shut or held over a restart.
    ///
    /// # Errors
    /// Rights, kernel or pins are missing.
    pub fn open(home: &PinDirectory) -> Result<AddressGate, GateError> {
        let program = ProgramSpec {
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
        Ok(AddressGate { pin_directory: home.clone(), loaded, leases: holds })
    }

    /// Stands at an interface, both sides; `false`: it stood there already.
    ///
    /// # Errors
    /// The interface is missing, or the kernel refuses.
    pub fn attach(&self, name: &str) -> Result<bool, GateError> {
        let mut new = false;
        for (side, program, ending) in PROGRAMS {
            new |=
                HOOKS.attach(&self.pin_directory, &self.loaded, (program, ending), (name, side))?;
        }
        Ok(new)
    }

    /// Leaves an interface, which may be gone.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, name: &str) -> Result<(), GateError> {
        for (_, _, ending) in PROGRAMS {
            HOOKS.detach(&self.pin_directory, name, ending)?;
        }
        Ok(())
    }

    /// From now on the address may be answered for until then: nanoseconds of CLOCK_MONOTONIC. 0 shuts it at once.
    ///
    /// # Errors
    /// The map refuses.
    pub fn lease_address(&self, ip: IpAddr, until: u64) -> Result<(), GateError> {
        Ok(self.leases.set(&AddressKey::from_ip(ip), &until)?)
    }

    /// Until when; `None`: the address is no business of the gate.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn leased_until(&self, ip: IpAddr) -> Result<Option<u64>, GateError> {
        Ok(self.leases.get(&AddressKey::from_ip(ip))?)
    }

    /// The address is no business of the gate any more.
    ///
    /// # Errors
    /// The map refuses.
    pub fn remove_address(&self, ip: IpAddr) -> Result<(), GateError> {
        self.leases.remove(&AddressKey::from_ip(ip))?;
        Ok(())
    }

    /// What it kept from passing since it was loaded first.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn blocked_packets(&self) -> Result<BlockedPackets, GateError> {
        let table: TypedMap<u32, u64> = self.loaded.table("shut")?;
        let sum = |at: u32| table.each_cpu(&at).map(|each| each.iter().sum());
        Ok(BlockedPackets { resolution: sum(0)?, inbound: sum(1)?, outbound: sum(2)? })
    }
}
