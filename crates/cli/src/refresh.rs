//! Redraws a view until Ctrl-C.
//!
//! An error after the first frame is shown instead of a frame, and the call is repeated: a daemon that restarts comes
//! back on the screen.

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::common_args::span;
use crate::outcome::{CommandError, CommandOutcome, json_line, print_json};
use crate::show::plain::plain;
use crate::show::screen::{self, Screen};

/// Whether it is shown again and again.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct RefreshArgs {
    /// Repeat until Ctrl-C; with --json one object on each line.
    #[arg(long)]
    watch: bool,
    /// Interval between updates with --watch.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s", requires = "watch")]
    interval: Duration,
}

/// Shows the result of `ask`, once or repeatedly.
pub async fn show_or_watch<T, F, G>(
    refresh: RefreshArgs,
    json: bool,
    mut ask: F,
    text: impl Fn(&T) -> String,
) -> Result<CommandOutcome, CommandError>
where
    T: Serialize,
    F: FnMut() -> G,
    G: Future<Output = Result<T, CommandError>>,
{
    let text = &text;
    if refresh.watch {
        let frame = || {
            let request = ask();
            async move {
                let answer = request.await?;
                if json { json_line(&answer) } else { Ok(text(&answer)) }
            }
        };
        return redraw_every(refresh.interval, !json, frame).await;
    }
    let answer = ask().await?;
    if json {
        print_json(&answer)?;
    } else {
        screen::print(&text(&answer))?;
    }
    Ok(CommandOutcome::Done)
}

/// Draws the frames of `frame`, at most one per `every`. With `whole`, frames are for a screen that is redrawn in
/// place.
pub async fn redraw_every<F, G>(
    every: Duration,
    whole: bool,
    mut frame: F,
) -> Result<CommandOutcome, CommandError>
where
    F: FnMut() -> G,
    G: Future<Output = Result<String, CommandError>>,
{
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut screen = None;
    loop {
        let next = Instant::now() + every;
        let made = tokio::select! {
            made = frame() => made,
            _ = interrupt.recv() => return Ok(CommandOutcome::Done),
            _ = terminate.recv() => return Ok(CommandOutcome::Done),
        };
        let text = match made {
            Ok(text) => text,
            Err(failure) if screen.is_some() && whole => {
                format!("{}\n", plain(&failure.to_string()))
            }
            Err(failure) => return Err(failure),
        };
        let screen = match &mut screen {
            Some(open) => open,
            none => none.insert(Screen::open(whole)?),
        };
        screen.draw(&text)?;
        tokio::select! {
            () = sleep_until(next) => {}
            _ = interrupt.recv() => return Ok(CommandOutcome::Done),
            _ = terminate.recv() => return Ok(CommandOutcome::Done),
        }
    }
}
