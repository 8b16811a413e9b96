//! The keys of a heartbeat in a comparison.

use super::types::HeartbeatConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    HeartbeatKey of HeartbeatConfig besides (peer):
    Name = "name" => name,
    Secret = "secret" => secret,
    Paths = "paths" => paths,
    Port = "port" => port,
    Every = "interval" => every,
    Timeout = "timeout" => timeout,
    Reach = "reach" => reach,
    Witness = "witness" => witness,
}
