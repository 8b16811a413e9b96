//! The bundle's programs in the kernel: loads them, sets them at a bundle's device, writes and reads their maps.
//!
//! Everything is pinned, so that packets flow while no process lives. What is written is decided by the caller.

use std::collections::BTreeMap;

use bpf::load::{ProgramSpec, load};
use bpf::{
    LoadError, LoadedObject, MapError, PinDirectory, TcDirection, TcxError, TcxPrograms, TypedMap,
};
use model::monotonic_time::MonotonicTime;
use thiserror::Error;

use crate::schedule::LINKS;
use crate::table::{BundleEntry, BundleSlot, PacketCount};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/links`.
const TENANT: &str = "links";
/// Raised when the maps of `bpf/bundle.bpf.c` change.
const VERSION: u32 = 2;
/// Places in the maps, as the program has them.
const PLACES: u32 = 64;
/// Counts of a place, as the program has them.
const COUNTS: u32 = 32;
/// Where its programs stand.
const HOOKS: TcxPrograms = TcxPrograms { what: "bundle", pins: "links-hooks" };
/// The program of a bundle's device, and that of its other end.
const OUT: (&str, &str) = ("bundle_out", "out");
const DUE: (&str, &str) = ("bundle_due", "due");

/// What is counted beside the links' packets, by its number in the program: neither loss nor refusal.
const KINDS: [(u32, &str); 4] =
    [(16, "held"), (17, "not-held"), (18, "fragmented-datagrams"), (19, "flowlets")];
/// Why packets were dropped.
const DROPS: [(u32, &str); 6] = [
    (24, "no-link-lives"),
    (25, "not-ip"),
    (26, "no-next-hop-of-its-family"),
    (27, "multicast"),
    (28, "malformed"),
    (29, "not-ours"),
];

/// Why it does not stand.
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
    /// The device was never prepared, or is forgotten.
    #[error("interface {ifindex} has no place in the bundles' maps")]
    Unknown { ifindex: u32 },
}

/// Both ends of a bundle's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleDevice {
    /// The number of the device.
    pub device: u32,
    /// The number of its other end, where packets are held.
    pub peer_device: u32,
}

/// What a bundle's programs counted since they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleCounters {
    /// Packets and bytes given to each link.
    pub links: [PacketCount; LINKS],
    /// Other counts by name.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Packets dropped, by why.
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

/// Says for how long packets may be given to be held.
#[derive(Debug)]
pub struct HoldLease {
    leases: TypedMap<u32, u64>,
    slot: u32,
}

impl BundleDatapath {
    /// Loads them; what is pinned is kept.
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

    /// The program of a bundle's device, to be tried.
    ///
    /// # Errors
    /// It is missing.
    pub fn program(&self) -> Result<bpf::load::ProgramHandle<'_>, BundleError> {
        Ok(self.loaded.program(OUT.0)?)
    }

    /// Has the programs stand at both ends of a device; `false`: they did already.
    ///
    /// # Errors
    /// An end is missing, or the kernel refuses.
    pub fn attach(&self, device: &str, other: &str) -> Result<bool, BundleError> {
        let due =
            HOOKS.attach(&self.pin_directory, &self.loaded, DUE, (other, TcDirection::Egress))?;
        Ok(HOOKS.attach(&self.pin_directory, &self.loaded, OUT, (device, TcDirection::Egress))?
            || due)
    }

    /// Leaves a device, which may be gone.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, device: &str, other: &str) -> Result<(), BundleError> {
        HOOKS.detach(&self.pin_directory, device, OUT.1)?;
        Ok(HOOKS.detach(&self.pin_directory, other, DUE.1)?)
    }

    /// Gives both ends of a device their places; what is there is kept.
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

    /// From the next packet on this holds.
    ///
    /// # Errors
    /// The device has no place, or the map refuses.
    pub fn set_bundle(&self, ends: BundleDevice, entry: &BundleEntry) -> Result<(), BundleError> {
        for ifindex in [ends.peer_device, ends.device] {
            let (at, now) = self.find_slot(ifindex)?.ok_or(BundleError::Unknown { ifindex })?;
            // Nobody reads the other one, and the change to it is one word.
            let which = 1 - now.active_copy.min(1);
            self.bundles.set(&(2 * at + which), entry)?;
            self.slots.set(&at, &BundleSlot { ifindex, active_copy: which })?;
        }
        Ok(())
    }

    /// What holds.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn get_bundle(&self, ends: BundleDevice) -> Result<Option<BundleEntry>, BundleError> {
        let Some((at, now)) = self.find_slot(ends.device)? else { return Ok(None) };
        Ok(self.bundles.get(&(2 * at + now.active_copy.min(1)))?)
    }

    /// Forgets a device.
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

    /// The first place that is `of` somebody, in the order in which the program looks for an interface.
    fn search_slot(&self, ifindex: u32, of: u32) -> Result<Option<(u32, BundleSlot)>, MapError> {
        for number in 0..PLACES {
            let at = ifindex.wrapping_add(number) % PLACES;
            if let Some(place) = self.slots.get(&at)?.filter(|place| place.ifindex == of) {
                return Ok(Some((at, place)));
            }
        }
        Ok(None)
    }

    /// What was counted of a device.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn counts(&self, ends: BundleDevice) -> Result<BundleCounters, BundleError> {
        let mut sums = [PacketCount::default(); COUNTS as usize];
        for ifindex in [ends.device, ends.peer_device] {
            let Some((at, _)) = self.find_slot(ifindex)? else { continue };
            let all: Vec<u32> = (at * COUNTS..(at + 1) * COUNTS).collect();
            for (sum, (_, each)) in sums.iter_mut().zip(self.counts.each_cpu_entries(&all)?) {
                sum.packets += each.iter().map(|one| one.packets).sum::<u64>();
                sum.bytes += each.iter().map(|one| one.bytes).sum::<u64>();
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

    /// The lease of a device's packets that are to be held.
    ///
    /// # Errors
    /// The map is missing, or the device has no place.
    pub fn hold_lease(&self, ends: BundleDevice) -> Result<HoldLease, BundleError> {
        let unknown = BundleError::Unknown { ifindex: ends.device };
        let (place, _) = self.find_slot(ends.device)?.ok_or(unknown)?;
        Ok(HoldLease { leases: self.loaded.table("leases")?, slot: place })
    }
}

impl HoldLease {
    /// Packets may be given to be held until then, of CLOCK_MONOTONIC; `Moment(0)`: none any more.
    ///
    /// # Errors
    /// The map refuses.
    pub fn renew(&self, until: MonotonicTime) -> Result<(), MapError> {
        self.leases.set(&self.slot, &until.0)
    }
}
