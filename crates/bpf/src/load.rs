//! Loads one object of a tenant: reuses pinned maps after a check of their ABI.
//!
//! A pinned map has a fixed size. A map that does not fit is rejected or, on request, replaced, which loses its
//! contents.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use libbpf_rs::{MapCore, MapHandle, Object, ObjectBuilder, ProgramInput};
use thiserror::Error;

use crate::libbpf_log::{self, CapturedLog, LoadRefusal};
use crate::pin_directory::{PinDirectory, PinDirectoryError};
use crate::typed_map::{MapError, TypedMap};
use crate::value::MapValue;

/// Name of the file beside the pin directory that records the ABI of the maps.
const MAPS: &str = "maps";

#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'a> {
    /// Name of the tenant: a directory under the home.
    pub tenant: &'a str,
    pub object: &'a [u8],
    /// Raised when the meaning of maps changes.
    pub version: u32,
    /// Fingerprint of the layout of the maps.
    pub fingerprint: u64,
    /// Sizes of maps that differ from those in the object. A pinned map has its own.
    pub sizes: &'a [MapEntryCount<'a>],
    /// Programs to load; others of the object are left out. Empty: all.
    pub only: &'a [&'a str],
    /// Whether maps of another ABI or size are replaced.
    pub replace: bool,
}

/// The size of one map of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapEntryCount<'a> {
    /// The name of the map.
    pub map: &'a str,
    pub entries: u32,
}

#[derive(Debug, Error)]
pub enum LoadError {
    /// The directory of the pins.
    #[error(transparent)]
    Home(#[from] PinDirectoryError),
    /// The pinned maps belong to another build.
    #[error(
        "the packet plane that runs has ABI {found}, this program has {expected}: its connections cannot be taken over; `steelyard stop` ends it, or start with `--replace`"
    )]
    Abi {
        found: String,
        /// The ABI of this build.
        expected: String,
    },
    /// The object file is invalid.
    #[error("the packet program cannot be read")]
    Open(#[source] libbpf_rs::Error),
    #[error("map `{name}` of the packet program cannot be set up")]
    Map {
        name: String,
        #[source]
        source: libbpf_rs::Error,
    },
    #[error("the kernel refused the packet program: {why}; {remedy}")]
    Kernel {
        /// The kernel's reason in one line.
        why: String,
        remedy: &'static str,
        #[source]
        source: libbpf_rs::Error,
    },
    #[error("the packet program has no `{0}`")]
    Missing(String),
    /// The record of the ABI.
    #[error(transparent)]
    Table(#[from] MapError),
}

/// A loaded object; its pinned maps outlive it.
#[derive(Debug)]
pub struct LoadedObject {
    object: Object,
    /// Whether the maps existed before.
    pub adopted: bool,
}

/// The pinned version and fingerprint.
struct AbiRecord {
    version: u32,
    fingerprint: u64,
}

impl MapValue for AbiRecord {
    /// The version, four bytes of padding before the aligned fingerprint, and the fingerprint.
    const SIZE: usize = 16;

    fn write(&self, out: &mut [u8]) {
        self.version.write(out);
        out[4..8].fill(0);
        self.fingerprint.write(&mut out[8..]);
    }

    fn read(bytes: &[u8]) -> AbiRecord {
        AbiRecord { version: u32::read(bytes), fingerprint: u64::read(&bytes[8..]) }
    }
}

impl AbiRecord {
    fn describe(&self) -> String {
        format!("{} ({:016x})", self.version, self.fingerprint)
    }
}

/// Loads `program` with its tenant's pinned maps, or with new ones, which are pinned.
pub fn load(home: &PinDirectory, program: &ProgramSpec<'_>) -> Result<LoadedObject, LoadError> {
    let expected = AbiRecord { version: program.version, fingerprint: program.fingerprint };
    let info = home.root().join(program.tenant).join("abi");
    let mut adopted = info.exists();
    if adopted {
        let map = MapHandle::from_pinned_path(&info)
            .map_err(|source| LoadError::Map { name: "abi".to_owned(), source })?;
        let found = TypedMap::<u32, AbiRecord>::new("abi", map)?.get(&0)?;
        let same = found.as_ref().is_some_and(|found| {
            found.version == expected.version && found.fingerprint == expected.fingerprint
        });
        if !same && !program.replace {
            let found = found.map_or_else(|| "none".to_owned(), |found| found.describe());
            return Err(LoadError::Abi { found, expected: expected.describe() });
        }
        adopted = same;
    }
    if !adopted {
        home.remove(program.tenant)?;
    }
    let maps = home.subdirectory(&format!("{}/{MAPS}", program.tenant))?;
    let object = open(home, program, &maps)?;
    if !adopted {
        pin_abi(&expected, &info)?;
    }
    Ok(LoadedObject { object, adopted })
}

fn open(home: &PinDirectory, program: &ProgramSpec<'_>, maps: &Path) -> Result<Object, LoadError> {
    // The ELF reader needs aligned bytes.
    let aligned: Vec<u64> = program.object.chunks(8).map(read_word).collect();
    let bytes: Vec<u8> = aligned.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let bytes = &bytes[..program.object.len()];
    let mut open = ObjectBuilder::default().open_memory(bytes).map_err(LoadError::Open)?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let failed = |source| LoadError::Map { name: name.clone(), source };
        if name.contains('.') {
            continue;
        }
        let pin = if name == "slots" { home.root().join("slots") } else { maps.join(&name) };
        if let Some(sized) = program.sizes.iter().find(|sized| sized.map == name) {
            map.set_max_entries(sized.entries).map_err(failed)?;
        }
        if pin.exists() {
            let pinned_map = MapHandle::from_pinned_path(&pin).map_err(failed)?;
            map.set_max_entries(pinned_map.max_entries()).map_err(failed)?;
        }
        map.set_pin_path(&pin).map_err(failed)?;
    }
    for mut one in open.progs_mut() {
        let name = one.name().to_string_lossy().into_owned();
        if !program.only.is_empty() && !program.only.contains(&name.as_str()) {
            one.set_autoload(false);
        }
    }
    let CapturedLog { result, log } = libbpf_log::capture_log(|| open.load());
    result.map_err(|source| {
        let LoadRefusal { why, remedy } = libbpf_log::explain_refusal(&log, source.kind());
        LoadError::Kernel { why, remedy, source }
    })
}

fn read_word(bytes: &[u8]) -> u64 {
    let mut out = [0; 8];
    out[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(out)
}

fn pin_abi(abi: &AbiRecord, path: &PathBuf) -> Result<(), LoadError> {
    let failed = |source| LoadError::Map { name: "abi".to_owned(), source };
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as _,
        ..Default::default()
    };
    let kind = libbpf_rs::MapType::Array;
    let mut map =
        MapHandle::create(kind, Some("steelyard_abi"), 4, AbiRecord::SIZE as u32, 1, &options)
            .map_err(failed)?;
    map.pin(path).map_err(failed)?;
    TypedMap::<u32, AbiRecord>::new("abi", map)?.set(&0, abi)?;
    Ok(())
}

impl LoadedObject {
    pub fn table<K: MapValue, V: MapValue>(&self, name: &str) -> Result<TypedMap<K, V>, LoadError> {
        Ok(TypedMap::new(name, self.map(name)?)?)
    }

    pub fn map(&self, name: &str) -> Result<MapHandle, LoadError> {
        let found = self.object.maps().find(|map| map.name() == name);
        let map = found.ok_or_else(|| LoadError::Missing(name.to_owned()))?;
        MapHandle::try_from(&map).map_err(|source| LoadError::Map { name: name.to_owned(), source })
    }

    /// The size of every map.
    pub fn sizes(&self) -> BTreeMap<String, u32> {
        let entry = |map: libbpf_rs::Map<'_>| {
            (map.name().to_string_lossy().into_owned(), map.max_entries())
        };
        self.object.maps().map(entry).collect()
    }

    /// A program by name, to be attached.
    pub fn program(&self, name: &str) -> Result<ProgramHandle<'_>, LoadError> {
        let found = self.object.progs_mut().find(|program| program.name() == name);
        found.map(ProgramHandle).ok_or_else(|| LoadError::Missing(name.to_owned()))
    }
}

pub struct ProgramHandle<'a>(libbpf_rs::ProgramMut<'a>);

/// The result of a test run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    pub return_code: u32,
    pub packet: Vec<u8>,
    /// Mean time of one run.
    pub time: Duration,
}

impl ProgramHandle<'_> {
    /// Runs the program on a packet `repeat` times without sending anything. The packet is not reset in between.
    pub fn test_run(&self, packet: &[u8], ifindex: u32, repeat: u32) -> libbpf_rs::Result<TestRun> {
        let mut context = [0; 24];
        let end = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        context[4..8].copy_from_slice(&end.to_ne_bytes());
        context[12..16].copy_from_slice(&ifindex.to_ne_bytes());
        let mut out = vec![0; packet.len() + ROOM];
        let output = self.0.test_run(ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(packet),
            data_out: Some(&mut out),
            repeat,
            ..Default::default()
        })?;
        let packet = output.data.map(|data| data.to_vec()).unwrap_or_default();
        Ok(TestRun { return_code: output.return_value, packet, time: output.duration })
    }
}

impl ProgramHandle<'_> {
    /// Runs a program of traffic control on a packet that leaves by the loopback, `repeat` times.
    pub fn test_run_egress(&self, packet: &[u8], repeat: u32) -> libbpf_rs::Result<TestRun> {
        let mut out = vec![0; packet.len() + ROOM];
        let output = self.0.test_run(ProgramInput {
            data_in: Some(packet),
            data_out: Some(&mut out),
            repeat,
            ..Default::default()
        })?;
        let packet = output.data.map(|data| data.to_vec()).unwrap_or_default();
        Ok(TestRun { return_code: output.return_value, packet, time: output.duration })
    }
}

/// Bytes that a program may add to a packet in a test run.
/// More than every tunnel's outer headers together.
const ROOM: usize = 512;

impl AsFd for ProgramHandle<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
