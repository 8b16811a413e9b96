//! The demonstration itself: looks, draws, and does what keys or the story say, until it is over.
//!
//! What is drawn is made in `view`, what is done in `stage`.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use super::args::Args;
use super::chronicle::Chronicle;
use super::keys::{Key, meaning};
use super::look::{Frame, Look};
use super::stage::{Stage, WEB};
use super::story::{Deed, Story, next_to_kill, next_to_revive};
use super::summary::Summary;
use super::view;
use crate::end::{End, Failure, print_json};
use crate::show::keyboard::Keyboard;
use crate::show::paint::Paint;
use crate::show::screen::{self, Screen};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Rates and times cover so many looks.
const WINDOW: usize = 4;

/// Shows it.
pub async fn show(args: Args, interactive: bool) -> Result<End, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut stage = Stage::open(args.rate).await?;
    let mut hands = Hands::new(&args, interactive)?;
    let mut looks = VecDeque::from([stage.look()]);
    let mut chronicle = Chronicle::default();
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let deed = tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => break,
            hand = hands.next(&stage) => match hand {
                Hand::Does(deed) => Some(deed),
                Hand::Nothing => None,
                Hand::Ends => break,
            },
            _ = tick.tick() => None,
        };
        if let Some(deed) = deed {
            let (at, clock) = (stage.at(), SystemTime::now());
            stage.perform(deed).await?;
            let (Deed::Kill(number) | Deed::Revive(number) | Deed::Drain(number)) = deed;
            chronicle.note(deed, &Stage::name(number), at, clock);
            hands.tell(&chronicle)?;
            continue;
        }
        let look = stage.look();
        chronicle.see(&look);
        hands.draw(&looks, &look, &chronicle)?;
        looks.push_back(look);
        if looks.len() > WINDOW {
            looks.pop_front();
        }
    }
    drop(hands);
    let last = stage.close().await;
    chronicle.see(&last);
    let summary = Summary::of(&last, &chronicle);
    if args.json {
        print_json(&summary)?;
    } else {
        screen::print(&summary.text())?;
    }
    Ok(summary.end())
}

/// What is to be done next.
enum Hand {
    Does(Deed),
    Nothing,
    Ends,
}

/// Whoever moves the servers, and how it is shown.
enum Hands {
    /// Keys, and a screen.
    Keys { keyboard: Keyboard<Key>, screen: Screen },
    /// The clock, and a line a second, unless only the summary is wanted.
    Clock { story: Story, quiet: bool, lines: u64 },
}

impl Hands {
    fn new(args: &Args, interactive: bool) -> Result<Hands, Failure> {
        if interactive {
            return Ok(Hands::Keys {
                keyboard: Keyboard::open(meaning)?,
                screen: Screen::open(true)?,
            });
        }
        let story = if args.once { Story::once() } else { Story::endless(WEB) };
        Ok(Hands::Clock { story, quiet: args.json, lines: 0 })
    }

    async fn next(&mut self, stage: &Stage) -> Hand {
        match self {
            Hands::Keys { keyboard, .. } => {
                let deed = match keyboard.next().await {
                    Key::Kill => next_to_kill(&stage.dead(), stage.last_killed()),
                    Key::Revive => next_to_revive(stage.deaths()),
                    Key::Quit => return Hand::Ends,
                };
                deed.map_or(Hand::Nothing, Hand::Does)
            }
            Hands::Clock { story, .. } => {
                if let Some(deed) = story.due(stage.at()) {
                    return Hand::Does(deed);
                }
                if story.is_over(stage.at()) {
                    return Hand::Ends;
                }
                std::future::pending().await
            }
        }
    }

    /// Shows a look, when it is time for it.
    fn draw(
        &mut self,
        looks: &VecDeque<Look>,
        now: &Look,
        chronicle: &Chronicle,
    ) -> Result<(), Failure> {
        let frame = Frame::between(looks.front().unwrap_or(now), now);
        match self {
            Hands::Keys { screen, .. } => {
                let text = view::screen(&frame, chronicle, screen::width(), Paint::for_stdout());
                Ok(screen.draw(&text)?)
            }
            Hands::Clock { quiet: false, lines, .. } if now.at.as_secs() > *lines => {
                *lines = now.at.as_secs();
                Ok(screen::print(&view::line(&frame))?)
            }
            Hands::Clock { .. } => Ok(()),
        }
    }

    /// Shows what was done just now.
    fn tell(&self, chronicle: &Chronicle) -> Result<(), Failure> {
        match (self, chronicle.events().next_back()) {
            (Hands::Clock { quiet: false, .. }, Some(event)) => {
                Ok(screen::print(&format!("{}\n", event.tell()))?)
            }
            _ => Ok(()),
        }
    }
}
