//! High availability decisions: which of several machines holds a shared address.
//!
//! Bytes, time and orders go in. Advertisements, addresses to add or remove, and announcements come out. It opens no
//! socket, sets no address and reads no clock: the daemon does.

pub mod advert;
pub mod announcement;
mod checksum;
pub mod counts;
mod defect;
pub mod duplicate_address;
pub mod frame;
pub mod heartbeat;
pub mod keys;
pub mod lease;
pub mod peer_link;
pub mod reach;
pub mod replica;
pub mod settings;
pub mod state_machine;
pub mod witness;
