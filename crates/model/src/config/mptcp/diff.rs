//! The keys of `[mptcp]` in a comparison.

use super::types::MptcpConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    MptcpKey of MptcpConfig besides ():
    Bundle = "bundle" => bundle,
    Endpoints = "endpoints" => endpoints,
    Use = "use" => purpose,
    Subflows = "subflows" => subflows,
}
