//! Programs that are run on events: executed directly, never by a shell, with the event in their environment.
//!
//! Everything about them is bounded: how many run, how many wait, how long, their resources and their output. A failure
//! is an event of its own, for which no hook runs.

mod child;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use model::config::EventHook;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use crate::state::ControlHandle;
use crate::util::event::{DaemonEvent, EventLog};
use crate::util::random_seed::random_seed;
use child::HookOutcome;

/// The part of a program's output that an event shows.
/// A few lines: the reason of a failure as a rule.
const OUTPUT_SHOWN: usize = 512;

/// The name of the alarm that stands from a failed run of a hook until one that ends well.
const ALARM: &str = "hook";

/// One hook at work.
#[derive(Default)]
struct HookQueue {
    running: usize,
    waiting: VecDeque<Arc<DaemonEvent>>,
}

/// Runs hooks for events until the daemon stops; programs that run then are killed.
pub async fn run(control: ControlHandle) {
    let events = control.events().clone();
    let mut follower = events.follow();
    let mut benches: HashMap<String, HookQueue> = HashMap::new();
    let mut running: JoinSet<String> = JoinSet::new();
    loop {
        tokio::select! {
            event = follower.recv() => match event {
                Ok(event) => {
                    let hooks = control.state().config.global.hooks.clone();
                    let is_there = |of: &str| hooks.iter().any(|hook| subject(hook) == of);
                    events.faults().retain(ALARM, is_there);
                    let event = Arc::new(event);
                    for hook in hooks.iter().filter(|hook| wants(hook, &event)) {
                        let bench = benches.entry(hook.name.clone()).or_default();
                        enqueue_event(&events, hook, bench, Arc::clone(&event), &mut running);
                    }
                }
                Err(RecvError::Lagged(lost)) => {
                    events.warn("hook-dropped", format!("{lost} events came too fast for any hook"));
                }
                Err(RecvError::Closed) => return,
            },
            Some(done) = running.join_next() => {
                let Ok(name) = done else { continue };
                let Some(bench) = benches.get_mut(&name) else { continue };
                bench.running = bench.running.saturating_sub(1);
                let hooks = control.state().config.global.hooks.clone();
                match hooks.iter().find(|hook| hook.name == name) {
                    Some(hook) => {
                        if let Some(event) = bench.waiting.pop_front() {
                            start_run(&events, hook, bench, event, &mut running);
                        }
                    }
                    None => bench.waiting.clear(),
                }
            }
        }
    }
}

fn wants(hook: &EventHook, event: &DaemonEvent) -> bool {
    // Trouble with hooks must not make more of it.
    !event.kind.starts_with("hook-") && hook.on.iter().any(|on| *on == "all" || *on == event.kind)
}

fn enqueue_event(
    events: &EventLog,
    hook: &EventHook,
    bench: &mut HookQueue,
    event: Arc<DaemonEvent>,
    running: &mut JoinSet<String>,
) {
    if bench.running < hook.at_once {
        return start_run(events, hook, bench, event, running);
    }
    if bench.waiting.len() >= hook.queue {
        let text = format!(
            "hook {}: {} run and {} wait: the event {} is dropped",
            hook.name, bench.running, hook.queue, event.kind
        );
        return events.warn("hook-dropped", text);
    }
    bench.waiting.push_back(event);
}

fn start_run(
    events: &EventLog,
    hook: &EventHook,
    bench: &mut HookQueue,
    event: Arc<DaemonEvent>,
    running: &mut JoinSet<String>,
) {
    bench.running += 1;
    let hook = hook.clone();
    let events = events.clone();
    running.spawn(async move {
        let ran = child::run(&hook.run, &environment(&event), hook.timeout, random_seed()).await;
        report_outcome(&events, &hook, &event, &ran);
        hook.name
    });
}

/// The event as a program reads it.
fn environment(event: &DaemonEvent) -> BTreeMap<String, String> {
    let level = match event.level {
        model::config::EventLevel::Info => "info",
        model::config::EventLevel::Warning => "warning",
        model::config::EventLevel::Error => "error",
    };
    let mut out = BTreeMap::from([
        ("STEELYARD_EVENT".to_owned(), event.kind.to_owned()),
        ("STEELYARD_LEVEL".to_owned(), level.to_owned()),
        ("STEELYARD_AT_UNIX_MS".to_owned(), event.at_ms.to_string()),
        ("STEELYARD_TEXT".to_owned(), event.text.replace('\0', " ")),
    ]);
    for (key, value) in &event.about {
        let key = key.to_ascii_uppercase().replace('-', "_");
        out.insert(format!("STEELYARD_{key}"), value.replace('\0', " "));
    }
    out
}

/// Its name in alarms.
fn subject(hook: &EventHook) -> String {
    format!("hook {}", hook.name)
}

fn report_outcome(events: &EventLog, hook: &EventHook, event: &DaemonEvent, ran: &HookOutcome) {
    let EventHook { name, timeout, .. } = hook;
    let what = event.kind;
    match ran {
        HookOutcome::Done { said } => {
            events.faults().end(ALARM, &subject(hook));
            events.info("hook-ran", format!("hook {name} ran for {what}{}", first_line(said)));
        }
        HookOutcome::Failed { why, said } => {
            let text = format!("hook {name} failed for {what}: {why}{}", first_line(said));
            events.faults().begin(ALARM, subject(hook), format!("for {what}: {why}"));
            events.warn("hook-failed", text);
        }
        HookOutcome::TooLong { said } => {
            let text =
                format!("hook {name} was killed after {timeout:?} for {what}{}", first_line(said));
            let reason = format!("for {what}, it was killed after {timeout:?}");
            events.faults().begin(ALARM, subject(hook), reason);
            events.warn("hook-timed-out", text);
        }
    }
}

/// The beginning of a program's output, on one line.
fn first_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(&said[..said.len().min(OUTPUT_SHOWN)]);
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.is_empty() { String::new() } else { format!("; it said: {text}") }
}

#[cfg(test)]
mod tests;
