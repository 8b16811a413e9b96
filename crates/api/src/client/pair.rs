//! A change of both members of a pair, or of neither: both judge it, then the other member has it, then this one. What
//! a part of it fails for is taken back where it was done.
//!
//! Each member is asked over its own API, as whoever orders the change: no daemon may change another one. What both have
//! in common is `model::config::pair`'s. Nothing is remembered: who is cut off between both orders it again.

use std::future::Future;
use std::net::IpAddr;

use model::config::pair::{PairError, paired};

use super::Client;
use super::error::CallError;
use crate::types::{Applied, BothApplied, PlanChange, Status};

/// What is ordered.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// This member's new configuration.
    pub text: String,
    /// The file that it came from.
    pub file: Option<String>,
    /// Only if this generation is in force here.
    pub if_generation: Option<u64>,
    /// Into both daemons' files, or not; `None`: as is usual there.
    pub save: Option<bool>,
    /// Also where both members differ before.
    pub level: bool,
}

/// Why both do not have it.
#[derive(Debug, thiserror::Error)]
pub enum BothError {
    /// One of them said no, or could not be asked, before anything was done.
    #[error("{place}: {source}; nothing has changed")]
    Before {
        /// Which of them.
        place: String,
        /// Why.
        source: CallError,
    },
    /// It is not the other member of this one.
    #[error("{0}; nothing has changed")]
    Stranger(String),
    /// It cannot be a change of both.
    #[error("{0}; nothing has changed")]
    Pair(#[from] PairError),
    /// Somebody was faster.
    #[error("{place}: generation {found} is in force, not {expected}; nothing has changed")]
    Moved {
        /// Where.
        place: String,
        /// The one in force.
        found: u64,
        /// The one that the change was made of.
        expected: u64,
    },
    /// One of them failed, and the other one has its old configuration again.
    #[error("{place}: {source}; both have what they had before")]
    TakenBack {
        /// Which of them.
        place: String,
        /// Why.
        source: CallError,
    },
    /// It may be in force at one of them alone.
    #[error("{place}: {source}; {left}")]
    Half {
        /// Which of them failed.
        place: String,
        /// Why.
        source: CallError,
        /// What is where.
        left: String,
    },
}

impl BothError {
    /// What a daemon refused, if that is what went wrong.
    pub fn call(&self) -> Option<&CallError> {
        match self {
            BothError::Before { source, .. } | BothError::TakenBack { source, .. } => Some(source),
            BothError::Half { source, .. } => Some(source),
            BothError::Stranger(_) | BothError::Pair(_) | BothError::Moved { .. } => None,
        }
    }
}

/// A member, and what it has and is to have.
struct Side<'c> {
    client: &'c Client,
    generation: u64,
    before: String,
    after: String,
    file: Option<String>,
    save: Option<bool>,
}

/// Puts a change in force on both.
///
/// # Errors
/// See `BothError`: only `Half` leaves anything changed.
pub async fn apply(here: &Client, there: &Client, order: Order) -> Result<BothApplied, BothError> {
    let (ours, theirs) = (ask(here, here.status()).await?, ask(there, there.status()).await?);
    acquainted(&ours, &theirs, &there.place()).map_err(BothError::Stranger)?;
    let expected = order.if_generation.unwrap_or(ours.generation);
    same(here, ours.generation, expected)?;
    let before = ask(here, here.written(ours.generation)).await?;
    let has = ask(there, there.written(theirs.generation)).await?;
    let made = paired(&before, &order.text, &has, order.level)?;
    let side = |client, generation, before, after| Side {
        client,
        generation,
        before,
        after,
        file: order.file.clone(),
        save: order.save,
    };
    let ours = side(here, ours.generation, before, order.text.clone());
    let theirs = side(there, theirs.generation, has, made.text);
    for side in [&ours, &theirs] {
        let plan: PlanChange =
            ask(side.client, side.client.plan(side.after.clone(), side.file.clone())).await?;
        same(side.client, plan.generation, side.generation)?;
    }
    let peer = match theirs.put().await {
        Ok(applied) => applied,
        Err(Failed { source, unknown: None }) => return Err(unasked(there, source)),
        Err(Failed { source, unknown: Some(why) }) => {
            let left = format!(
                "this member has not changed, and whether that one has is not known: {why}"
            );
            return Err(BothError::Half { place: there.place(), source, left });
        }
    };
    match ours.put().await {
        Ok(here) => Ok(BothApplied { here, peer, place: there.place(), own: made.own }),
        Err(failed) => Err(theirs.undone(&peer, here.place(), failed).await),
    }
}

/// Why a member did not do what it was ordered.
struct Failed {
    source: CallError,
    /// Why it is not known whether it did.
    unknown: Option<String>,
}

impl Side<'_> {
    /// Where the answer is lost, what is in force then says what was done.
    async fn put(&self) -> Result<Applied, Failed> {
        let (text, file) = (self.after.clone(), self.file.clone());
        let done = self.client.apply(text, file, Some(self.generation), self.save).await;
        let source = match done {
            Ok(applied) => return Ok(applied),
            Err(source) if source.is_refusal() => return Err(Failed { source, unknown: None }),
            Err(source) => source,
        };
        match self.in_force().await {
            Ok(Some(generation)) => Ok(Applied { generation, changed: true, ..Applied::default() }),
            Ok(None) if matches!(source, CallError::TimedOut { .. }) => {
                Err(Failed { source, unknown: Some("it may do it yet".to_owned()) })
            }
            Ok(None) => Err(Failed { source, unknown: None }),
            Err(error) => Err(Failed { source, unknown: Some(error.to_string()) }),
        }
    }

    /// The generation that has what was put there; `None`: it is not in force.
    async fn in_force(&self) -> Result<Option<u64>, CallError> {
        let now = self.client.status().await?.generation;
        if now == self.generation {
            return Ok(None);
        }
        Ok((self.client.written(now).await? == self.after).then_some(now))
    }

    /// This side did it, and the other one, at `place`, failed: what was before is put over exactly what was put here.
    async fn undone(&self, done: &Applied, place: String, failed: Failed) -> BothError {
        let (source, ours) = (failed.source, self.client.place());
        if let Some(why) = failed.unknown {
            let left =
                format!("{ours} has changed, and whether this member has is not known: {why}");
            return BothError::Half { place, source, left };
        }
        if !done.changed {
            return BothError::TakenBack { place, source };
        }
        let (text, file) = (self.before.clone(), self.file.clone());
        match self.client.apply(text, file, Some(done.generation), self.save).await {
            Ok(_) => BothError::TakenBack { place, source },
            Err(error) => {
                let left = format!("{ours} has changed, and cannot be changed back: {error}");
                BothError::Half { place, source, left }
            }
        }
    }
}

async fn ask<T>(
    client: &Client,
    call: impl Future<Output = Result<T, CallError>>,
) -> Result<T, BothError> {
    call.await.map_err(|source| unasked(client, source))
}

fn unasked(client: &Client, source: CallError) -> BothError {
    BothError::Before { place: client.place(), source }
}

fn same(client: &Client, found: u64, expected: u64) -> Result<(), BothError> {
    if found == expected {
        return Ok(());
    }
    Err(BothError::Moved { place: client.place(), found, expected })
}

/// Whether both share an address or exchange beats, and are two.
fn acquainted(ours: &Status, theirs: &Status, place: &str) -> Result<(), String> {
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
            let found = acquainted(&ours, &theirs, "there").err();
            match (found, expected) {
                (None, None) => {}
                (Some(found), Some(part)) => assert!(found.contains(part), "{found}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
