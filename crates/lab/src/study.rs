//! The five studies that this program grew from, repeated on this machine: each builds its network, measures, and comes
//! to a report that says what the source study found, what was found here, and what differs.
//!
//! Figures and verdicts follow from what was measured and from parameters; nothing in a report is stated beforehand but
//! the source study's own figures.

pub mod balancer;
pub mod catalog;
pub mod context;
pub mod page;
pub mod parameter;
pub mod report;

mod farm;
mod four_nics;
mod nat_capacity;
mod two_balancers;
mod two_links;
