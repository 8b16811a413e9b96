//! What a service's part of the maps is made from. Pure data.

use std::collections::HashMap;
use std::sync::Arc;

use model::config::{PacketPlaneConfig, PacketServiceConfig};
use model::snapshot::{PoolView, ServiceView};

use super::facts::HostFacts;

/// What a part is made from.
#[derive(Clone, Copy)]
pub struct PlanSource<'a> {
    pub view: &'a ServiceView,
    pub packets: &'a PacketServiceConfig,
    /// Its pool, then those of its rules, each once.
    pub pools: &'a [Arc<PoolView>],
    pub plane: &'a PacketPlaneConfig,
    /// Facts of the moment.
    pub facts: &'a HostFacts,
    /// Connections under way at the last sweep, by index of server.
    pub flows: &'a HashMap<u32, u32>,
}
