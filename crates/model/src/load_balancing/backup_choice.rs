//! The server for a retry with `retry.backup`, once all eligible servers were tried: one of the next priority.
//!
//! It allocates nothing. The first attempt of a request costs one comparison.

use crate::config::Priority;
use crate::id::ServerId;
use crate::snapshot::{PoolView, ServerState, ServerView};

use super::eligible_servers::{EligibleServers, FailoverLevel, failover_level, takes_work};
use super::request::{PickRequest, PickResult};
use super::rng::Rng;

/// Servers that are asked together. Lower ones are asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BackupRank {
    last_resort: bool,
    /// No health check has said that the server is up.
    unknown: bool,
    level: FailoverLevel,
}

/// An untried server behind the eligible ones; `None`: the policy chooses.
#[inline]
pub fn choose_backup(
    eligible: &EligibleServers,
    view: &PoolView,
    ask: &PickRequest,
    rng: &mut Rng,
) -> Option<PickResult> {
    if ask.tried.is_empty() || !view.config.retry.backup {
        return None;
    }
    let all_tried = eligible.servers.iter().all(|slot| ask.tried.contains(&slot.id));
    all_tried.then(|| choose_untried(view, ask.tried, rng)).flatten()
}

/// Whether `retry.backup` lets a retry go to a server that is not excluded.
pub fn has_backup(view: &PoolView, is_excluded: impl Fn(ServerId) -> bool) -> bool {
    let helps = |one: &ServerView| may_help(one, &[]) && !is_excluded(one.id);
    view.config.retry.backup && view.servers.iter().any(helps)
}

fn choose_untried(view: &PoolView, tried: &[ServerId], rng: &mut Rng) -> Option<PickResult> {
    let untried = || view.servers.iter().enumerate().filter(|(_, one)| may_help(one, tried));
    let first = untried().map(|(_, server)| rank(view, server)).min()?;
    let free = || untried().filter(|(_, one)| rank(view, one) == first && is_below_cap(one));
    let weight: u64 = free().map(|(_, server)| u64::from(server.weight.get())).sum();
    let mut draw = rng.below(weight);
    for (at, server) in free() {
        let share = u64::from(server.weight.get());
        if draw < share {
            return Some(PickResult::Server(at));
        }
        draw -= share;
    }
    Some(PickResult::AllAtCap)
}

fn may_help(server: &ServerView, tried: &[ServerId]) -> bool {
    matches!(server.state, ServerState::Up | ServerState::Unknown)
        && takes_work(server)
        && !tried.contains(&server.id)
}

fn rank(view: &PoolView, server: &ServerView) -> BackupRank {
    BackupRank {
        last_resort: server.config.priority == Priority::LAST_RESORT,
        unknown: server.state == ServerState::Unknown,
        level: failover_level(view, server),
    }
}

fn is_below_cap(server: &ServerView) -> bool {
    server.config.connections.is_none_or(|cap| server.stats.in_flight.get() < cap)
}
