//! Who may do what over the API.
//!
//! Whoever may open the unix socket may do everything. Over TCP a token or a certificate has one role; which route needs which is in
//! `table`.

use serde::{Deserialize, Serialize};

/// What somebody may do; each role may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Look.
    View,
    /// Drain, enable, disable and weigh servers; take shared addresses over.
    Operate,
    /// Change the configuration, add and remove servers, read the configuration's text, stop the daemon.
    Configure,
}

impl Role {
    /// All of them, the smallest first.
    pub const ALL: [Role; 3] = [Role::View, Role::Operate, Role::Configure];

    /// As written.
    pub const fn name(self) -> &'static str {
        match self {
            Role::View => "view",
            Role::Operate => "operate",
            Role::Configure => "configure",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Answer of `GET /v1/me`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Me {
    /// As it stands in the record of orders: `uid 0 (root), process 4711 (curl)`, `token alice from 192.0.2.7`, `certificate alice from 192.0.2.7`.
    pub who: String,
    /// What they may do.
    pub role: Role,
    /// A token was shown and is good.
    pub token: bool,
    /// A certificate was shown, and its name has a role.
    #[serde(default)]
    pub certificate: bool,
}
