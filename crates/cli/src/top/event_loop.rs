//! Owns the terminal, the clock and the calls: shows what `view` returns, and sends its commands.
//!
//! The terminal is restored on every way out: by a key, a signal, an error or a panic. It decides nothing.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use api::types::ServerChanged;
use api::{ApiClient, ApiError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::canvas::Canvas;
use super::keys::meaning;
use super::plain_output;
use super::server_operation::ServerOperation;
use super::snapshot::TopSnapshot;
use super::tab::Tab;
use super::view::{KeyAction, TopView};
use crate::outcome::{CommandError, CommandOutcome};
use crate::show::keyboard::Keyboard;
use crate::show::paint::Paint;
use crate::show::screen;

/// The time that a call may take beyond the time that its rates cover.
/// A daemon without an answer for five seconds counts as hanging.
const LOOK_MAX: Duration = Duration::from_secs(5);
/// The longest pause before the daemon is called again after a failure.
/// A restarted daemon is found within a second.
const AGAIN: Duration = Duration::from_secs(1);
/// How often the ages on the screen are updated.
/// Ages are shown in seconds.
const TICK: Duration = Duration::from_secs(1);

pub async fn print_once(
    client: &ApiClient,
    every: Duration,
    only: Option<Tab>,
) -> Result<CommandOutcome, CommandError> {
    let snapshot = fetch_snapshot(client.clone(), Some(every), Duration::ZERO).await?;
    let columns = if screen::is_terminal() { screen::size().columns } else { usize::MAX };
    screen::print(&plain_output::render_all(&snapshot, only, columns, Paint::for_stdout()))?;
    Ok(CommandOutcome::Done)
}

/// Shows frames until the end.
pub async fn run_live(
    client: &ApiClient,
    every: Duration,
    tab: Option<Tab>,
) -> Result<CommandOutcome, CommandError> {
    let mut signals = ExitSignals::open()?;
    let begun = Instant::now();
    // At once, with rates of the daemon's own interval.
    let first = tokio::select! {
        first = fetch_snapshot(client.clone(), None, Duration::ZERO) => first?,
        () = signals.wait() => return Ok(CommandOutcome::Done),
    };
    let mut view = TopView::new(first, every, tab, begun.elapsed());
    let mut keyboard = Keyboard::open(meaning)?;
    let mut canvas = Canvas::open()?;
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut looking: PendingCall<TopSnapshot> =
        Some(Box::pin(fetch_snapshot(client.clone(), Some(every), Duration::ZERO)));
    let mut ordering: PendingCall<ServerChanged> = None;
    let mut as_drawn = false;
    loop {
        if !as_drawn {
            canvas.draw(&mut view, begun.elapsed())?;
        }
        as_drawn = false;
        tokio::select! {
            () = signals.wait() => return Ok(CommandOutcome::Done),
            key = keyboard.next() => match view.handle_key(key) {
                KeyAction::Stay => {}
                KeyAction::Quit => return Ok(CommandOutcome::Done),
                KeyAction::Send(order) => ordering = Some(Box::pin(send_operation(client.clone(), order))),
            },
            found = wait_for_call(&mut looking) => {
                let wait = match found {
                    Ok(snapshot) => {
                        view.update_snapshot(snapshot, begun.elapsed());
                        Duration::ZERO
                    }
                    Err(error) => {
                        view.record_failure(&error.to_string());
                        every.min(AGAIN)
                    }
                };
                looking = Some(Box::pin(fetch_snapshot(client.clone(), Some(every), wait)));
            }
            answer = wait_for_call(&mut ordering) => view.record_answer(&answer),
            _ = tick.tick() => as_drawn = !view.ages(begun.elapsed()),
        }
    }
}

/// Fetches a snapshot after a wait; the daemon measures the rates meanwhile.
async fn fetch_snapshot(
    client: ApiClient,
    every: Option<Duration>,
    wait: Duration,
) -> Result<TopSnapshot, ApiError> {
    sleep(wait).await;
    let client = client.with_deadline(LOOK_MAX);
    let report = client.report(every).await?;
    let status = client.status().await?;
    Ok(TopSnapshot { status, report })
}

/// Sends a command as `steelyard server` does.
async fn send_operation(
    client: ApiClient,
    order: ServerOperation,
) -> Result<ServerChanged, ApiError> {
    client.server(&order.pool, &order.server, order.action).await
}

/// A call that may be under way.
type PendingCall<T> = Option<Pin<Box<dyn Future<Output = Result<T, ApiError>>>>>;

/// The end of a call. Never, while none is under way.
async fn wait_for_call<T>(call: &mut PendingCall<T>) -> Result<T, ApiError> {
    let Some(under_way) = call else { return pending().await };
    let result = under_way.as_mut().await;
    *call = None;
    result
}

/// Signals that end it.
struct ExitSignals {
    all: [Signal; 3],
}

impl ExitSignals {
    fn open() -> std::io::Result<ExitSignals> {
        let all = [
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        ];
        Ok(ExitSignals { all })
    }

    /// One of them came.
    async fn wait(&mut self) {
        let [terminate, interrupt, hang_up] = &mut self.all;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    }
}
