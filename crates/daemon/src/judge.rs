//! Judging weights while the daemon runs: one task that reads counters, asks `model::weigh`, and tells `Control` which
//! shares changed.
//!
//! It looks only while some pool has a judge or a server that ramps. Health is the probes' to judge; `eject` puts servers
//! out for what they answer.

pub mod desk;
pub mod dock;
pub mod eject;
#[cfg(test)]
mod tests;
pub mod weighed;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::moment::Moment;
use model::snapshot::ServerView;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::control::Control;
use crate::packets::view::View;
use crate::probe::board::Board;
use desk::{Desk, Seen};
use weighed::{Sum, Weighed};

/// Between two looks at what is in flight, unless a judge's interval is shorter.
const LOOK: Duration = Duration::from_millis(250);

/// Judges until the daemon is gone.
pub async fn run(
    control: Control,
    board: Arc<Board>,
    weighed: Arc<Weighed>,
    packets: watch::Receiver<Arc<View>>,
) {
    let began = Instant::now();
    let mut pictures = control.watch();
    let mut desk = Desk::default();
    loop {
        let picture = pictures.borrow_and_update().clone();
        let now = Moment(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let plane = Arc::clone(&packets.borrow());
        let judged = desk.look(&picture, now, |view| seen(view, &board, &plane));
        let at = SystemTime::now();
        for (server, row, change) in judged.rows {
            weighed.put(server, Sum { row, change, at });
        }
        weighed.keep(|server| desk.judges(server));
        if !judged.shares.is_empty() {
            control.shares(judged.shares).await;
        }
        let Some(wait) = desk.wait(now, LOOK) else {
            if pictures.changed().await.is_err() {
                return;
            }
            continue;
        };
        tokio::select! {
            changed = pictures.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// What the counters say now: of exchanges, and of connections whose packets are forwarded.
fn seen(view: &ServerView, board: &Board, plane: &View) -> Seen {
    let packets = plane.loads.get(&view.id).copied().unwrap_or_default();
    let begun = |slot: &model::live::ServerSlot| {
        // A `tcp` connection is a request when it ends, and was a connect when it began.
        slot.counters.requests.get().max(slot.counters.connects.get())
    };
    Seen {
        active: view.live.in_flight.get().saturating_add(packets.flows),
        begun: view.live.slots.iter().map(begun).sum::<u64>() + packets.begun,
        latency_ms: board.time(view.id).map(|time| time.as_secs_f64() * 1e3),
        load: view.live.load.read().map(|report| report.value),
    }
}
