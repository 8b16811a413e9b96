//! What the parts that write a virtual host's rules share.

use crate::notes::ConversionNotes;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;

use super::balancer::BalancerPools;
use super::fields::FieldEdits;
use super::scope::{SectionPath, ServerScope};

/// A `<Location>` with its path.
pub struct LocationSection<'t> {
    pub statement: &'t ConfigStatement,
    pub path: SectionPath,
}

/// A rule that forwards, before the fields of sections are added.
pub struct ForwardRule {
    pub path: SectionPath,
    pub rule: SiteRule,
    pub fields: FieldEdits,
    pub is_forwarded: bool,
}

/// Writes the rules of one virtual host.
pub struct HostWriter<'w, 't> {
    pub scope: ServerScope<'t>,
    pub pools: &'w mut BalancerPools<'t>,
    pub notes: &'w mut ConversionNotes,
    pub server_name: &'w str,
    /// The port of the listener.
    pub port: u16,
    /// The section whose `ProxyPass` is written.
    pub section: Option<&'t ConfigStatement>,
    /// The virtual host has more rules than can be written.
    pub is_too_large: bool,
}
