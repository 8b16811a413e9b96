//! Connections and sticky clients of one member on the other: what is sent, what is believed, what is sent again. Pure.
//!
//! The sender keeps no copy of anything: it reads the tables when it sends, and remembers of each packet only the places
//! that it told of. What was lost is read anew, so what arrives is never older than what arrived before, and a table
//! that changes faster than the network carries is told of less often, not late. A member that joins is told of every
//! place. Where the tables are and what their entries mean is the caller's business.

pub mod datagram;
pub mod defect;
pub mod peer;
pub mod receive_window;
pub mod record;
pub mod seal;
pub mod send_window;
