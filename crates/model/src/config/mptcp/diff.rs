//! The keys of `[mptcp]`, as a difference names them.

use super::types::MptcpConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    /// A key of `[mptcp]`.
    MptcpKey of MptcpConfig besides ():
    Bundle = "bundle" => bundle,
    Endpoints = "endpoints" => endpoints,
    Use = "use" => purpose,
    Subflows = "subflows" => subflows,
}
