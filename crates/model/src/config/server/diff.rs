//! The keys of a server in a comparison.

use super::types::ServerConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    ServerKey of ServerConfig besides (name, address):
    CookieValue = "cookie-value" => cookie_value,
    Weight = "weight" => weight,
    Priority = "priority" => priority,
    Locality = "locality" => locality,
    State = "state" => admin,
    Schedule = "schedule" => schedule,
    Probe = "probe" => probe,
    Connections = "connections" => connections,
}
