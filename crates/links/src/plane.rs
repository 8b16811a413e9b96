//! The bundle's programs in the kernel: loads them, sets them at a bundle's device, writes and reads their maps.
//!
//! Everything is pinned, so that packets flow while no process lives. What is written is decided by the caller.

use std::collections::BTreeMap;

use bpf::load::{Program, load};
use bpf::{Home, HookError, Hooks, LoadError, Loaded, Side, Table, TableError};
use model::moment::Moment;
use thiserror::Error;

use crate::schedule::LINKS;
use crate::table::{Count, Counted, Entry};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/links`.
const TENANT: &str = "links";
/// Raised when the maps of `bpf/bundle.bpf.c` change.
const VERSION: u32 = 1;
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
    /// Its place.
    #[error(transparent)]
    Hook(#[from] HookError),
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
    bundles: Table<u32, Entry>,
    turns: Table<u32, u64>,
    counts: Table<Counted, Count>,
}

/// Says for how long packets may be given to be held.
#[derive(Debug)]
pub struct Lease {
    leases: Table<u32, u64>,
    device: u32,
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
        let (bundles, turns) = (loaded.table("bundles")?, loaded.table("turns")?);
        let counts = loaded.table("counts")?;
        Ok(Plane { home: home.clone(), loaded, bundles, turns, counts })
    }

    /// The program of a bundle's device, to be tried.
    ///
    /// # Errors
    /// It is missing.
    pub fn program(&self) -> Result<bpf::load::Running<'_>, PlaneError> {
        Ok(self.loaded.program(OUT.0)?)
    }

    /// Has the programs stand at both ends of a device.
    ///
    /// # Errors
    /// An end is missing, or the kernel refuses.
    pub fn attach(&self, device: &str, other: &str) -> Result<(), PlaneError> {
        HOOKS.attach(&self.home, &self.loaded, DUE, (other, Side::Egress))?;
        Ok(HOOKS.attach(&self.home, &self.loaded, OUT, (device, Side::Egress))?)
    }

    /// Leaves a device, which may be gone.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn detach(&self, device: &str, other: &str) -> Result<(), PlaneError> {
        HOOKS.detach(&self.home, device, OUT.1)?;
        Ok(HOOKS.detach(&self.home, other, DUE.1)?)
    }

    /// Makes room for the counts and turns of a device; what is there is kept.
    ///
    /// # Errors
    /// The maps are full.
    pub fn prepare(&self, ends: Ends) -> Result<(), PlaneError> {
        let links = 0..u32::try_from(LINKS).unwrap_or(u32::MAX);
        let named = KINDS.iter().chain(&DROPS).map(|(what, _)| *what);
        for what in links.chain(named) {
            for ifindex in [ends.device, ends.other] {
                let key = Counted { ifindex, what };
                if self.counts.each_cpu(&key)?.is_empty() {
                    self.counts.set_each_cpu(&key, &Count::default())?;
                }
            }
        }
        if self.turns.get(&ends.device)?.is_none() {
            self.turns.set(&ends.device, &0)?;
        }
        Ok(())
    }

    /// From the next packet on this holds.
    ///
    /// # Errors
    /// The map refuses.
    pub fn set(&self, ends: Ends, entry: &Entry) -> Result<(), PlaneError> {
        self.bundles.set(&ends.other, entry)?;
        Ok(self.bundles.set(&ends.device, entry)?)
    }

    /// What holds.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn get(&self, ends: Ends) -> Result<Option<Entry>, PlaneError> {
        Ok(self.bundles.get(&ends.device)?)
    }

    /// Forgets a device.
    ///
    /// # Errors
    /// A map refuses.
    pub fn forget(&self, ends: Ends) -> Result<(), PlaneError> {
        for ifindex in [ends.device, ends.other] {
            self.bundles.remove(&ifindex)?;
            for key in self.counts.keys().into_iter().filter(|key| key.ifindex == ifindex) {
                self.counts.remove(&key)?;
            }
        }
        self.turns.remove(&ends.device)?;
        let leases: Table<u32, u64> = self.loaded.table("leases")?;
        leases.remove(&ends.device)?;
        Ok(())
    }

    /// What was counted of a device.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn counts(&self, ends: Ends) -> Result<Counts, PlaneError> {
        let sum = |what: u32| -> Result<Count, TableError> {
            let mut sum = Count::default();
            for ifindex in [ends.device, ends.other] {
                for one in self.counts.each_cpu(&Counted { ifindex, what })? {
                    sum.packets += one.packets;
                    sum.bytes += one.bytes;
                }
            }
            Ok(sum)
        };
        let mut out = Counts::default();
        for (link, what) in out.links.iter_mut().zip(0..) {
            *link = sum(what)?;
        }
        for (what, name) in KINDS {
            out.kinds.insert(name, sum(what)?.packets);
        }
        for (what, name) in DROPS {
            out.dropped.insert(name, sum(what)?.packets);
        }
        Ok(out)
    }

    /// The lease of a device's packets that are to be held.
    ///
    /// # Errors
    /// The map is missing.
    pub fn lease(&self, ends: Ends) -> Result<Lease, PlaneError> {
        Ok(Lease { leases: self.loaded.table("leases")?, device: ends.device })
    }
}

impl Lease {
    /// Packets may be given to be held until then, of CLOCK_MONOTONIC; `Moment(0)`: none any more.
    ///
    /// # Errors
    /// The map refuses.
    pub fn renew(&self, until: Moment) -> Result<(), TableError> {
        self.leases.set(&self.device, &until.0)
    }
}
