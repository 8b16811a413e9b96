//! This machine, as far as it decides what a measurement means: its processors' time, its limits, its settings.

pub mod activity;
pub mod facts;
pub mod processors;
pub mod procfs;
pub mod topology;
