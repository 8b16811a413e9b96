//! The bundle's programs in the kernel: loads them, sets them at a bundle's device, writes and reads their maps.
//!
//! Everything is pinned, so that packets flow while no process lives. What is written is decided by the caller.

use std::collections::BTreeMap;

use bpf::load::{Program, load};
use bpf::{Home, HookError, Hooks, LoadError, Loaded, Side, Table, TableError};
use model::moment::Moment;
use thiserror::Error;

use crate::schedule::LINKS;
use crate::table::{Count, Entry, Place};

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
const HOOKS: Hooks = Hooks { what: "bundle", pins: "links-hooks" };
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
pub enum PlaneError {
    /// The program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its maps.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Where it stands.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// Too many devices.
    #[error(
        "all {places} places of the bundles' maps are taken: fewer bundles, or `steelyard stop` and a new start"
    )]
    Full {
        /// Places there are.
        places: u32,
    },
    /// The device was never prepared, or is forgotten.
    #[error("interface {ifindex} has no place in the bundles' maps")]
    Unknown {
        /// Its number.
        ifindex: u32,
    },
}

/// Both ends of a bundle's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The number of the device.
    pub device: u32,
    /// The number of its other end, where packets are held.
    pub other: u32,
}

/// What a bundle's programs counted since they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets and bytes given to each link.
    pub links: [Count; LINKS],
    /// Other counts by name.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Packets dropped, by why.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// The programs, loaded.
#[derive(Debug)]
pub struct Plane {
    home: Home,
    loaded: Loaded,
    places: Table<u32, Place>,
    bundles: Table<u32, Entry>,
    counts: Table<u32, Count>,
}

/// Says for how long packets may be given to be held.
#[derive(Debug)]
pub struct Lease {
    leases: Table<u32, u64>,
    place: u32,
}

impl Plane {
    /// Loads them; what is pinned is kept.
    ///
    /// # Errors
    /// Rights, kernel or pins are missing.
    pub fn open(home: &Home) -> Result<Plane, PlaneError> {
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
        let (places, bundles) = (loaded.table("places")?, loaded.table("bundles")?);
        let counts = loaded.table("counts")?;
        Ok(Plane { home: home.clone(), loaded, places, bundles, counts })
    }

    /// The program of a bundle's device, to be tried.
    ///
    /// # Errors
    /// It is missing.
    pub fn program(&self) -> Result<bpf::load::Running<'_>, PlaneError> {
        Ok(self.loaded.program(OUT.0)?)
    }

    /// Has the programs stand at both ends of a device; `false`: they did already.
    ///
    /// # Errors
    /// An end is missing, or the kernel refuses.
    pub fn attach(&self, device: &str, other: &str) -> Result<bool, PlaneError> {
        let due = HOOKS.attach(&self.home, &self.loaded, DUE, (other, Side::Egress))?;
        Ok(HOOKS.attach(&self.home, &self.loaded, OUT, (device, Side::Egress))? || due)
    }

    /// Leaves a device, which may be gone.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, device: &str, other: &str) -> Result<(), PlaneError> {
        HOOKS.detach(&self.home, device, OUT.1)?;
        Ok(HOOKS.detach(&self.home, other, DUE.1)?)
    }

    /// Gives both ends of a device their places; what is there is kept.
    ///
    /// # Errors
    /// The maps are full.
    pub fn prepare(&self, ends: Ends) -> Result<(), PlaneError> {
        for ifindex in [ends.device, ends.other] {
            if self.place(ifindex)?.is_some() {
                continue;
            }
            let at = self.search(ifindex, 0)?.ok_or(PlaneError::Full { places: PLACES })?.0;
            for what in 0..COUNTS {
                self.counts.set_each_cpu(&(at * COUNTS + what), &Count::default())?;
            }
            self.loaded.table("turns")?.set(&at, &0_u64)?;
            self.loaded.table("leases")?.set(&at, &0_u64)?;
            for which in 0..2 {
                self.bundles.set(&(2 * at + which), &Entry::none())?;
            }
            self.places.set(&at, &Place { ifindex, which: 0 })?;
        }
        Ok(())
    }

    /// From the next packet on this holds.
    ///
    /// # Errors
    /// The device has no place, or the map refuses.
    pub fn set(&self, ends: Ends, entry: &Entry) -> Result<(), PlaneError> {
        for ifindex in [ends.other, ends.device] {
            let (at, now) = self.place(ifindex)?.ok_or(PlaneError::Unknown { ifindex })?;
            // Nobody reads the other one, and the change to it is one word.
            let which = 1 - now.which.min(1);
            self.bundles.set(&(2 * at + which), entry)?;
            self.places.set(&at, &Place { ifindex, which })?;
        }
        Ok(())
    }

    /// What holds.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn get(&self, ends: Ends) -> Result<Option<Entry>, PlaneError> {
        let Some((at, now)) = self.place(ends.device)? else { return Ok(None) };
        Ok(self.bundles.get(&(2 * at + now.which.min(1)))?)
    }

    /// Forgets a device.
    ///
    /// # Errors
    /// A map refuses.
    pub fn forget(&self, ends: Ends) -> Result<(), PlaneError> {
        for ifindex in [ends.device, ends.other] {
            if let Some((at, _)) = self.place(ifindex)? {
                self.places.set(&at, &Place::default())?;
            }
        }
        Ok(())
    }

    fn place(&self, ifindex: u32) -> Result<Option<(u32, Place)>, TableError> {
        self.search(ifindex, ifindex)
    }

    /// The first place that is `of` somebody, in the order in which the program looks for an interface.
    fn search(&self, ifindex: u32, of: u32) -> Result<Option<(u32, Place)>, TableError> {
        for number in 0..PLACES {
            let at = ifindex.wrapping_add(number) % PLACES;
            if let Some(place) = self.places.get(&at)?.filter(|place| place.ifindex == of) {
                return Ok(Some((at, place)));
            }
        }
        Ok(None)
    }

    /// What was counted of a device.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn counts(&self, ends: Ends) -> Result<Counts, PlaneError> {
        let mut sums = [Count::default(); COUNTS as usize];
        for ifindex in [ends.device, ends.other] {
            let Some((at, _)) = self.place(ifindex)? else { continue };
            let all: Vec<u32> = (at * COUNTS..(at + 1) * COUNTS).collect();
            for (sum, (_, each)) in sums.iter_mut().zip(self.counts.each_cpu_of(&all)?) {
                sum.packets += each.iter().map(|one| one.packets).sum::<u64>();
                sum.bytes += each.iter().map(|one| one.bytes).sum::<u64>();
            }
        }
        let sum = |what: u32| sums.get(what as usize).copied().unwrap_or_default();
        let mut out = Counts::default();
        for (link, what) in out.links.iter_mut().zip(0..) {
            *link = sum(what);
        }
        for (what, name) in KINDS {
            out.kinds.insert(name, sum(what).packets);
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
    pub fn lease(&self, ends: Ends) -> Result<Lease, PlaneError> {
        let unknown = PlaneError::Unknown { ifindex: ends.device };
        let (place, _) = self.place(ends.device)?.ok_or(unknown)?;
        Ok(Lease { leases: self.loaded.table("leases")?, place })
    }
}

impl Lease {
    /// Packets may be given to be held until then, of CLOCK_MONOTONIC; `Moment(0)`: none any more.
    ///
    /// # Errors
    /// The map refuses.
    pub fn renew(&self, until: Moment) -> Result<(), TableError> {
        self.leases.set(&self.place, &until.0)
    }
}
