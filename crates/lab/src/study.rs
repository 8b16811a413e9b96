//! Five published studies, repeated on this machine. Each study builds its network, measures, and builds a report: the
//! source study's findings, the findings here, and what differs.
//!
//! Figures and conclusions follow from the measurements and parameters. A report states nothing in advance except the
//! source study's own figures.

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
