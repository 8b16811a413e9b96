//! Keys of the packet plane, of bundles, of Multipath TCP and of uplinks, as the difference names them. It compares nothing else.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::link::Bundle;
use super::super::mptcp::Mptcp;
use super::super::packets::Packets;
use super::super::uplink::{Uplink, Uplinks};

keys! {
    /// A key of `[packets]`.
    PacketsKey of Packets besides ():
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
    LinkKey of Bundle besides (name):
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
    MptcpKey of Mptcp besides ():
    Bundle = "bundle" => bundle,
    Endpoints = "endpoints" => endpoints,
    Use = "use" => purpose,
    Subflows = "subflows" => subflows,
}
keys! {
    /// A key of `[uplinks]`.
    UplinksKey of Uplinks besides ():
    Inside = "inside" => inside,
    Translate = "translate" => translate,
    MarkBit = "mark-bit" => mark_bit,
    Table = "table" => table,
    Rule = "rule" => rule,
}
keys! {
    /// A key of an uplink.
    UplinkKey of Uplink besides (name):
    Interface = "interface" => interface,
    Via = "via" => via,
    Source = "source" => source,
    Weight = "weight" => weight,
    Priority = "priority" => priority,
    Probe = "probe" => probe,
}
