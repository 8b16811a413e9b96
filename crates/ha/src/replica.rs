//! Replication of connections and sticky clients to the other member: what is sent, accepted and sent again. Pure.
//!
//! The sender stores no copy of an entry. It reads the tables when it sends, and remembers only the places in each
//! packet. Lost entries are read anew, so an update is never older than one that arrived before. A table that changes
//! faster than the network carries is reported less often, not late. A member that joins gets every place. The caller
//! knows where the tables are and what their entries mean.

pub mod datagram;
pub mod defect;
pub mod peer;
pub mod receive_window;
pub mod record;
pub mod seal;
pub mod send_window;
