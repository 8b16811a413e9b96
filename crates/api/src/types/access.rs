//! Who may do what over the API.
//!
//! Whoever may open the unix socket may do everything. Over TCP a token or a certificate has one role; which route needs which is in
//! `table`.

use serde::{Deserialize, Serialize};

/// A role: `Role::may` defines which other roles it includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Hold and give back leases, as members do whose witness this daemon is; nothing else.
    Lease,
    /// Look.
    View,
    /// Drain, enable, disable and weigh servers; take shared addresses over; leases.
    Operate,
    /// Change the configuration, add and remove servers, read the configuration's text, stop the daemon.
    Configure,
}

impl Role {
    /// All of them, the smallest first.
    pub const ALL: [Role; 4] = [Role::Lease, Role::View, Role::Operate, Role::Configure];

    /// Whether this role may do what is for `needed`. `View`, `Operate` and `Configure` each include the one before;
    /// leases are for their own role and for those that change something.
    pub const fn may(self, needed: Role) -> bool {
        match needed {
            Role::Lease => !matches!(self, Role::View),
            Role::View => !matches!(self, Role::Lease),
            Role::Operate => matches!(self, Role::Operate | Role::Configure),
            Role::Configure => matches!(self, Role::Configure),
        }
    }

    /// As written.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Lease => "lease",
            Role::View => "view",
            Role::Operate => "operate",
            Role::Configure => "configure",
        }
    }

    /// The role of this name.
    pub fn from_name(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Answer of `GET /v1/me`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Me {
    /// The caller as in the audit log: `uid 0 (root), process 4711 (curl)`, `token alice from 192.0.2.7`,
    /// `certificate alice from 192.0.2.7`.
    pub who: String,
    /// Role of the caller.
    pub role: Role,
    /// Whether a valid token was sent.
    pub token: bool,
    /// Whether the client certificate has a role.
    #[serde(default)]
    pub certificate: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_for_leases_may_do_nothing_else() {
        let rows = [
            (Role::Lease, [true, false, false, false]),
            (Role::View, [false, true, false, false]),
            (Role::Operate, [true, true, true, false]),
            (Role::Configure, [true, true, true, true]),
        ];
        for (role, may) in rows {
            assert_eq!(Role::ALL.map(|needed| role.may(needed)), may, "{}", role.name());
            assert_eq!(Role::from_name(role.name()), Some(role));
        }
    }
}
