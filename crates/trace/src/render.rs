//! Draws connections: a bounce diagram and plots as SVG, and a self-contained page with all of them.
//!
//! Other modules compute everything that it shows.

pub mod axis;
pub mod page;
pub mod svg;

mod bounce;
mod connection_list;
mod finding_card;
mod plot;
mod section;
