//! Which processor does the network's work: the current state, uneven load, and the masks that spread it.
//!
//! Receiving begins on the processor that a queue's interrupt goes to (RSS: the device spreads flows over its queues).
//! RPS and RFS move it to others in software, XPS chooses the queue that a processor sends by (the kernel's
//! Documentation/networking/scaling.rst). Pure: texts of /proc, /sys and ethtool(8) go in, findings and steps come out.

pub mod counters;
pub mod cpu_mask;
pub mod diagnosis;
pub mod plan;
pub mod snapshot;
