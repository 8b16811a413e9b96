//! The uplinks' programs in the kernel: loads them, attaches them where connections begin, writes and reads their maps.
//!
//! Everything is pinned, so connections are shared out while no process runs. The caller decides the contents of the
//! maps.

use std::path::Path;

use bpf::load::{ProgramSpec, load};
use bpf::{
    CgroupError, CgroupPrograms, ConnectHook as At, LoadError, LoadedObject, MapError,
    PinDirectory, TcDirection, TcxError, TcxPoint, TcxProgram, TcxPrograms, TypedMap,
};
use thiserror::Error;

use super::packet_mark::UPLINKS;
use super::table::{UplinkSettings, WheelTurns};
use super::uplink_wheel::UplinkWheel;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/uplink.bpf.o"));

/// Name of the tenant; its pins lie under `HOME/uplinks`.
const TENANT: &str = "uplinks";
/// Raised when the maps of `bpf/uplink.bpf.c` change.
const VERSION: u32 = 1;
/// The program of interfaces.
const HOOKS: TcxPrograms =
    TcxPrograms { what: "program for forwarded connections", pins: "uplinks-hooks" };
/// The programs of sockets.
const GROUPS: CgroupPrograms =
    CgroupPrograms { what: "programs for own connections", pins: "uplinks-sockets" };
/// The program of `inside` interfaces.
const INSIDE: TcxProgram<'static> = TcxProgram { name: "uplink_inside", ending: "in" };
const OWN: [(&str, At); 2] = [("uplink_own4", At::Connect4), ("uplink_own6", At::Connect6)];
/// Kinds of counters of an uplink; the same number as in the program.
const KINDS: u32 = 4;

/// Why a program cannot be loaded or attached.
#[derive(Debug, Error)]
pub enum UplinkError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Table(#[from] MapError),
    #[error(transparent)]
    Hook(#[from] TcxError),
    /// The programs of sockets cannot be attached.
    #[error(transparent)]
    Group(#[from] CgroupError),
}

/// Counts of an uplink since the programs were loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UplinkCounters {
    /// Connections from this machine.
    pub own: u64,
    pub forwarded: u64,
    /// Forwarded connections that moved here from an uplink that was down.
    pub rerouted: u64,
}

#[derive(Debug)]
pub struct UplinkDatapath {
    pin_directory: PinDirectory,
    loaded: LoadedObject,
    settings: TypedMap<u32, UplinkSettings>,
    wheels: TypedMap<u32, WheelTurns>,
    owners: TypedMap<u32, u64>,
    counts: TypedMap<u32, u64>,
}

impl UplinkDatapath {
    /// Loads the programs and reuses pinned maps.
    ///
    /// # Errors
    /// Rights, kernel or pins are missing.
    pub fn open(home: &PinDirectory) -> Result<UplinkDatapath, UplinkError> {
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
        Ok(UplinkDatapath {
            pin_directory: home.clone(),
            settings: loaded.table("settings")?,
            wheels: loaded.table("wheels")?,
            owners: loaded.table("owners")?,
            counts: loaded.table("counts")?,
            loaded,
        })
    }

    /// Attaches the socket programs to a control group; the root of version 2 covers all processes.
    ///
    /// # Errors
    /// The group is missing, or the kernel refuses.
    pub fn attach_cgroup(&self, group: &Path) -> Result<(), UplinkError> {
        for (program, at) in OWN {
            GROUPS.attach(&self.pin_directory, &self.loaded, program, at, group)?;
        }
        Ok(())
    }

    /// Attaches the program of forwarded packets to an interface; `false`: it was attached already.
    ///
    /// # Errors
    /// The interface is missing, or the kernel refuses.
    pub fn attach_interface(&self, interface: &str) -> Result<bool, UplinkError> {
        Ok(HOOKS.attach(
            &self.pin_directory,
            &self.loaded,
            INSIDE,
            TcxPoint { interface, side: TcDirection::Ingress },
        )?)
    }

    /// Detaches from an interface, which may no longer exist.
    ///
    /// # Errors
    /// The pin cannot be removed.
    pub fn detach_interface(&self, interface: &str) -> Result<(), UplinkError> {
        Ok(HOOKS.detach(&self.pin_directory, interface, INSIDE.ending)?)
    }

    /// Activates these settings from the next packet on.
    ///
    /// # Errors
    /// The map refuses.
    pub fn apply_settings(&self, settings: &UplinkSettings) -> Result<(), UplinkError> {
        Ok(self.settings.set(&0, settings)?)
    }

    /// Activates a wheel of one family from the next connection on.
    ///
    /// # Errors
    /// The map refuses.
    pub fn set_wheel(&self, v6: bool, wheel: &UplinkWheel) -> Result<(), UplinkError> {
        Ok(self.wheels.set(&u32::from(v6), &WheelTurns(wheel.turns))?)
    }

    /// The owner of each number, by [`super::packet_mark::name_hash`].
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn number_owners(&self) -> Result<Vec<u64>, UplinkError> {
        let all = (0..=u32::from(UPLINKS)).map(|number| self.owners.get(&number));
        Ok(all.map(|owner| owner.map(Option::unwrap_or_default)).collect::<Result<_, _>>()?)
    }

    /// Gives a number to an owner; its counters start anew.
    ///
    /// # Errors
    /// A map refuses.
    pub fn assign_number(&self, number: u8, owner: u64) -> Result<(), UplinkError> {
        let number = u32::from(number);
        if self.owners.get(&number)? == Some(owner) {
            return Ok(());
        }
        for kind in 0..KINDS {
            self.counts.set_each_cpu(&(number * KINDS + kind), &0)?;
        }
        Ok(self.owners.set(&number, &owner)?)
    }

    /// The counters of an uplink.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn counts(&self, number: u8) -> Result<UplinkCounters, UplinkError> {
        let of = |kind: u32| -> Result<u64, UplinkError> {
            let each = self.counts.each_cpu(&(u32::from(number) * KINDS + kind))?;
            Ok(each.into_iter().sum())
        };
        Ok(UplinkCounters { own: of(0)?, forwarded: of(1)?, rerouted: of(2)? })
    }
}
