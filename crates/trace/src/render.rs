//! Draws a connection: a bounce diagram and plots as SVG, and a page that holds them all and needs nothing else.
//!
//! Everything it shows was found elsewhere.

pub mod axis;
pub mod page;
pub mod svg;

mod bounce;
mod plot;
