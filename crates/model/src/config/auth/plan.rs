//! What authentication has to do with the requests of one service.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::build::may_be_credential;
use super::types::AuthConfig;

/// What authentication has to do with the requests of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAuthPlan {
    /// The service or a rule names an object.
    pub is_needed: bool,
    /// Fields that no client may send: objects of this service, or of others before the same servers, write them.
    pub user_fields: Arc<[String]>,
    /// Parameters of queries that have keys: the log does not show them.
    pub key_parameters: Arc<[String]>,
    /// Fields by which clients prove who they are. The log does not show them, not even if it was asked to before they had.
    pub credential_fields: Arc<[String]>,
    /// Cookies that have tokens, likewise.
    pub credential_cookies: Arc<[String]>,
}

impl ServiceAuthPlan {
    /// For a service whose own objects are `own`; `beside`: also those of services before the same servers.
    pub fn new<'c>(
        own: impl Iterator<Item = &'c AuthConfig>,
        beside: impl Iterator<Item = &'c AuthConfig>,
    ) -> ServiceAuthPlan {
        let mut is_needed = false;
        let mut parameters = BTreeSet::new();
        let mut headers = BTreeSet::new();
        let mut cookies = BTreeSet::new();
        for object in own {
            is_needed = true;
            parameters.extend(object.query.clone());
            let sent = object.send.iter().filter(|name| may_be_credential(name));
            headers.extend(object.header.iter().chain(sent).cloned());
            cookies.extend(object.cookie.clone());
        }
        let fields: BTreeSet<String> =
            beside.flat_map(AuthConfig::written_fields).map(str::to_ascii_lowercase).collect();
        ServiceAuthPlan {
            is_needed,
            user_fields: fields.into_iter().collect(),
            key_parameters: parameters.into_iter().collect(),
            credential_fields: headers.into_iter().collect(),
            credential_cookies: cookies.into_iter().collect(),
        }
    }
}
