//! The parameters in the paths of routes, by the names that the routes give them.

use serde::Deserialize;

/// A server in a path: `{pool}` and `{name}`.
#[derive(Deserialize)]
pub(super) struct ServerPath {
    pub pool: String,
    /// The server's name; some routes take `*` for all servers of the pool.
    pub name: String,
}

/// A rule in a path: `{service}` and `{name}`.
#[derive(Deserialize)]
pub(super) struct RulePath {
    pub service: String,
    pub name: String,
}
