//! What stands around a route: the connection manager, its filters, and the virtual host.

use crate::duration::TimeSetting;
use crate::structured::node::ConfigNode;

use super::clusters::ClusterPools;
use super::header_edits::HeaderEditList;
use super::hidden_fields::HiddenFields;
use super::host_names::PortTreatment;
use super::http_filters::FilterEffects;
use super::upgrades::UpgradePolicy;

/// What all routes of a connection manager share.
pub struct RouteContext<'c, 't> {
    pub pools: &'c mut ClusterPools,
    pub effects: FilterEffects,
    /// Edits that the connection manager makes by itself.
    pub edits: HeaderEditList,
    /// Fields that rules cannot see as Envoy judges them.
    pub hidden: HiddenFields,
    pub stream_idle: TimeSetting,
    pub tls: bool,
    /// X-Forwarded-Proto of a request says whether its client used TLS.
    pub trusts_scheme: bool,
    pub upgrades: UpgradePolicy,
    /// The whole route configuration.
    pub config: &'t ConfigNode,
    /// Hosts reach servers without their port.
    pub strips_port: bool,
    /// What becomes of the port of a Host before names are compared.
    pub ports: PortTreatment,
    /// Edits of a route come after those of its host and of the configuration.
    pub nearest_wins: bool,
}

impl RouteContext<'_, '_> {
    /// Joins the edits of a route or a host with those around it.
    pub fn join_edits(&self, near: HeaderEditList, outer: &HeaderEditList) -> HeaderEditList {
        if self.nearest_wins { outer.clone().then(&near) } else { near.then(outer) }
    }
}

/// A route with what stands around it.
pub struct RouteScope<'t> {
    pub route: &'t ConfigNode,
    pub host: &'t ConfigNode,
    /// Edits of the connection manager, the filters, the configuration, the virtual host and the route.
    pub edits: HeaderEditList,
    pub limit: Option<String>,
    pub text: String,
}
