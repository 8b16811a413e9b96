//! Keys of the packet plane, of bundles, of Multipath TCP and of uplinks, as the difference names them. It compares nothing else.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::link::LinkBundle;
use super::super::mptcp::MptcpConfig;
use super::super::packets::PacketPlaneConfig;
use super::super::uplink::{UplinkConfig, UplinksConfig};

keys! {
    /// A key of `[packets]`.
    PacketsKey of PacketPlaneConfig besides ():
    Interfaces = "interfaces" => interfaces,
    Mode = "mode" => mode,
    Flows = "flows" => flows,
    Fragments = "fragments" => fragments,
    Insight = "insight" => insight,
    Pins = "pins" => pins,
    Return = "return" => returns,
}
keys! {
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
keys! {
    /// A key of `[mptcp]`.
    MptcpKey of MptcpConfig besides ():
    Bundle = "bundle" => bundle,
    Endpoints = "endpoints" => endpoints,
    Use = "use" => purpose,
    Subflows = "subflows" => subflows,
}
keys! {
    /// A key of `[uplinks]`.
    UplinksKey of UplinksConfig besides ():
    Inside = "inside" => inside,
    Translate = "translate" => translate,
    MarkBit = "mark-bit" => mark_bit,
    Table = "table" => table,
    Rule = "rule" => rule,
}
keys! {
    /// A key of an uplink.
    UplinkKey of UplinkConfig besides (name):
    Interface = "interface" => interface,
    Via = "via" => via,
    Source = "source" => source,
    Weight = "weight" => weight,
    Priority = "priority" => priority,
    Probe = "probe" => probe,
}
