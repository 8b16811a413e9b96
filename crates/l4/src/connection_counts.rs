//! Open connections by server and by share, as one sweep over the tables counted them.

use std::collections::HashMap;

/// Connections that are under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// When it was taken.
    pub tick: u32,
    /// By index of server.
    pub servers: HashMap<u32, u32>,
    /// Half-open ones, by index of server.
    pub half_open: HashMap<u32, u32>,
    /// Those whose closing time runs, by index of server.
    pub closing: HashMap<u32, u32>,
    /// Those that no side has closed yet, by index of server.
    pub active: HashMap<u32, u32>,
    /// Records in use, by index of share; those whose closing time runs are.
    pub shares: HashMap<u32, u32>,
}
