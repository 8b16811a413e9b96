//! The demonstration itself: takes snapshots, draws, and does what keys or the script order, until it is over.
//!
//! `view` makes the frames, `environment` carries the orders out.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use super::args::TryArgs;
use super::environment::{DemoEnvironment, WEB};
use super::event_log::DemoLog;
use super::keys::{DemoKey, meaning};
use super::script::{DemoAction, DemoScript, next_to_kill, next_to_revive};
use super::snapshot::{DemoFrame, DemoSnapshot};
use super::summary::DemoSummary;
use super::view;
use crate::outcome::{CommandError, CommandOutcome, print_json};
use crate::show::keyboard::Keyboard;
use crate::show::paint::Paint;
use crate::show::screen::{self, Screen};

/// Four times a second is as often as people can follow.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Rates and times cover so many looks.
const WINDOW: usize = 4;

pub async fn show(args: TryArgs, interactive: bool) -> Result<CommandOutcome, CommandError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut stage = DemoEnvironment::open(args.rate).await?;
    let mut hands = DemoDriver::new(&args, interactive)?;
    let mut looks = VecDeque::from([stage.take_snapshot()]);
    let mut chronicle = DemoLog::default();
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let deed = tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => break,
            hand = hands.next(&stage) => match hand {
                NextStep::Do(deed) => Some(deed),
                NextStep::Wait => None,
                NextStep::Stop => break,
            },
            _ = tick.tick() => None,
        };
        if let Some(deed) = deed {
            let at = stage.elapsed();
            let clock = SystemTime::now();
            stage.perform(deed).await?;
            let (DemoAction::Kill(number) | DemoAction::Revive(number) | DemoAction::Drain(number)) =
                deed;
            chronicle.record_action(deed, &DemoEnvironment::name(number), at, clock);
            hands.print_events(&chronicle)?;
            continue;
        }
        let look = stage.take_snapshot();
        chronicle.observe(&look);
        hands.draw(&looks, &look, &chronicle)?;
        looks.push_back(look);
        if looks.len() > WINDOW {
            looks.pop_front();
        }
    }
    drop(hands);
    let last = stage.close().await;
    chronicle.observe(&last);
    let summary = DemoSummary::from_log(&last, &chronicle);
    if args.json {
        print_json(&summary)?;
    } else {
        screen::print(&summary.render())?;
    }
    Ok(summary.outcome())
}

/// The next step of the demonstration.
enum NextStep {
    Do(DemoAction),
    Wait,
    Stop,
}

/// The source of orders, and the way of showing.
enum DemoDriver {
    /// Keys, and a screen.
    Keyboard { keyboard: Keyboard<DemoKey>, screen: Screen },
    /// The clock, and a line a second, unless only the summary is wanted.
    Script { story: DemoScript, quiet: bool, lines: u64 },
}

impl DemoDriver {
    fn new(args: &TryArgs, interactive: bool) -> Result<DemoDriver, CommandError> {
        if interactive {
            return Ok(DemoDriver::Keyboard {
                keyboard: Keyboard::open(meaning)?,
                screen: Screen::open(true)?,
            });
        }
        let story = if args.once { DemoScript::once() } else { DemoScript::endless(WEB) };
        Ok(DemoDriver::Script { story, quiet: args.json, lines: 0 })
    }

    async fn next(&mut self, stage: &DemoEnvironment) -> NextStep {
        match self {
            DemoDriver::Keyboard { keyboard, .. } => {
                let deed = match keyboard.next().await {
                    DemoKey::Kill => next_to_kill(&stage.killed_servers(), stage.last_killed()),
                    DemoKey::Revive => next_to_revive(stage.kill_order()),
                    DemoKey::Quit => return NextStep::Stop,
                };
                deed.map_or(NextStep::Wait, NextStep::Do)
            }
            DemoDriver::Script { story, .. } => {
                if let Some(deed) = story.next_action(stage.elapsed()) {
                    return NextStep::Do(deed);
                }
                if story.is_over(stage.elapsed()) {
                    return NextStep::Stop;
                }
                std::future::pending().await
            }
        }
    }

    /// Shows a look, when it is time for it.
    fn draw(
        &mut self,
        looks: &VecDeque<DemoSnapshot>,
        now: &DemoSnapshot,
        chronicle: &DemoLog,
    ) -> Result<(), CommandError> {
        let frame = DemoFrame::between(looks.front().unwrap_or(now), now);
        match self {
            DemoDriver::Keyboard { screen, .. } => {
                let text = view::screen(&frame, chronicle, screen::width(), Paint::for_stdout());
                Ok(screen.draw(&text)?)
            }
            DemoDriver::Script { quiet: false, lines, .. } if now.at.as_secs() > *lines => {
                *lines = now.at.as_secs();
                Ok(screen::print(&view::line(&frame))?)
            }
            DemoDriver::Script { .. } => Ok(()),
        }
    }

    /// Prints the latest events.
    fn print_events(&self, chronicle: &DemoLog) -> Result<(), CommandError> {
        match (self, chronicle.events().next_back()) {
            (DemoDriver::Script { quiet: false, .. }, Some(event)) => {
                Ok(screen::print(&format!("{}\n", event.describe()))?)
            }
            _ => Ok(()),
        }
    }
}
