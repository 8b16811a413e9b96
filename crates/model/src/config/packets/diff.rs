//! The keys of `[packets]` in a comparison.

use super::types::PacketPlaneConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    PacketsKey of PacketPlaneConfig besides ():
    Interfaces = "interfaces" => interfaces,
    Mode = "mode" => mode,
    Flows = "flows" => flows,
    Fragments = "fragments" => fragments,
    FlowSamples = "flow-samples" => insight,
    PinPath = "pin-path" => pins,
    NatSource = "nat-source" => returns,
}
