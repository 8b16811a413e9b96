//! Draws a connection: a bounce diagram and plots as SVG, and a page that holds them all and needs nothing else.
//!
//! Everything it shows was found elsewhere.

pub mod page;

mod axis;
mod bounce;
mod plot;
mod svg;
