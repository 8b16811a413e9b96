//! The bundle's programs in the kernel: loads them, attaches them to a bundle's device, writes and reads their maps.
//!
//! Everything is pinned, so packets flow while no process runs. The caller decides the contents of the maps.

use std::collections::BTreeMap;

use bpf::load::{ProgramSpec, load};
use bpf::{
    LoadError, LoadedObject, MapError, PinDirectory, TcDirection, TcxError, TcxPoint, TcxProgram,
    TcxPrograms, TypedMap,
};
use model::monotonic_time::MonotonicTime;
use thiserror::Error;

use crate::schedule::LINKS;
use crate::table::{BundleEntry, BundleSlot, PacketCount};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.bpf.o"));

/// Name of the tenant; its pins lie under `HOME/links`.
const TENANT: &str = "links";
/// Raised when the maps of `bpf/bundle.bpf.c` change.
const VERSION: u32 = 2;
/// Slots in the maps; the same number as in the program.
const PLACES: u32 = 64;
/// Counters of a slot; the same number as in the program.
const COUNTS: u32 = 32;
const HOOKS: TcxPrograms = TcxPrograms { what: "bundle", pins: "links-hooks" };
/// The programs of a bundle's device and of its peer device.
const OUT: TcxProgram<'static> = TcxProgram { name: "bundle_out", ending: "out" };
const DUE: TcxProgram<'static> = TcxProgram { name: "bundle_due", ending: "due" };

/// Counters beside those of the links, by their number in the program. They count neither losses nor rejections.
const KINDS: [(u32, &str); 4] =
    [(16, "held"), (17, "not-held"), (18, "fragmented-datagrams"), (19, "flowlets")];
/// Drop reasons by their number in the program.
const DROPS: [(u32, &str); 6] = [
    (24, "no-link-lives"),
    (25, "not-ip"),
    (26, "no-next-hop-of-its-family"),
    (27, "multicast"),
    (28, "malformed"),
    (29, "not-ours"),
];

/// Why a bundle's program cannot be loaded or attached.
#[derive(Debug, Error)]
pub enum BundleError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Table(#[from] MapError),
    #[error(transparent)]
    Hook(#[from] TcxError),
    #[error(
        "all {places} places of the bundles' maps are taken: fewer bundles, or `steelyard stop` and a new start"
    )]
    Full { places: u32 },
    /// The device was never given a slot, or was removed.
    #[error("interface {ifindex} has no place in the bundles' maps")]
    Unknown { ifindex: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleDevice {
    /// The index of the device.
    pub device: u32,
    /// The index of the peer device, where packets are held.
    pub peer_device: u32,
}

/// Counts of a bundle's programs since they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleCounters {
    /// Packets and bytes of each link.
    pub links: [PacketCount; LINKS],
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Dropped packets by reason.
    pub dropped: BTreeMap<&'static str, u64>,
}

#[derive(Debug)]
pub struct BundleDatapath {
    pin_directory: PinDirectory,
    loaded: LoadedObject,
    slots: TypedMap<u32, BundleSlot>,
    bundles: TypedMap<u32, BundleEntry>,
    counts: TypedMap<u32, PacketCount>,
}

/// Limits how long the program may pass packets to the daemon to be held.
#[derive(Debug)]
pub struct HoldLease {
    leases: TypedMap<u32, u64>,
    slot: u32,
}

impl BundleDatapath {
    /// Loads the programs and reuses pinned maps.
    ///
    /// # Errors
    /// Rights, kernel or pins are missing.
    pub fn open(home: &PinDirectory) -> Result<BundleDatapath, BundleError> {
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
        let places = loaded.table("places")?;
        let bundles = loaded.table("bundles")?;
        let counts = loaded.table("counts")?;
        Ok(BundleDatapath { pin_directory: home.clone(), loaded, slots: places, bundles, counts })
    }

    /// The program of a bundle's device, for a test run.
    ///
    /// # Errors
    /// The program is missing.
    pub fn program(&self) -> Result<bpf::load::ProgramHandle<'_>, BundleError> {
        Ok(self.loaded.program(OUT.name)?)
    }

    /// Attaches the programs to both ends of a device; `false`: they were attached already.
    ///
    /// # Errors
    /// An end is missing, or the kernel refuses.
    pub fn attach(&self, device: &str, other: &str) -> Result<bool, BundleError> {
        let egress = |interface| TcxPoint { interface, side: TcDirection::Egress };
        let due = HOOKS.attach(&self.pin_directory, &self.loaded, DUE, egress(other))?;
        Ok(HOOKS.attach(&self.pin_directory, &self.loaded, OUT, egress(device))? || due)
    }

    /// Detaches from a device, which may no longer exist.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, device: &str, other: &str) -> Result<(), BundleError> {
        HOOKS.detach(&self.pin_directory, device, OUT.ending)?;
        Ok(HOOKS.detach(&self.pin_directory, other, DUE.ending)?)
    }

    /// Gives both ends of a device their slots; existing slots stay.
    ///
    /// # Errors
    /// The maps are full.
    pub fn assign_slots(&self, ends: BundleDevice) -> Result<(), BundleError> {
        for ifindex in [ends.device, ends.peer_device] {
            if self.find_slot(ifindex)?.is_some() {
                continue;
            }
            let at = self.search_slot(ifindex, 0)?.ok_or(BundleError::Full { places: PLACES })?.0;
            for what in 0..COUNTS {
                self.counts.set_each_cpu(&(at * COUNTS + what), &PacketCount::default())?;
            }
            self.loaded.table("turns")?.set(&at, &0_u64)?;
            self.loaded.table("leases")?.set(&at, &0_u64)?;
            for which in 0..2 {
                self.bundles.set(&(2 * at + which), &BundleEntry::empty())?;
            }
            self.slots.set(&at, &BundleSlot { ifindex, active_copy: 0 })?;
        }
        Ok(())
    }

    /// Activates a bundle's entry from the next packet on.
    ///
    /// # Errors
    /// The device has no slot, or the map refuses.
    pub fn set_bundle(&self, ends: BundleDevice, entry: &BundleEntry) -> Result<(), BundleError> {
        for ifindex in [ends.peer_device, ends.device] {
            let (at, now) = self.find_slot(ifindex)?.ok_or(BundleError::Unknown { ifindex })?;
            // The program reads only the active copy, and the switch is one word, so it changes atomically.
            let which = 1 - now.active_copy.min(1);
            self.bundles.set(&(2 * at + which), entry)?;
            self.slots.set(&at, &BundleSlot { ifindex, active_copy: which })?;
        }
        Ok(())
    }

    /// The active entry of a bundle.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn get_bundle(&self, ends: BundleDevice) -> Result<Option<BundleEntry>, BundleError> {
        let Some((at, now)) = self.find_slot(ends.device)? else { return Ok(None) };
        Ok(self.bundles.get(&(2 * at + now.active_copy.min(1)))?)
    }

    /// Removes a device from the maps.
    ///
    /// # Errors
    /// A map refuses.
    pub fn remove_device(&self, ends: BundleDevice) -> Result<(), BundleError> {
        for ifindex in [ends.device, ends.peer_device] {
            if let Some((at, _)) = self.find_slot(ifindex)? {
                self.slots.set(&at, &BundleSlot::default())?;
            }
        }
        Ok(())
    }

    fn find_slot(&self, ifindex: u32) -> Result<Option<(u32, BundleSlot)>, MapError> {
        self.search_slot(ifindex, ifindex)
    }

    /// The first slot whose owner is `of`, in the order in which the program looks for an interface.
    fn search_slot(&self, ifindex: u32, of: u32) -> Result<Option<(u32, BundleSlot)>, MapError> {
        for number in 0..PLACES {
            let at = ifindex.wrapping_add(number) % PLACES;
            if let Some(place) = self.slots.get(&at)?.filter(|place| place.ifindex == of) {
                return Ok(Some((at, place)));
            }
        }
        Ok(None)
    }

    /// The counters of a device.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn counts(&self, ends: BundleDevice) -> Result<BundleCounters, BundleError> {
        let mut sums = [PacketCount::default(); COUNTS as usize];
        for ifindex in [ends.device, ends.peer_device] {
            let Some((at, _)) = self.find_slot(ifindex)? else { continue };
            let all: Vec<u32> = (at * COUNTS..(at + 1) * COUNTS).collect();
            for (sum, entry) in sums.iter_mut().zip(self.counts.each_cpu_entries(&all)?) {
                sum.packets += entry.values.iter().map(|one| one.packets).sum::<u64>();
                sum.bytes += entry.values.iter().map(|one| one.bytes).sum::<u64>();
            }
        }
        let sum = |what: u32| sums.get(what as usize).copied().unwrap_or_default();
        let mut out = BundleCounters::default();
        for (link, what) in out.links.iter_mut().zip(0..) {
            *link = sum(what);
        }
        for (what, name) in KINDS {
            out.by_kind.insert(name, sum(what).packets);
        }
        for (what, name) in DROPS {
            out.dropped.insert(name, sum(what).packets);
        }
        Ok(out)
    }

    /// The lease for a device's held packets.
    ///
    /// # Errors
    /// The map is missing, or the device has no slot.
    pub fn hold_lease(&self, ends: BundleDevice) -> Result<HoldLease, BundleError> {
        let unknown = BundleError::Unknown { ifindex: ends.device };
        let (place, _) = self.find_slot(ends.device)?.ok_or(unknown)?;
        Ok(HoldLease { leases: self.loaded.table("leases")?, slot: place })
    }
}

impl HoldLease {
    /// Allows the program to pass packets to be held until this time of CLOCK_MONOTONIC; 0 ends that at once.
    ///
    /// # Errors
    /// The map refuses.
    pub fn renew(&self, until: MonotonicTime) -> Result<(), MapError> {
        self.leases.set(&self.slot, &until.0)
    }
}
