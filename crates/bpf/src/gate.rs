//! Fencing: the gate of the dead-man timer. It passes packets for a shared address only until its lease ends. After
//! that the kernel blocks them, whether or not a process runs.
//!
//! Program, map and links are pinned under the home, so the gate works without any process. The caller decides the
//! length of leases.

use std::net::IpAddr;

use thiserror::Error;

use crate::load::{LoadError, LoadedObject, ProgramSpec, load};
use crate::pin_directory::{PinDirectory, PinDirectoryError};
use crate::tcx::{TcDirection, TcxError, TcxPoint, TcxProgram, TcxPrograms};
use crate::typed_map::{MapError, TypedMap};
use crate::value::MapValue;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gate.bpf.o"));

/// Name of the tenant; its pins lie under `HOME/gate`.
const TENANT: &str = "gate";
/// The directory of the pinned links, by interface and direction.
const HOOKS: TcxPrograms = TcxPrograms { what: "gate", pins: "gate-links" };
/// Raised when the maps of `bpf/gate.bpf.c` change.
const VERSION: u32 = 1;
/// The programs by direction.
const PROGRAMS: [(TcDirection, TcxProgram<'static>); 2] = [
    (TcDirection::Ingress, TcxProgram { name: "gate_in", ending: "in" }),
    (TcDirection::Egress, TcxProgram { name: "gate_out", ending: "out" }),
];

/// The reason why the gate cannot be loaded or attached.
#[derive(Debug, Error)]
pub enum GateError {
    /// The directory of the pins.
    #[error(transparent)]
    Home(#[from] PinDirectoryError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Table(#[from] MapError),
    /// The gate cannot be attached to an interface.
    #[error(transparent)]
    Hook(#[from] TcxError),
}

/// Blocked packets by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockedPackets {
    /// Address resolution: requests and replies of ARP and neighbour discovery.
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

/// An address in the map: IPv4 as `::ffff:a.b.c.d`.
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
    /// An IPv6 address; IPv4 is mapped into it (RFC 4291 §2.5.5.2).
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
    /// Loads the gate and reuses pinned maps, so that leases survive a restart.
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

    /// Attaches to both directions of an interface; `false`: it was attached already.
    ///
    /// # Errors
    /// The interface is missing, or the kernel refuses.
    pub fn attach(&self, name: &str) -> Result<bool, GateError> {
        let mut new = false;
        for (side, program) in PROGRAMS {
            let point = TcxPoint { interface: name, side };
            new |= HOOKS.attach(&self.pin_directory, &self.loaded, program, point)?;
        }
        Ok(new)
    }

    /// Detaches from an interface, which may be gone.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, name: &str) -> Result<(), GateError> {
        for (_, program) in PROGRAMS {
            HOOKS.detach(&self.pin_directory, name, program.ending)?;
        }
        Ok(())
    }

    /// Leases an address until this time, in nanoseconds of CLOCK_MONOTONIC. 0 blocks it at once.
    ///
    /// # Errors
    /// The map refuses.
    pub fn lease_address(&self, ip: IpAddr, until: u64) -> Result<(), GateError> {
        Ok(self.leases.set(&AddressKey::from_ip(ip), &until)?)
    }

    /// The end of an address's lease; `None`: the gate does not guard the address.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn leased_until(&self, ip: IpAddr) -> Result<Option<u64>, GateError> {
        Ok(self.leases.get(&AddressKey::from_ip(ip))?)
    }

    /// Stops guarding an address.
    ///
    /// # Errors
    /// The map refuses.
    pub fn remove_address(&self, ip: IpAddr) -> Result<(), GateError> {
        self.leases.remove(&AddressKey::from_ip(ip))?;
        Ok(())
    }

    /// Blocked packets since the gate was first loaded.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn blocked_packets(&self) -> Result<BlockedPackets, GateError> {
        let table: TypedMap<u32, u64> = self.loaded.table("shut")?;
        let sum = |at: u32| table.each_cpu(&at).map(|each| each.iter().sum());
        Ok(BlockedPackets { resolution: sum(0)?, inbound: sum(1)?, outbound: sum(2)? })
    }
}
