//! Opens the packet plane: loads the datapath, adopts or creates its maps, and provides typed access to them.
//!
//! It writes only what must exist before the first packet: the masks of the tables and their secret. The owner of the
//! plane writes the rest, in the order of `bpf/README.md`.

use std::io;

use bpf::{LoadError, LoadedObject, PinDirectory, ProgramSpec, TypedMap, load};
use thiserror::Error;

use crate::abi;
use crate::abi::{
    Address, Bucket, Config, Fate, Fragment, Gauge, GuardKey, GuardValue, Hand, Interface, NextHop,
    Owners, PlaneCount, Pool, Record, Rule, Server, ServerCount, Service, ServiceCount, Share,
    Share4, Share6, Source, SourceUse, Used, Vip, Vip4, Vip6, Watch, WatchCount,
};
use crate::map_sizes::TableSizes;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lb.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/balance`.
pub const TENANT: &str = "balance";

/// Why the plane is not open.
#[derive(Debug, Error)]
pub enum DatapathError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Table(#[from] bpf::MapError),
    /// The kernel provides no random secret.
    #[error("the kernel gives no random numbers for the secret of the tables")]
    Random(#[source] io::Error),
}

/// The plane's maps, by their names in the datapath.
#[allow(missing_docs, reason = "bpf/README.md tells what each map means")]
#[derive(Debug)]
pub struct PacketDatapath {
    loaded: LoadedObject,
    pub config: TypedMap<u32, Config>,
    pub vips4: TypedMap<Vip4, Vip>,
    pub vips6: TypedMap<Vip6, Vip>,
    pub addresses: TypedMap<Address, u32>,
    pub holds: TypedMap<Address, u64>,
    pub services: TypedMap<u32, Service>,
    pub gauges: TypedMap<u32, Gauge>,
    pub meters: TypedMap<u32, Used>,
    pub pools: TypedMap<u32, Pool>,
    pub schedule: TypedMap<u32, u32>,
    pub servers: TypedMap<u32, Server>,
    pub next_hops: TypedMap<u32, NextHop>,
    pub learned: TypedMap<u32, NextHop>,
    pub shares4: TypedMap<Share4, u32>,
    pub shares6: TypedMap<Share6, u32>,
    pub shares: TypedMap<u32, Share>,
    pub share_list: TypedMap<u32, u32>,
    pub hands: TypedMap<u32, Hand>,
    pub records: TypedMap<u32, Record>,
    pub record_owners: TypedMap<u32, Owners>,
    pub forward: TypedMap<u32, Bucket>,
    pub flows: TypedMap<u32, Bucket>,
    pub flow_owners: TypedMap<u32, Owners>,
    pub per_client: TypedMap<u32, Bucket>,
    pub sticky: TypedMap<u32, Bucket>,
    pub flows_changed: TypedMap<u32, u64>,
    pub records_changed: TypedMap<u32, u64>,
    pub sticky_changed: TypedMap<u32, u64>,
    pub fragments: TypedMap<Fragment, Fate>,
    pub guards: TypedMap<GuardKey, GuardValue>,
    pub sources: TypedMap<Source, SourceUse>,
    pub bans: TypedMap<Source, u32>,
    pub rules: TypedMap<u32, Rule>,
    pub rule_used: TypedMap<u32, u64>,
    pub interfaces: TypedMap<u32, Interface>,
    pub watched: TypedMap<u32, Watch>,
    pub watch_counts: TypedMap<u32, WatchCount>,
    pub server_counts: TypedMap<u32, ServerCount>,
    pub service_counts: TypedMap<u32, ServiceCount>,
    pub plane_counts: TypedMap<u32, PlaneCount>,
}

/// The maps for packets that must be sent on as fragments.
#[derive(Debug)]
pub struct OversizedRing {
    /// The ring of packets.
    pub ring: libbpf_rs::MapHandle,
    /// The tick of the fragmenting thread's last report; 0 if no such thread runs.
    pub alive_tick: TypedMap<u32, u32>,
}

impl PacketDatapath {
    /// Loads the datapath under a pin directory. Pinned tables are adopted with their own sizes; `replace` removes
    /// those of another ABI instead of failing.
    pub fn open(
        home: &PinDirectory,
        sizes: &TableSizes,
        replace: bool,
    ) -> Result<PacketDatapath, DatapathError> {
        let entries = sizes.entries();
        let loaded = load(
            home,
            &ProgramSpec {
                tenant: TENANT,
                object: OBJECT,
                version: abi::ABI_VERSION,
                fingerprint: abi::FINGERPRINT,
                sizes: &entries,
                only: &["balance", "errors", "cookies"],
                replace,
            },
        )?;
        let plane = PacketDatapath::from_loaded(loaded)?;
        if !plane.loaded.adopted {
            plane.initialize()?;
        }
        Ok(plane)
    }

    /// Whether the tables were there before, with their connections.
    pub fn is_adopted(&self) -> bool {
        self.loaded.adopted
    }

    /// The program to put into the dispatcher's slot.
    pub fn program(&self) -> Result<bpf::load::ProgramHandle<'_>, LoadError> {
        self.loaded.program("balance")
    }

    /// The names of the maps and their sizes in the kernel.
    pub fn sizes(&self) -> std::collections::BTreeMap<String, u32> {
        self.loaded.sizes()
    }

    /// The ring of notices (`abi::Notice`), for `libbpf_rs`.
    pub fn events(&self) -> Result<libbpf_rs::MapHandle, LoadError> {
        self.loaded.map("events")
    }

    /// The ring of packets to be sent as fragments (`abi::Oversized` before each).
    ///
    /// # Errors
    /// The kernel does not provide the maps.
    pub fn oversized(&self) -> Result<OversizedRing, LoadError> {
        let ring = self.loaded.map("oversized")?;
        let alive = self.loaded.table("fragmenter")?;
        Ok(OversizedRing { ring, alive_tick: alive })
    }

    fn from_loaded(loaded: LoadedObject) -> Result<PacketDatapath, LoadError> {
        Ok(PacketDatapath {
            config: loaded.table("config")?,
            vips4: loaded.table("vips4")?,
            vips6: loaded.table("vips6")?,
            addresses: loaded.table("addresses")?,
            holds: loaded.table("holds")?,
            services: loaded.table("services")?,
            gauges: loaded.table("gauges")?,
            meters: loaded.table("meters")?,
            pools: loaded.table("pools")?,
            schedule: loaded.table("schedule")?,
            servers: loaded.table("servers")?,
            next_hops: loaded.table("next_hops")?,
            learned: loaded.table("learned")?,
            shares4: loaded.table("shares4")?,
            shares6: loaded.table("shares6")?,
            shares: loaded.table("shares")?,
            share_list: loaded.table("share_list")?,
            hands: loaded.table("hands")?,
            records: loaded.table("records")?,
            record_owners: loaded.table("record_owners")?,
            forward: loaded.table("forward")?,
            flows: loaded.table("flows")?,
            flow_owners: loaded.table("flow_owners")?,
            per_client: loaded.table("per_client")?,
            sticky: loaded.table("sticky")?,
            flows_changed: loaded.table("flows_changed")?,
            records_changed: loaded.table("records_changed")?,
            sticky_changed: loaded.table("sticky_changed")?,
            fragments: loaded.table("fragments")?,
            guards: loaded.table("guards")?,
            sources: loaded.table("sources")?,
            bans: loaded.table("bans")?,
            rules: loaded.table("rules")?,
            rule_used: loaded.table("rule_used")?,
            interfaces: loaded.table("interfaces")?,
            watched: loaded.table("watched")?,
            watch_counts: loaded.table("watch_counts")?,
            server_counts: loaded.table("server_counts")?,
            service_counts: loaded.table("service_counts")?,
            plane_counts: loaded.table("plane_counts")?,
            loaded,
        })
    }

    fn initialize(&self) -> Result<(), DatapathError> {
        let mut secret = [0; 32];
        let got = rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty());
        if got.map_err(|error| DatapathError::Random(error.into()))? < secret.len() {
            return Err(DatapathError::Random(io::ErrorKind::UnexpectedEof.into()));
        }
        let word = |at: usize| <u64 as bpf::MapValue>::read(&secret[at * 8..]);
        let config = Config {
            secret: [word(0), word(1), word(2), word(3)],
            flow_mask: self.flows.capacity() - 1,
            sticky_mask: self.sticky.capacity() - 1,
            forward_mask: self.forward.capacity() - 1,
            per_client_mask: self.per_client.capacity() - 1,
            ..Config::default()
        };
        Ok(self.config.set(&0, &config)?)
    }
}
