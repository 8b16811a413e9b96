//! Loaded planes that tests use one after another: the kernel checks a program for a second or two when it is loaded.
//!
//! A plane that comes back is emptied, so that the next test finds what a new one has.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use l4::PacketDatapath;
use l4::abi::{Config, Method, Outcome};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, RingBufferBuilder};

use super::usual::{CLIENT4, VIP4, fill, syn};
use super::world::{DatapathTestbed, PASS};

static FREE: Mutex<Vec<PooledPlane>> = Mutex::new(Vec::new());

struct PooledPlane {
    plane: PacketDatapath,
    first: FirstState,
}

/// What a plane of the pool had when it was new.
struct FirstState {
    maps: Vec<MapHandle>,
    /// Everything else was zero or empty.
    config: Config,
}

impl FirstState {
    fn empty(&self, plane: &PacketDatapath) {
        self.maps.iter().for_each(empty_map);
        plane.config.set(&0, &self.config).unwrap();
    }
}

/// A plane that a test has for itself. One of the pool goes back there, unless the test failed.
pub struct PlaneLease {
    /// `None` only while it goes back.
    plane: Option<PacketDatapath>,
    /// `None` for a plane that ends with its test.
    first: Option<FirstState>,
}

impl PlaneLease {
    /// A plane of the pool that nobody uses.
    pub fn take_free() -> Option<PlaneLease> {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map(|one| PlaneLease { plane: Some(one.plane), first: Some(one.first) })
    }

    /// A new plane that goes to the pool afterwards; `pins` is the directory of its pinned maps.
    pub fn for_pool(plane: PacketDatapath, pins: &Path) -> PlaneLease {
        let files = std::fs::read_dir(pins).unwrap().map(|file| file.unwrap().path());
        let maps = files.map(|file| MapHandle::from_pinned_path(file).unwrap()).collect();
        let config = plane.config.get(&0).unwrap().unwrap();
        PlaneLease { plane: Some(plane), first: Some(FirstState { maps, config }) }
    }

    /// Removes what the test wrote.
    fn empty(&self) {
        self.first.as_ref().unwrap().empty(self);
    }

    /// A plane that ends with its test.
    pub fn alone(plane: PacketDatapath) -> PlaneLease {
        PlaneLease { plane: Some(plane), first: None }
    }
}

impl Deref for PlaneLease {
    type Target = PacketDatapath;

    fn deref(&self) -> &PacketDatapath {
        self.plane.as_ref().unwrap()
    }
}

impl Drop for PlaneLease {
    fn drop(&mut self) {
        let (Some(plane), Some(first)) = (self.plane.take(), self.first.take()) else { return };
        if std::thread::panicking() {
            return;
        }
        first.empty(&plane);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(PooledPlane { plane, first });
    }
}

fn empty_map(map: &MapHandle) {
    match map.map_type() {
        MapType::Hash | MapType::LruHash | MapType::LpmTrie => {
            map.keys().collect::<Vec<_>>().iter().for_each(|key| map.delete(key).unwrap());
        }
        MapType::Array => write_zeros(map),
        MapType::PercpuArray => write_zeros_on_each_cpu(map),
        MapType::RingBuf => drain(map),
        // Its programs stay.
        MapType::ProgArray => {}
        other => panic!("a plane has maps of the kind {other:?}, which nobody empties"),
    }
}

fn write_zeros(map: &MapHandle) {
    let entries = map.max_entries();
    let keys: Vec<u8> = (0..entries).flat_map(u32::to_ne_bytes).collect();
    let values = vec![0; entries as usize * map.value_size() as usize];
    map.update_batch(&keys, &values, entries, MapFlags::ANY, MapFlags::ANY).unwrap();
}

fn write_zeros_on_each_cpu(map: &MapHandle) {
    let zeros = vec![vec![0; map.value_size() as usize]; libbpf_rs::num_possible_cpus().unwrap()];
    for key in 0..map.max_entries() {
        map.update_percpu(&key.to_ne_bytes(), &zeros, MapFlags::ANY).unwrap();
    }
}

fn drain(map: &MapHandle) {
    let mut builder = RingBufferBuilder::new();
    builder.add(map, |_| 0).unwrap();
    let ring = builder.build().unwrap();
    ring.poll(Duration::ZERO).unwrap();
    ring.consume().unwrap();
}

/// The entries of each map that are not zero. `config` has the secret and the clock of its test.
fn entries(lease: &PlaneLease) -> BTreeMap<String, usize> {
    let maps = &lease.first.as_ref().unwrap().maps;
    let count = |map: &MapHandle| match map.map_type() {
        MapType::ProgArray | MapType::RingBuf => 0,
        MapType::PercpuArray => (0..map.max_entries())
            .filter_map(|key| map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY).unwrap())
            .filter(|values| values.iter().flatten().any(|byte| *byte != 0))
            .count(),
        MapType::Array => map
            .lookup_batch(4_096, MapFlags::ANY, MapFlags::ANY)
            .unwrap()
            .filter(|(_, value)| value.iter().any(|byte| *byte != 0))
            .count(),
        _ => map.keys().count(),
    };
    maps.iter().map(|map| (map.name().to_string_lossy().into_owned(), count(map))).collect()
}

#[test]
fn a_plane_that_comes_back_has_what_a_new_one_has() {
    let Some(world) = DatapathTestbed::loaded() else { return };
    let first = entries(&world.plane);
    assert!(first.iter().all(|(map, count)| *count == usize::from(map == "config")), "{first:?}");
    fill(&world, Method::Nat);
    let syn = syn(CLIENT4, VIP4, 4_000);
    world.forwarded("before", &syn);
    let used: usize = entries(&world.plane).values().sum();
    assert!(used > 30, "{used}");
    world.plane.empty();
    assert_eq!(entries(&world.plane), first);
    world.expect("no service", &syn.bytes(), Outcome::NotOurs, PASS);
}
