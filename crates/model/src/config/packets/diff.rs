//! The keys of `[packets]`, as a difference names them.

use super::types::PacketPlaneConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
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
