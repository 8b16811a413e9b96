//! A map with the types of its key and value. The tenant knows their meaning.

use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use thiserror::Error;

use crate::sys;
use crate::value::MapValue;

#[derive(Debug, Error)]
pub enum MapError {
    #[error("the program has no map `{0}`")]
    Missing(String),
    /// Keys or values have another size: the program was built from another ABI.
    #[error("map `{name}` holds {found} bytes a {part}, {expected} were expected")]
    Size {
        name: String,
        /// The part whose size differs: `key` or `value`.
        part: &'static str,
        found: usize,
        expected: usize,
    },
    #[error("map `{name}`: cannot {act}")]
    Kernel {
        name: String,
        act: &'static str,
        #[source]
        source: libbpf_rs::Error,
    },
}

/// Entries that are read in one call: bounds the buffer.
const BATCH: u32 = 4_096;

/// Entries of a per-CPU array that are read in one call: the buffer grows with the number of CPUs.
const RUN: usize = 512;

#[derive(Debug)]
pub struct TypedMap<K, V> {
    name: String,
    map: MapHandle,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: MapValue, V: MapValue> TypedMap<K, V> {
    /// Wraps a map whose sizes must match the types.
    pub fn new(name: &str, map: MapHandle) -> Result<TypedMap<K, V>, MapError> {
        let check = |part, found: u32, expected| {
            let found = found as usize;
            if found == expected {
                return Ok(());
            }
            Err(MapError::Size { name: name.to_owned(), part, found, expected })
        };
        check("key", map.key_size(), K::SIZE)?;
        check("value", map.value_size(), V::SIZE)?;
        Ok(TypedMap { name: name.to_owned(), map, types: PhantomData })
    }

    pub fn capacity(&self) -> u32 {
        self.map.max_entries()
    }

    pub fn get(&self, key: &K) -> Result<Option<V>, MapError> {
        let found = self.map.lookup(&key.bytes(), MapFlags::ANY);
        Ok(found.map_err(|source| self.map_error("read", source))?.map(|bytes| V::read(&bytes)))
    }

    pub fn set(&self, key: &K, value: &V) -> Result<(), MapError> {
        let done = self.map.update(&key.bytes(), &value.bytes(), MapFlags::ANY);
        done.map_err(|source| self.map_error("write", source))
    }

    /// Writes many entries in one call; `keys` and `values` have the same length.
    pub fn set_all(&self, keys: &[K], values: &[V]) -> Result<(), MapError> {
        if keys.is_empty() {
            return Ok(());
        }
        let mut key_bytes = Vec::with_capacity(keys.len() * K::SIZE);
        let mut value_bytes = Vec::with_capacity(values.len() * V::SIZE);
        keys.iter().for_each(|key| key_bytes.extend(key.bytes()));
        values.iter().for_each(|value| value_bytes.extend(value.bytes()));
        let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        let done =
            self.map.update_batch(&key_bytes, &value_bytes, count, MapFlags::ANY, MapFlags::ANY);
        done.map_err(|source| self.map_error("write", source))
    }

    /// Removes one entry of a hash or tree; `false` when there was none.
    pub fn remove(&self, key: &K) -> Result<bool, MapError> {
        match self.map.delete(&key.bytes()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(self.map_error("remove from", source)),
        }
    }

    pub fn keys(&self) -> Vec<K> {
        self.map.keys().map(|key| K::read(&key)).collect()
    }

    /// All entries at this moment, many in one call.
    pub fn entries(&self) -> Result<Vec<(K, V)>, MapError> {
        let found = self.map.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY);
        let found = found.map_err(|source| self.map_error("read", source))?;
        Ok(found.map(|(key, value)| (K::read(&key), V::read(&value))).collect())
    }

    /// One entry of a per-CPU map: a value for each CPU.
    pub fn each_cpu(&self, key: &K) -> Result<Vec<V>, MapError> {
        let found = self.map.lookup_percpu(&key.bytes(), MapFlags::ANY);
        let found = found.map_err(|source| self.map_error("read", source))?.unwrap_or_default();
        Ok(found.iter().map(|bytes| V::read(bytes)).collect())
    }

    /// Sets one entry of a per-CPU map to the same value on every CPU.
    pub fn set_each_cpu(&self, key: &K, value: &V) -> Result<(), MapError> {
        let cpus =
            libbpf_rs::num_possible_cpus().map_err(|source| self.map_error("write", source))?;
        let values = vec![value.bytes(); cpus];
        let done = self.map.update_percpu(&key.bytes(), &values, MapFlags::ANY);
        done.map_err(|source| self.map_error("write", source))
    }

    fn map_error(&self, act: &'static str, source: libbpf_rs::Error) -> MapError {
        MapError::Kernel { name: self.name.clone(), act, source }
    }
}

/// One entry of a per-CPU array: a value for each possible CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuValues<V> {
    pub index: u32,
    pub values: Vec<V>,
}

impl<V: MapValue> TypedMap<u32, V> {
    /// Entries of a per-CPU array, neighbouring indexes in one call: `indexes`
    /// ascend; indexes beyond the array's end are left out.
    pub fn each_cpu_entries(&self, indexes: &[u32]) -> Result<Vec<CpuValues<V>>, MapError> {
        let cpus =
            libbpf_rs::num_possible_cpus().map_err(|source| self.map_error("read", source))?;
        let value = V::SIZE.next_multiple_of(8);
        let mut found = Vec::with_capacity(indexes.len());
        for run in indexes
            .chunk_by(|one, next| one.checked_add(1) == Some(*next))
            .flat_map(|run| run.chunks(RUN))
        {
            let first = run[0];
            let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
            let bytes = sys::read_each_cpu(self.as_fd(), first, count, value * cpus);
            let bytes = bytes.map_err(|error| self.map_error("read", error.into()))?;
            let entries = bytes.chunks_exact(value * cpus);
            found.extend(run.iter().zip(entries).map(|(index, entry)| CpuValues {
                index: *index,
                values: entry.chunks_exact(value).map(V::read).collect(),
            }));
        }
        Ok(found)
    }
}

impl<K, V> AsFd for TypedMap<K, V> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
