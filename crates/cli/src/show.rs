//! How answers look to people: tables, colours, units and the screen. It knows nothing of what is shown.

pub mod keyboard;
pub mod paint;
pub mod plain;
pub mod screen;
pub mod table;
pub mod unit;
