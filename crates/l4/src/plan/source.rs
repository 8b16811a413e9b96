//! The input of a service's plan. Pure data.

use std::collections::HashMap;
use std::sync::Arc;

use model::config::{PacketPlaneConfig, PacketServiceConfig};
use model::snapshot::{PoolView, ServiceView};

use super::facts::HostFacts;

#[derive(Clone, Copy)]
pub struct PlanSource<'a> {
    pub view: &'a ServiceView,
    pub packets: &'a PacketServiceConfig,
    /// The service's pool, then those of its rules, each once.
    pub pools: &'a [Arc<PoolView>],
    pub plane: &'a PacketPlaneConfig,
    /// Facts of the moment.
    pub facts: &'a HostFacts,
    /// Connections at the last sweep, by server index.
    pub flows: &'a HashMap<u32, u32>,
}
