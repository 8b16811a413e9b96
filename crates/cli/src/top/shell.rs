//! Owns the terminal, the clock and the calls: shows what `view` says, and does what it asks.
//!
//! The terminal is given back on every way out: by a key, a signal, an error or a panic. It decides nothing.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use api::types::ServerChanged;
use api::{CallError, Client};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::canvas::Canvas;
use super::keys::meaning;
use super::order::Order;
use super::print;
use super::snapshot::Snapshot;
use super::tab::Tab;
use super::view::{Step, View};
use crate::end::{End, Failure};
use crate::show::keyboard::Keyboard;
use crate::show::paint::Paint;
use crate::show::screen;

/// What a look may take beyond the time that it covers.
const LOOK_MAX: Duration = Duration::from_secs(5);
/// Before the daemon is asked again after it did not answer, at most.
const AGAIN: Duration = Duration::from_secs(1);
/// How often is looked whether what is said has grown older.
const TICK: Duration = Duration::from_secs(1);

/// Prints one frame.
pub async fn once(client: &Client, every: Duration, only: Option<Tab>) -> Result<End, Failure> {
    let snapshot = look(client.clone(), Some(every), Duration::ZERO).await?;
    let columns = if screen::is_terminal() { screen::size().0 } else { usize::MAX };
    screen::print(&print::whole(&snapshot, only, columns, Paint::for_stdout()))?;
    Ok(End::Done)
}

/// Shows frames until the end.
pub async fn live(client: &Client, every: Duration, tab: Option<Tab>) -> Result<End, Failure> {
    let mut signals = Signals::open()?;
    let begun = Instant::now();
    // At once, with rates of the daemon's own interval.
    let first = tokio::select! {
        first = look(client.clone(), None, Duration::ZERO) => first?,
        () = signals.any() => return Ok(End::Done),
    };
    let mut view = View::new(first, every, tab, begun.elapsed());
    let mut keyboard = Keyboard::open(meaning)?;
    let mut canvas = Canvas::open()?;
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut looking: UnderWay<Snapshot> =
        Some(Box::pin(look(client.clone(), Some(every), Duration::ZERO)));
    let mut ordering: UnderWay<ServerChanged> = None;
    let mut as_drawn = false;
    loop {
        if !as_drawn {
            canvas.draw(&mut view, begun.elapsed())?;
        }
        as_drawn = false;
        tokio::select! {
            () = signals.any() => return Ok(End::Done),
            key = keyboard.next() => match view.press(key) {
                Step::Stay => {}
                Step::Quit => return Ok(End::Done),
                Step::Give(order) => ordering = Some(Box::pin(give(client.clone(), order))),
            },
            found = finished(&mut looking) => {
                let wait = match found {
                    Ok(snapshot) => {
                        view.seen(snapshot, begun.elapsed());
                        Duration::ZERO
                    }
                    Err(error) => {
                        view.failed(&error.to_string());
                        every.min(AGAIN)
                    }
                };
                looking = Some(Box::pin(look(client.clone(), Some(every), wait)));
            }
            answer = finished(&mut ordering) => view.answered(&answer),
            _ = tick.tick() => as_drawn = !view.ages(begun.elapsed()),
        }
    }
}

/// Asks, after a wait; what is covered by rates is watched by the daemon meanwhile.
async fn look(
    client: Client,
    every: Option<Duration>,
    wait: Duration,
) -> Result<Snapshot, CallError> {
    sleep(wait).await;
    let client = client.with_deadline(LOOK_MAX);
    let report = client.report(every).await?;
    let status = client.status().await?;
    Ok(Snapshot { status, report })
}

/// Gives an order as `steelyard server` does.
async fn give(client: Client, order: Order) -> Result<ServerChanged, CallError> {
    client.server(&order.pool, &order.server, order.action).await
}

/// A call that may be under way.
type UnderWay<T> = Option<Pin<Box<dyn Future<Output = Result<T, CallError>>>>>;

/// The end of a call. Never, while none is under way.
async fn finished<T>(call: &mut UnderWay<T>) -> Result<T, CallError> {
    let Some(under_way) = call else { return pending().await };
    let result = under_way.as_mut().await;
    *call = None;
    result
}

/// Signals that end it.
struct Signals {
    all: [Signal; 3],
}

impl Signals {
    fn open() -> std::io::Result<Signals> {
        let all = [
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        ];
        Ok(Signals { all })
    }

    /// One of them came.
    async fn any(&mut self) {
        let [terminate, interrupt, hang_up] = &mut self.all;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    }
}
