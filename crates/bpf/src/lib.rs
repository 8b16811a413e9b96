//! Loads, pins and versions BPF objects, and shares one XDP program per interface among ordered tenants.
//!
//! Everything is pinned under one directory ([`PinDirectory`]), so that packets are forwarded without a running daemon.
//! The maps belong to the tenants.

pub mod attach;
pub mod cgroup;
pub mod gate;
pub mod interface;
mod libbpf_log;
pub mod load;
pub mod mmap_array;
pub mod pin_directory;
pub mod pin_lifetime;
pub mod pin_owner;
mod sys;
pub mod tcx;
pub mod typed_map;
pub mod value;

pub use attach::{AttachError, AttachedInterface, BpfAttachMode, Dispatcher, DispatcherSlot};
pub use cgroup::{CgroupError, CgroupPrograms, ConnectHook};
pub use gate::{AddressGate, BlockedPackets, GateError};
pub use interface::{InterfaceError, NetworkInterface, XdpTransmitSupport};
pub use load::{LoadError, LoadedObject, MapEntryCount, ProgramSpec, load};
pub use mmap_array::MappedArray;
pub use pin_directory::{PinDirectory, PinDirectoryError};
pub use pin_owner::{ClaimError, ClaimScope, OwnerRecord, PinOwner};
pub use tcx::{TcDirection, TcxError, TcxPoint, TcxProgram, TcxPrograms};
pub use typed_map::{CpuValues, MapError, TypedMap};
pub use value::MapValue;
