//! The keys of a bundle of links, as a difference names them.

use super::types::LinkBundle;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    /// A key of a bundle of links.
    LinkKey of LinkBundle besides (name):
    Policy = "policy" => policy,
    Links = "links" => links,
    Addresses = "addresses" => addresses,
    Routes = "routes" => routes,
    Gap = "gap" => gap,
    Equalise = "equalise" => equalise,
    Burst = "burst" => burst,
    Probe = "probe" => probe,
}
