//! High availability, decided: which of several machines holds a shared address.
//!
//! Bytes, time and orders go in; advertisements, addresses to take or to give up and announcements come out. It opens
//! no socket, sets no address and reads no clock: the daemon does.

pub mod advert;
pub mod announce;
pub mod beat;
pub mod counts;
mod defect;
pub mod double;
pub mod frame;
pub mod hearing;
pub mod keys;
pub mod lease;
pub mod machine;
pub mod reach;
pub mod replica;
pub mod settings;
mod sum;
pub mod witness;
