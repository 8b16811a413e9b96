//! What the ledgers said when they were looked at last, for status and metrics. It keeps nothing of the past.

use std::collections::HashMap;

use api::types::UsersPromise;
use model::id::ServiceId;
use model::users::tally::Tally;

/// What the ledgers said when they were looked at last.
#[derive(Clone, Debug, Default)]
pub struct Shown(HashMap<ServiceId, Service>);

/// A service.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// What is promised, and what is left of it.
    pub promises: Vec<UsersPromise>,
    /// What the clients of each network met since the start, by network.
    pub networks: Vec<(String, Tally)>,
    /// The same of all networks that are not told apart.
    pub others: Tally,
}

impl Shown {
    /// These services.
    pub fn new(services: HashMap<ServiceId, Service>) -> Shown {
        Shown(services)
    }

    /// A service; `None`: it promises nothing.
    pub fn service(&self, id: ServiceId) -> Option<&Service> {
        self.0.get(&id)
    }

    /// What a service promises, and what is left of it.
    pub fn promises(&self, id: ServiceId) -> Vec<UsersPromise> {
        self.service(id).map(|service| service.promises.clone()).unwrap_or_default()
    }
}
