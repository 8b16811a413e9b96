//! Server names → addresses, by the system's resolver, again and again.
//!
//! Each name is looked up once, regardless of the number of its servers. A good answer stays in use when later look-ups
//! fail. An address stays in use while the answer still contains it, so that a rotating answer moves no server. The
//! reconciler decides the effect of an address change on connections.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use files::plain_error::plain_error_text;
use model::config::ServerHost;
use model::load_balancing::Rng;
use model::monotonic_time::MonotonicTime;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::health::health_check::schedule::DeadlineSchedule;
use crate::state::{ControlHandle, ResolvedAddress, ServerFacts, ServerResolution, StateSnapshot};

/// Between two lookups of a name that resolves.
/// The system's resolver hides the time to live; ten seconds bound how long a moved server is missed.
pub const LOOKUP_INTERVAL: Duration = Duration::from_secs(10);
/// After the first failure of a name without a good answer; doubles up to `EVERY`.
/// A pool without an address serves no client, so the first retry is soon.
pub const RETRY: Duration = Duration::from_secs(1);
/// The longest time between two lookups of a name whose last good answer is still used.
/// The last good answer is used meanwhile; a minute spares a resolver that fails.
pub const MAX_INTERVAL: Duration = Duration::from_secs(60);
/// Lookups at a time: each may hold a thread for as long as the system's resolver waits.
/// Sixteen threads of 2 MiB of stack at most.
pub const LOOKUPS: usize = 16;
/// Random share of the interval, percent.
/// A tenth spreads the lookups of names that were configured together.
const JITTER: u64 = 10;

/// Resolves names with the system's resolver, until the daemon stops.
pub async fn run(control: ControlHandle) {
    run_with(control, |name: String| async move {
        let addresses = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(addresses.map(|address| address.ip()).collect())
    })
    .await;
}

/// As `run`, with another resolver.
pub async fn run_with<L, F>(control: ControlHandle, lookup: L)
where
    L: Fn(String) -> F,
    F: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
{
    let origin = Instant::now();
    let clock = || MonotonicTime::default() + origin.elapsed();
    let mut snapshots = control.watch();
    let mut names = NameSchedule::new(crate::util::random_seed::random_seed());
    let mut under_way = JoinSet::new();
    names.update_names(&snapshots.borrow_and_update().clone(), clock());
    loop {
        while under_way.len() < LOOKUPS
            && let Some(name) = names.take_due(clock())
        {
            let answer = lookup(name.clone());
            under_way.spawn(async move { (name, answer.await) });
        }
        let wake = names.next_due().filter(|_| under_way.len() < LOOKUPS);
        tokio::select! {
            changed = snapshots.changed() => {
                if changed.is_err() {
                    return;
                }
                let snapshot = snapshots.borrow_and_update().clone();
                names.update_names(&snapshot, clock());
            }
            Some(done) = under_way.join_next() => {
                // A look-up that panicked returns no name; the next snapshot restarts it.
                let Ok((name, answer)) = done else { continue };
                for resolution in names.handle_answer(&name, answer, &control.state(), clock()) {
                    control.report_resolution(resolution).await;
                }
            }
            () = tokio::time::sleep_until(origin + wake.unwrap_or_default().since(MonotonicTime::default())), if wake.is_some() => {}
        }
    }
}

/// The names in use and when each is looked up next. Pure.
#[derive(Debug)]
struct NameSchedule {
    /// Failures in a row by name; every name in use is here.
    failures: HashMap<String, u32>,
    schedule: DeadlineSchedule<String>,
    rng: Rng,
}

impl NameSchedule {
    fn new(seed: u64) -> NameSchedule {
        NameSchedule {
            failures: HashMap::new(),
            schedule: DeadlineSchedule::default(),
            rng: Rng::new(seed),
        }
    }

    /// Starts look-ups of new names at once, and drops names that no server has.
    fn update_names(&mut self, snapshot: &StateSnapshot, now: MonotonicTime) {
        let mut in_use: HashMap<String, bool> = HashMap::new();
        for facts in snapshot.servers.values() {
            if let ServerHost::Name(name) = &facts.config.address.host {
                *in_use.entry(name.clone()).or_default() |=
                    facts.resolved == ResolvedAddress::Pending;
            }
        }
        self.failures.retain(|name, _| {
            in_use.contains_key(name) || {
                self.schedule.remove(name);
                false
            }
        });
        for (name, fresh) in in_use {
            let known = self.failures.contains_key(&name);
            if !known || fresh && self.schedule.contains(&name) {
                self.failures.entry(name.clone()).or_default();
                self.schedule.set(name, now);
            }
        }
    }

    fn next_due(&mut self) -> Option<MonotonicTime> {
        self.schedule.next_due()
    }

    fn take_due(&mut self, now: MonotonicTime) -> Option<String> {
        self.schedule.pop(now).map(|due| due.key)
    }

    /// Records an answer; returns the changes for servers of that name.
    fn handle_answer(
        &mut self,
        name: &str,
        answer: io::Result<Vec<IpAddr>>,
        snapshot: &StateSnapshot,
        now: MonotonicTime,
    ) -> Vec<ServerResolution> {
        let Some(failures) = self.failures.get_mut(name) else { return Vec::new() };
        let resolved = match answer {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses),
            Ok(_) => Err(format!("'{name}' has no address")),
            Err(error) => Err(plain_error_text(format!("'{name}' does not resolve: {error}"))),
        };
        *failures = if resolved.is_ok() { 0 } else { failures.saturating_add(1) };
        let carries = |facts: &&std::sync::Arc<ServerFacts>| matches!(&facts.config.address.host, ServerHost::Name(n) if n == name);
        let servers: Vec<_> = snapshot.servers.values().filter(carries).collect();
        let lost = *failures > 0 && servers.iter().all(|facts| facts.resolved.address().is_none());
        let wait = interval(*failures, lost);
        let span = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX) / 100 * JITTER;
        // Half of the jitter is subtracted first, so the interval stays the same on average.
        let jitter = Duration::from_micros(self.rng.below(span.max(1)));
        self.schedule.set(name.to_owned(), now + (wait - Duration::from_micros(span / 2)) + jitter);
        servers.into_iter().filter_map(|facts| resolution_change(facts, &resolved)).collect()
    }
}

/// The change of one server by an answer; `None`: there is none.
fn resolution_change(
    facts: &ServerFacts,
    resolved: &Result<Vec<IpAddr>, String>,
) -> Option<ServerResolution> {
    let present = facts.resolved.address();
    let resolved = match resolved {
        Ok(addresses) => {
            let stays = present.is_some_and(|address| addresses.contains(&address.ip()));
            let first = addresses.first().filter(|_| !stays)?;
            Ok(SocketAddr::new(*first, facts.config.address.port))
        }
        Err(_) if present.is_some() => return None,
        Err(why) if facts.resolved == ResolvedAddress::Failed(why.clone()) => return None,
        Err(why) => Err(why.clone()),
    };
    Some(ServerResolution { server: facts.id, result: resolved })
}

/// The delay until the next look-up. A server whose name was never resolved is down, so its name is looked up often.
fn interval(failures: u32, lost: bool) -> Duration {
    let factor = 2u32.saturating_pow(failures.saturating_sub(1));
    match (failures, lost) {
        (0, _) => LOOKUP_INTERVAL,
        (_, true) => RETRY.saturating_mul(factor).min(LOOKUP_INTERVAL),
        (_, false) => LOOKUP_INTERVAL.saturating_mul(factor.saturating_mul(2)).min(MAX_INTERVAL),
    }
}
