//! Opens the packet plane: loads the datapath, adopts or makes its maps, and gives them out with their types.
//!
//! It writes only what must be there before the first packet: the masks of the tables and their secret. All else is
//! written by whoever holds the plane, in the order that `bpf/README.md` gives.

use std::io;

use bpf::{Home, LoadError, Loaded, Program, Table, load};
use thiserror::Error;

use crate::abi;
use crate::abi::{
    Address, Bucket, Config, Fate, Fragment, Gauge, GuardKey, GuardValue, Hand, Interface, Owners,
    PlaneCount, Pool, Record, Rule, Server, ServerCount, Service, ServiceCount, Share, Share4,
    Share6, Source, SourceUse, Used, Vip, Vip4, Vip6, Watch, WatchCount, Way,
};
use crate::sizes::Sizes;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lb.bpf.o"));

/// Name of the tenant: its pins lie under `HOME/balance`.
pub const TENANT: &str = "balance";

/// Why the plane is not open.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Loading the datapath.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its first words.
    #[error(transparent)]
    Table(#[from] bpf::TableError),
    /// No random secret could be had.
    #[error("the kernel gives no random numbers for the secret of the tables")]
    Random(#[source] io::Error),
}

/// The plane's maps, by the names that the datapath gives them.
#[allow(missing_docs, reason = "bpf/README.md tells what each map means")]
#[derive(Debug)]
pub struct Plane {
    loaded: Loaded,
    pub config: Table<u32, Config>,
    pub vips4: Table<Vip4, Vip>,
    pub vips6: Table<Vip6, Vip>,
    pub addresses: Table<Address, u32>,
    pub holds: Table<Address, u64>,
    pub services: Table<u32, Service>,
    pub gauges: Table<u32, Gauge>,
    pub meters: Table<u32, Used>,
    pub pools: Table<u32, Pool>,
    pub schedule: Table<u32, u32>,
    pub servers: Table<u32, Server>,
    pub ways: Table<u32, Way>,
    pub learned: Table<u32, Way>,
    pub shares4: Table<Share4, u32>,
    pub shares6: Table<Share6, u32>,
    pub shares: Table<u32, Share>,
    pub share_list: Table<u32, u32>,
    pub hands: Table<u32, Hand>,
    pub records: Table<u32, Record>,
    pub record_owners: Table<u32, Owners>,
    pub forward: Table<u32, Bucket>,
    pub flows: Table<u32, Bucket>,
    pub flow_owners: Table<u32, Owners>,
    pub crowd: Table<u32, Bucket>,
    pub sticky: Table<u32, Bucket>,
    pub flows_changed: Table<u32, u64>,
    pub records_changed: Table<u32, u64>,
    pub sticky_changed: Table<u32, u64>,
    pub fragments: Table<Fragment, Fate>,
    pub guards: Table<GuardKey, GuardValue>,
    pub sources: Table<Source, SourceUse>,
    pub bans: Table<Source, u32>,
    pub rules: Table<u32, Rule>,
    pub rule_used: Table<u32, u64>,
    pub interfaces: Table<u32, Interface>,
    pub watched: Table<u32, Watch>,
    pub watch_counts: Table<u32, WatchCount>,
    pub server_counts: Table<u32, ServerCount>,
    pub service_counts: Table<u32, ServiceCount>,
    pub plane_counts: Table<u32, PlaneCount>,
}

/// What hands packets over that are to be sent on as fragments.
#[derive(Debug)]
pub struct Oversized {
    /// The ring of packets.
    pub ring: libbpf_rs::MapHandle,
    /// The tick of the last sign of life of whoever takes them; 0 when nobody does.
    pub alive: Table<u32, u32>,
}

impl Plane {
    /// Loads the datapath under a directory of pins. Tables that are pinned are adopted with their own sizes;
    /// `replace` throws away those of another ABI instead of refusing.
    pub fn open(home: &Home, sizes: &Sizes, replace: bool) -> Result<Plane, OpenError> {
        let entries = sizes.entries();
        let loaded = load(
            home,
            &Program {
                tenant: TENANT,
                object: OBJECT,
                version: abi::ABI_VERSION,
                fingerprint: abi::FINGERPRINT,
                sizes: &entries,
                only: &["balance", "errors", "cookies"],
                replace,
            },
        )?;
        let plane = Plane::of(loaded)?;
        if !plane.loaded.adopted {
            plane.begin()?;
        }
        Ok(plane)
    }

    /// Whether the tables were there before, with their connections.
    pub fn adopted(&self) -> bool {
        self.loaded.adopted
    }

    /// The program to put into the dispatcher's slot.
    pub fn program(&self) -> Result<bpf::load::Running<'_>, LoadError> {
        self.loaded.program("balance")
    }

    /// What the maps are named, and how many entries the kernel has for each.
    pub fn sizes(&self) -> std::collections::BTreeMap<String, u32> {
        self.loaded.sizes()
    }

    /// The ring of notices (`abi::Notice`), for `libbpf_rs`.
    pub fn events(&self) -> Result<libbpf_rs::MapHandle, LoadError> {
        self.loaded.map("events")
    }

    /// Packets that are to be sent on as fragments (`abi::Oversized` before each), for whoever makes them.
    ///
    /// # Errors
    /// The kernel does not give the maps.
    pub fn oversized(&self) -> Result<Oversized, LoadError> {
        let (ring, alive) = (self.loaded.map("oversized")?, self.loaded.table("fragmenter")?);
        Ok(Oversized { ring, alive })
    }

    fn of(loaded: Loaded) -> Result<Plane, LoadError> {
        Ok(Plane {
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
            ways: loaded.table("ways")?,
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
            crowd: loaded.table("crowd")?,
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

    fn begin(&self) -> Result<(), OpenError> {
        let mut secret = [0; 32];
        let got = rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty());
        if got.map_err(|error| OpenError::Random(error.into()))? < secret.len() {
            return Err(OpenError::Random(io::ErrorKind::UnexpectedEof.into()));
        }
        let word = |at: usize| <u64 as bpf::Value>::read(&secret[at * 8..]);
        let config = Config {
            secret: [word(0), word(1), word(2), word(3)],
            flow_mask: self.flows.capacity() - 1,
            sticky_mask: self.sticky.capacity() - 1,
            forward_mask: self.forward.capacity() - 1,
            crowd_mask: self.crowd.capacity() - 1,
            ..Config::default()
        };
        Ok(self.config.set(&0, &config)?)
    }
}
