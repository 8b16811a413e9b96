//! The keys of a capture rule in a comparison.

use super::types::CaptureConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    CaptureKey of CaptureConfig besides (name):
    Service = "service" => service,
    Latency = "latency" => latency,
    Reason = "reason" => cause,
    From = "from" => from,
    Errors = "errors" => errors,
    Payload = "payload" => payload,
    Size = "size" => size,
    Duration = "duration" => time,
    Pause = "pause" => pause,
    Keep = "keep" => keep,
}
