//! YAML, JSON and TOML files as one tree whose keys and values are words of the ledger.

pub mod node;
pub mod toml;
pub mod yaml;

mod builder;

#[cfg(test)]
mod tests;
