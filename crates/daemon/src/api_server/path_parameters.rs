//! The parameters in the paths of routes, by the names that the routes give them.

use model::config::patch::ConfigObject;
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

#[derive(Deserialize)]
pub(super) struct ServicePath {
    pub name: String,
}

#[derive(Deserialize)]
pub(super) struct PoolPath {
    pub name: String,
}

/// A path that names an object of the configuration.
pub(super) trait ObjectPath: serde::de::DeserializeOwned + Send {
    /// The object.
    fn object(self) -> ConfigObject;
}

impl ObjectPath for ServicePath {
    fn object(self) -> ConfigObject {
        ConfigObject::Service(self.name)
    }
}

impl ObjectPath for PoolPath {
    fn object(self) -> ConfigObject {
        ConfigObject::Pool(self.name)
    }
}

impl ObjectPath for ServerPath {
    fn object(self) -> ConfigObject {
        ConfigObject::Server { pool: self.pool, name: self.name }
    }
}

impl ObjectPath for RulePath {
    fn object(self) -> ConfigObject {
        ConfigObject::Rule { service: self.service, name: self.name }
    }
}
