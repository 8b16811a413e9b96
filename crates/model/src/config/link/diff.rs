//! The keys of a link bundle in a comparison.

use super::types::LinkBundle;
use crate::config::changed_keys::changed_keys;

changed_keys! {
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
