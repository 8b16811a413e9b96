//! Open connections by server and by share, from one sweep over the tables.

use std::collections::HashMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// The tick of the sweep.
    pub tick: u32,
    /// By index of server.
    pub servers: HashMap<u32, u32>,
    /// Half-open connections by server index.
    pub half_open: HashMap<u32, u32>,
    /// Closing connections by server index.
    pub closing: HashMap<u32, u32>,
    /// Connections that neither side has closed, by server index.
    pub active: HashMap<u32, u32>,
    /// Records in use by share index, closing ones included.
    pub shares: HashMap<u32, u32>,
}
