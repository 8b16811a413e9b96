//! `history` of `[global]`: retention of stored history.

mod build;
mod keys;
mod types;

pub(super) use build::build_history_retention;
pub(super) use keys::HISTORY;
pub use types::HistoryRetention;
