//! The decapsulator on servers: loads it on an interface, removes it, and reads its counters.
//!
//! The decapsulator is a tenant of the dispatcher with its own pins, so it continues without a running process.
//! `model::preflight` checks whether a server is otherwise ready.

use std::net::IpAddr;
use std::path::Path;

use bpf::{
    AttachError, AttachedInterface, BpfAttachMode, Dispatcher, LoadError, NetworkInterface,
    PinDirectory, PinDirectoryError, ProgramSpec,
};
use bpf::{DispatcherSlot, MapError, MapValue, TypedMap, load as load_program};
use libbpf_rs::MapHandle;
use model::preflight::Encapsulation;
use thiserror::Error;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/decap.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/decap`.
const TENANT: &str = "decap";
/// Raised when the maps of `bpf/decap.bpf.c` change.
const VERSION: u32 = 1;
/// The default port of GUE.
pub const PORT: u16 = 6080;
/// Networks of allowed senders at most: the size of the map.
pub const FROM_LIMIT: usize = 1024;

/// Why the decapsulator could not be loaded, removed or read.
#[derive(Debug, Error)]
pub enum DecapError {
    /// The directory for pins.
    #[error(transparent)]
    Home(#[from] PinDirectoryError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Table(#[from] MapError),
    /// A map that is pinned cannot be opened.
    #[error("the pinned map `{name}` of the decapsulator cannot be opened")]
    Pin {
        name: &'static str,
        #[source]
        source: libbpf_rs::Error,
    },
    /// More networks than fit.
    #[error("at most {FROM_LIMIT} networks of senders can be named, not {0}")]
    TooManySenders(usize),
}

/// A network of senders; bits beyond the prefix are kept as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderNetwork {
    pub address: IpAddr,
    /// The prefix length in bits.
    pub bits: u8,
}

/// Encapsulations and allowed senders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecapSettings {
    pub protocols: Vec<Encapsulation>,
    /// UDP port of GUE.
    pub port: u16,
    /// Networks of allowed senders; empty: everybody.
    pub allowed_sources: Vec<SenderNetwork>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecapCounters {
    /// Unwrapped from bare IP.
    pub ipip: u64,
    pub gre: u64,
    pub gue: u64,
    /// Dropped: the sender is not allowed.
    pub foreign_source: u64,
    /// Dropped: it ends inside a header, or holds no IP packet.
    pub malformed: u64,
    /// Dropped: congestion was signalled that the inner packet cannot carry (RFC 6040 §4.2).
    pub congested: u64,
    /// Passed to the host unchanged: fragments, and other encapsulations.
    pub not_handled: u64,
}

/// An interface with the decapsulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecapsulatingInterface {
    pub name: String,
    /// It runs in the interface's driver.
    pub native: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecapsulationStatus {
    /// Interfaces that exist.
    pub interfaces: Vec<DecapsulatingInterface>,
    /// The settings; allowed senders are not read back.
    pub settings: DecapSettings,
    pub counts: DecapCounters,
}

/// Loads it on an interface; an existing decapsulator gets the new settings.
pub fn load(
    home: &PinDirectory,
    interface: &str,
    mode: BpfAttachMode,
    settings: &DecapSettings,
) -> Result<AttachedInterface, DecapError> {
    if settings.allowed_sources.len() > FROM_LIMIT {
        return Err(DecapError::TooManySenders(settings.allowed_sources.len()));
    }
    let dispatcher = Dispatcher::open(home)?;
    let program = ProgramSpec {
        tenant: TENANT,
        object: OBJECT,
        version: VERSION,
        fingerprint: 0,
        sizes: &[],
        only: &[],
        replace: true,
    };
    let loaded = load_program(home, &program)?;
    let from: TypedMap<DecapPrefix, u32> = loaded.table("from")?;
    let wanted: Vec<DecapPrefix> =
        settings.allowed_sources.iter().copied().map(DecapPrefix::from_network).collect();
    for prefix in &wanted {
        from.set(prefix, &1)?;
    }
    // Guarded from the first packet on: the list is written before the flag, and superfluous networks are removed last.
    loaded
        .table::<u32, RawDecapSettings>("settings")?
        .set(&0, &RawDecapSettings::from_settings(settings))?;
    for prefix in from.keys().iter().filter(|known| !wanted.contains(known)) {
        from.remove(prefix)?;
    }
    dispatcher.install(DispatcherSlot::Decap, loaded.program("decap")?)?;
    Ok(dispatcher.attach(interface, mode)?)
}

/// Removes it from an interface; `false`: it was not there. With the last interface all its pins are removed.
pub fn unload(home: &PinDirectory, interface: &str) -> Result<bool, DecapError> {
    let dispatcher = Dispatcher::open(home)?;
    // Where a packet plane shares the pins, the interface stays attached for it.
    let shared = home.root().join(crate::datapath::TENANT).exists();
    let was = if shared {
        dispatcher.uninstall(DispatcherSlot::Decap)?
    } else {
        dispatcher.detach(interface)?
    };
    if shared {
        home.remove(TENANT)?;
    } else if dispatcher.interfaces()?.is_empty() {
        drop(dispatcher);
        home.clear()?;
    }
    Ok(was)
}

/// The decapsulator with pins below this directory, which may not exist.
pub fn read_status(root: &Path) -> Result<Option<DecapsulationStatus>, DecapError> {
    let maps = root.join(TENANT).join("maps");
    if !maps.exists() {
        return Ok(None);
    }
    let open = |name: &'static str| {
        MapHandle::from_pinned_path(maps.join(name))
            .map_err(|source| DecapError::Pin { name, source })
    };
    let settings: TypedMap<u32, RawDecapSettings> = TypedMap::new("settings", open("settings")?)?;
    let counts: TypedMap<u32, u64> = TypedMap::new("counts", open("counts")?)?;
    let mut sums = [0; COUNTS];
    for (at, sum) in (0u32..).zip(&mut sums) {
        *sum = counts.each_cpu(&at)?.iter().sum();
    }
    let [ipip, gre, gue, foreign_source, malformed, congested, not_taken] = sums;
    let counts = DecapCounters {
        ipip,
        gre,
        gue,
        foreign_source,
        malformed,
        congested,
        not_handled: not_taken,
    };
    let entries = std::fs::read_dir(root.join("links")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let native =
        |name: &str| Some(NetworkInterface::find(name).ok()?.attached_program().ok()??.native);
    let interfaces = names
        .filter_map(|name| native(&name).map(|native| DecapsulatingInterface { name, native }));
    let settings = settings.get(&0)?.unwrap_or_default().into_settings();
    Ok(Some(DecapsulationStatus { interfaces: interfaces.collect(), settings, counts }))
}

/// How many counts there are.
const COUNTS: usize = 7;
/// Encapsulations and their bits in `settings.takes`.
const BITS: [(Encapsulation, u32); 3] =
    [(Encapsulation::Ipip, 1), (Encapsulation::Gre, 2), (Encapsulation::Gue, 4)];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RawDecapSettings {
    protocols: u32,
    port: u16,
    guarded: bool,
}

impl RawDecapSettings {
    fn from_settings(settings: &DecapSettings) -> RawDecapSettings {
        let bits = BITS.iter().filter(|(kind, _)| settings.protocols.contains(kind));
        let takes = bits.map(|(_, bit)| bit).sum();
        RawDecapSettings {
            protocols: takes,
            port: settings.port,
            guarded: !settings.allowed_sources.is_empty(),
        }
    }

    fn into_settings(self) -> DecapSettings {
        let kinds = BITS.iter().filter(|(_, bit)| self.protocols & bit != 0);
        DecapSettings {
            protocols: kinds.map(|(kind, _)| *kind).collect(),
            port: self.port,
            allowed_sources: Vec::new(),
        }
    }
}

impl MapValue for RawDecapSettings {
    /// The bytes of the entry in the BPF program, which has the same layout.
    const SIZE: usize = 8;

    fn write(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.protocols.to_ne_bytes());
        out[4..6].copy_from_slice(&self.port.to_ne_bytes());
        out[6..8].copy_from_slice(&u16::from(self.guarded).to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> RawDecapSettings {
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        RawDecapSettings { protocols: u32::read(bytes), port: half(4), guarded: half(6) != 0 }
    }
}

/// `struct prefix`: IPv4 is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DecapPrefix {
    bits: u32,
    ip: [u8; 16],
}

impl DecapPrefix {
    fn from_network(network: SenderNetwork) -> DecapPrefix {
        let bits = network.bits;
        match network.address {
            IpAddr::V4(ip) => {
                DecapPrefix { bits: 96 + u32::from(bits.min(32)), ip: ip.to_ipv6_mapped().octets() }
            }
            IpAddr::V6(ip) => DecapPrefix { bits: u32::from(bits.min(128)), ip: ip.octets() },
        }
    }
}

impl MapValue for DecapPrefix {
    /// The prefix length and 16 bytes of address: the key of an LPM trie (BPF_MAP_TYPE_LPM_TRIE of linux/bpf.h).
    const SIZE: usize = 20;

    fn write(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.bits.to_ne_bytes());
        out[4..20].copy_from_slice(&self.ip);
    }

    fn read(bytes: &[u8]) -> DecapPrefix {
        let mut ip = [0; 16];
        ip.copy_from_slice(&bytes[4..20]);
        DecapPrefix { bits: u32::read(bytes), ip }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_prefixes_come_back_from_their_bytes() {
        let settings = DecapSettings {
            protocols: vec![Encapsulation::Ipip, Encapsulation::Gue],
            port: 6080,
            allowed_sources: vec![],
        };
        assert_eq!(
            RawDecapSettings::read(&RawDecapSettings::from_settings(&settings).bytes())
                .into_settings(),
            settings
        );
        let network = SenderNetwork { address: "10.0.0.0".parse().unwrap(), bits: 8 };
        let guarded = DecapSettings { allowed_sources: vec![network], ..settings };
        assert!(RawDecapSettings::from_settings(&guarded).guarded);
        let prefix = DecapPrefix::from_network(network);
        assert_eq!((prefix.bits, &prefix.ip[10..13]), (104, &[0xff, 0xff, 10][..]));
        assert_eq!(DecapPrefix::read(&prefix.bytes()), prefix);
    }
}
