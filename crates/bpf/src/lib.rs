//! Loads, pins and versions BPF objects, and shares one XDP program per interface among ordered tenants.
//!
//! Everything is pinned under one directory ([`Home`]), so packets keep flowing while no process of ours lives. It
//! knows no tenant's maps: those are the tenant's business.

pub mod attach;
pub mod gate;
pub mod group;
pub mod home;
pub mod hook;
pub mod interface;
pub mod lasting;
pub mod load;
pub mod mapped;
pub mod owner;
mod said;
mod sys;
pub mod table;
pub mod value;

pub use attach::{AttachError, Attached, Dispatcher, Mode, Slot};
pub use gate::{Gate, GateError, Shut};
pub use group::{GroupError, Groups, When};
pub use home::{Home, HomeError};
pub use hook::{HookError, Hooks, Side};
pub use interface::{Interface, InterfaceError, Sending};
pub use load::{LoadError, Loaded, Program, load};
pub use mapped::Mapped;
pub use owner::{ClaimError, Holder, Owner, Sharing};
pub use table::{Table, TableError};
pub use value::Value;
