//! This machine, as far as it affects a measurement: processor time, limits and settings.

pub mod activity;
pub mod facts;
pub mod processors;
pub mod procfs;
pub mod topology;
