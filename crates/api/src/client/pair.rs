//! A change of both members of a pair, or of neither: both check it, then the other member applies it, then this one.
//! If one fails, the change is rolled back where it was applied.
//!
//! Each member is called over its own API, with the identity of the caller: no daemon may change another one.
//! `model::config::pair_change` says what both have in common. Nothing is stored: a client that is interrupted between
//! both orders sends the change again.

use std::future::Future;
use std::net::IpAddr;

use model::config::pair_change::{PairError, apply_to_peer};

use super::ApiClient;
use super::error::ApiError;
use crate::types::{Applied, PairApplied, PlanChange, Status};

#[derive(Clone, Debug, Default)]
pub struct PairChange {
    /// This member's new configuration.
    pub new_text: String,
    /// The file that it came from.
    pub file: Option<String>,
    /// Only if this generation is active here.
    pub if_generation: Option<u64>,
    /// Whether both daemons save it to their files; `None`: their defaults.
    pub save: Option<bool>,
    /// Also if both members differed before.
    pub allow_differences: bool,
}

/// Why the change is not active on both.
#[derive(Debug, thiserror::Error)]
pub enum PairChangeError {
    /// A member refused or did not answer, before anything was done.
    #[error("{place}: {source}; nothing has changed")]
    NotStarted { place: String, source: ApiError },
    /// The daemon is not the other member of this one.
    #[error("{0}; nothing has changed")]
    NotAPair(String),
    /// The configuration cannot be a change of both.
    #[error("{0}; nothing has changed")]
    Pair(#[from] PairError),
    /// Another change came first.
    #[error("{place}: generation {found} is active, not {expected}; nothing has changed")]
    GenerationChanged {
        place: String,
        /// The active generation.
        found: u64,
        /// The generation that the change was based on.
        expected: u64,
    },
    /// One member failed, and the other one has its old configuration again.
    #[error("{place}: {source}; both have what they had before")]
    RolledBack { place: String, source: ApiError },
    /// The change may be active at one member alone.
    #[error("{place}: {source}; {left}")]
    OneMemberOnly {
        /// The member that failed.
        place: String,
        source: ApiError,
        left: String,
    },
}

impl PairChangeError {
    /// The error of a daemon, if that was the cause.
    pub fn call(&self) -> Option<&ApiError> {
        match self {
            PairChangeError::NotStarted { source, .. }
            | PairChangeError::RolledBack { source, .. } => Some(source),
            PairChangeError::OneMemberOnly { source, .. } => Some(source),
            PairChangeError::NotAPair(_)
            | PairChangeError::Pair(_)
            | PairChangeError::GenerationChanged { .. } => None,
        }
    }
}

/// A member with its present and its new configuration.
struct PairMember<'c> {
    client: &'c ApiClient,
    generation: u64,
    old_text: String,
    new_text: String,
    file: Option<String>,
    save: Option<bool>,
}

/// Activates a change on both members.
///
/// # Errors
///
/// See `PairChangeError`: only `Half` leaves anything changed.
pub async fn apply(
    here: &ApiClient,
    there: &ApiClient,
    order: PairChange,
) -> Result<PairApplied, PairChangeError> {
    let ours = call_member(here, here.status()).await?;
    let theirs = call_member(there, there.status()).await?;
    check_pair(&ours, &theirs, &there.address()).map_err(PairChangeError::NotAPair)?;
    let expected = order.if_generation.unwrap_or(ours.generation);
    check_generation(here, ours.generation, expected)?;
    let before = call_member(here, here.generation_text(ours.generation)).await?;
    let has = call_member(there, there.generation_text(theirs.generation)).await?;
    let made = apply_to_peer(&before, &order.new_text, &has, order.allow_differences)?;
    let side = |client, generation, before, after| PairMember {
        client,
        generation,
        old_text: before,
        new_text: after,
        file: order.file.clone(),
        save: order.save,
    };
    let ours = side(here, ours.generation, before, order.new_text.clone());
    let theirs = side(there, theirs.generation, has, made.text);
    for side in [&ours, &theirs] {
        let plan: PlanChange =
            call_member(side.client, side.client.plan(side.new_text.clone(), side.file.clone()))
                .await?;
        check_generation(side.client, plan.generation, side.generation)?;
    }
    let peer = match theirs.apply_new().await {
        Ok(applied) => applied,
        Err(MemberFailure { source, unknown_state: None }) => {
            return Err(not_started(there, source));
        }
        Err(MemberFailure { source, unknown_state: Some(why) }) => {
            let left = format!(
                "this member has not changed, and whether that one has is not known: {why}"
            );
            return Err(PairChangeError::OneMemberOnly { place: there.address(), source, left });
        }
    };
    match ours.apply_new().await {
        Ok(local) => Ok(PairApplied {
            local,
            peer,
            peer_address: there.address(),
            local_keys: made.local_paths,
        }),
        Err(failed) => Err(theirs.roll_back(&peer, here.address(), failed).await),
    }
}

/// Why a member did not carry out an order.
struct MemberFailure {
    source: ApiError,
    /// Why it is unknown whether it did.
    unknown_state: Option<String>,
}

impl PairMember<'_> {
    /// If the response is lost, the active configuration shows whether the command was carried out.
    async fn apply_new(&self) -> Result<Applied, MemberFailure> {
        let text = self.new_text.clone();
        let file = self.file.clone();
        let done = self.client.apply(text, file, Some(self.generation), self.save).await;
        let source = match done {
            Ok(applied) => return Ok(applied),
            Err(source) if source.is_refusal() => {
                return Err(MemberFailure { source, unknown_state: None });
            }
            Err(source) => source,
        };
        match self.applied_generation().await {
            Ok(Some(generation)) => Ok(Applied { generation, changed: true, ..Applied::default() }),
            Ok(None) if matches!(source, ApiError::TimedOut { .. }) => {
                Err(MemberFailure { source, unknown_state: Some("it may do it yet".to_owned()) })
            }
            Ok(None) => Err(MemberFailure { source, unknown_state: None }),
            Err(error) => Err(MemberFailure { source, unknown_state: Some(error.to_string()) }),
        }
    }

    /// The generation that has the new text; `None`: it is not active.
    async fn applied_generation(&self) -> Result<Option<u64>, ApiError> {
        let now = self.client.status().await?.generation;
        if now == self.generation {
            return Ok(None);
        }
        Ok((self.client.generation_text(now).await? == self.new_text).then_some(now))
    }

    /// This member applied the change and the other one, at `place`, failed: restores the old text, but only over
    /// exactly the new one.
    async fn roll_back(
        &self,
        done: &Applied,
        place: String,
        failed: MemberFailure,
    ) -> PairChangeError {
        let source = failed.source;
        let ours = self.client.address();
        if let Some(why) = failed.unknown_state {
            let left =
                format!("{ours} has changed, and whether this member has is not known: {why}");
            return PairChangeError::OneMemberOnly { place, source, left };
        }
        if !done.changed {
            return PairChangeError::RolledBack { place, source };
        }
        let text = self.old_text.clone();
        let file = self.file.clone();
        match self.client.apply(text, file, Some(done.generation), self.save).await {
            Ok(_) => PairChangeError::RolledBack { place, source },
            Err(error) => {
                let left = format!("{ours} has changed, and cannot be changed back: {error}");
                PairChangeError::OneMemberOnly { place, source, left }
            }
        }
    }
}

async fn call_member<T>(
    client: &ApiClient,
    call: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, PairChangeError> {
    call.await.map_err(|source| not_started(client, source))
}

fn not_started(client: &ApiClient, source: ApiError) -> PairChangeError {
    PairChangeError::NotStarted { place: client.address(), source }
}

fn check_generation(client: &ApiClient, found: u64, expected: u64) -> Result<(), PairChangeError> {
    if found == expected {
        return Ok(());
    }
    Err(PairChangeError::GenerationChanged { place: client.address(), found, expected })
}

/// Whether both share an address or exchange heartbeats, and are two.
fn check_pair(ours: &Status, theirs: &Status, place: &str) -> Result<(), String> {
    if ours.pid == theirs.pid && ours.since_unix_ms == theirs.since_unix_ms {
        return Err(format!("{place} is this member itself, not the other one"));
    }
    let beats = ours.heartbeats.iter().any(|one| {
        theirs.heartbeats.iter().any(|other| one.peer == other.name && other.peer == one.name)
    });
    let shares = ours.vrrp.iter().any(|one| {
        let same = |at: &IpAddr| one.addresses.contains(at);
        theirs.vrrp.iter().any(|other| one.id == other.id && other.addresses.iter().any(same))
    });
    if beats || shares {
        return Ok(());
    }
    Err(format!("{place} shares no address with this member, and they exchange no heartbeat"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(pid: u32, shared: &str, names: Option<[&str; 2]>) -> Status {
        let beats = names.map(|[name, peer]| {
            json!({ "name": name, "peer": peer, "state": "up", "reason": "", "since-unix-ms": 0, "generation": 1,
                    "keys": [], "paths": [], "targets": [], "behind": false, "groups": [], "counts": {} })
        });
        let group = json!({ "name": "a", "interface": "eth0", "id": 7, "addresses": [shared], "state": "idle",
                            "reason": "", "since-unix-ms": 0, "priority": 100, "changes": [], "counts": {},
                            "dropped": {} });
        let text = json!({ "version": "1", "generation": 1, "now-unix-ms": 9, "since-unix-ms": 5, "uptime-ms": 4,
                           "pid": pid, "workers": 1, "services": [], "pools": [], "draining": [], "warnings": [],
                           "vrrp": [group], "heartbeats": Vec::from_iter(beats) });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn only_the_other_member_of_this_one_is_changed_with_it() {
        let ours = status(1, "192.0.2.10", Some(["left", "right"]));
        let rows = [
            (status(2, "192.0.2.10", None), None),
            (status(2, "192.0.2.99", Some(["right", "left"])), None),
            (status(2, "192.0.2.99", Some(["right", "other"])), Some("shares no address")),
            (status(2, "192.0.2.99", None), Some("shares no address")),
            (status(1, "192.0.2.10", None), Some("itself")),
        ];
        for (theirs, expected) in rows {
            let found = check_pair(&ours, &theirs, "there").err();
            match (found, expected) {
                (None, None) => {}
                (Some(found), Some(part)) => assert!(found.contains(part), "{found}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
