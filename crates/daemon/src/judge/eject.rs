//! Putting servers out while the daemon runs: one task that reads counters, asks `dock`, and tells `Control`.
//!
//! It looks only while some pool that requests are proxied to ejects servers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::eject::Order;
use model::id::ServerId;
use model::moment::Moment;
use model::pick::Rng;
use tokio::time::Instant;

use super::dock::Dock;
use super::weighed::Weighed;
use crate::control::{Control, Ejected, Picture};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// So much more for each server, so that looking at very many costs a few percent of a core at most.
const EACH: Duration = Duration::from_micros(100);
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(2);

/// Judges until the daemon is gone.
pub async fn run(control: Control, weighed: Arc<Weighed>, seed: u64) {
    let began = Instant::now();
    let mut rng = Rng::new(seed);
    let mut pictures = control.watch();
    let mut dock = Dock::default();
    loop {
        let picture = pictures.borrow_and_update().clone();
        let now = Moment(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let ruled = dock.look(&picture, now, || rng.next());
        let at = SystemTime::now();
        weighed.put_ejections(ruled.sums, at);
        clear(&picture, &ruled.orders);
        let words: Vec<_> = ruled.orders.iter().map(|order| word(order, at)).collect();
        if !words.is_empty() {
            control.ejected(words).await;
        }
        if dock.servers() == 0 {
            if pictures.changed().await.is_err() {
                return;
            }
            continue;
        }
        let servers = u32::try_from(dock.servers()).unwrap_or(u32::MAX);
        let wait = LOOK.max(EACH.saturating_mul(servers)).min(LONGEST);
        tokio::time::sleep(wait).await;
        if pictures.has_changed().is_err() {
            return;
        }
    }
}

/// A server that comes back begins to count anew.
fn clear(picture: &Picture, orders: &[Order]) {
    let back = orders.iter().filter(|order| matches!(order, Order::Readmit { .. }));
    let back: HashSet<ServerId> = back.map(Order::server).collect();
    if back.is_empty() {
        return;
    }
    let views = picture.snapshot.pools.values().flat_map(|pool| &pool.servers);
    for view in views.filter(|view| back.contains(&view.id)) {
        view.live.bad_in_a_row.clear();
    }
}

/// What is to be known of a server from now on.
fn word(order: &Order, now: SystemTime) -> (ServerId, Option<Ejected>) {
    let ejected = match order {
        Order::Eject { time, sum, .. } => {
            Some(Ejected { reason: sum.to_string(), until: now + *time })
        }
        Order::Readmit { .. } => None,
    };
    (order.server(), ejected)
}
