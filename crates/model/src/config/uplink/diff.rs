//! The keys of `[uplinks]` and of an uplink in a comparison.

use super::types::{UplinkConfig, UplinksConfig};
use crate::config::changed_keys::changed_keys;

changed_keys! {
    UplinksKey of UplinksConfig besides ():
    Inside = "inside" => inside,
    Translate = "source-nat" => translate,
    MarkBit = "mark-bit" => mark_bit,
    Table = "table" => table,
    RulePriority = "rule-priority" => rule,
}

changed_keys! {
    UplinkKey of UplinkConfig besides (name):
    Interface = "interface" => interface,
    Via = "via" => via,
    Source = "source" => source,
    Weight = "weight" => weight,
    Priority = "priority" => priority,
    Probe = "probe" => probe,
}
