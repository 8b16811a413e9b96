//! Output for people: tables, colours, units and the screen. It knows nothing about the content.

pub mod error_cell;
pub mod keyboard;
pub mod paint;
pub mod paragraph;
pub mod plain;
pub mod screen;
pub mod table;
pub mod unit;
