//! `steelyard try --packets`: one service, forwarded by each method in turn under real load, in a network of its own.
//!
//! Client, router, balancer and four servers are namespaces of this machine; all of them are removed at the end. The
//! figures compare methods on this machine; they allow no other conclusions.

mod cost;
mod environment;
mod method;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use self::environment::PacketDemo;
use self::method::DemoMethod;
use self::table::MethodMeasurement;
use super::args::TryArgs;
use crate::outcome::{CommandError, CommandOutcome, print_json};
use crate::show::screen;

/// Load on each method, in each form.
/// Rates are counted once a second: the shortest time with a whole interval.
const SHORT: Duration = Duration::from_millis(1_500);
/// The same on a terminal.
/// Long enough to read the screen before the next method begins.
const LONG: Duration = Duration::from_secs(4);

pub async fn show(args: TryArgs) -> Result<CommandOutcome, CommandError> {
    let stopped = Arc::new(AtomicBool::new(false));
    watch(&stopped)?;
    let mut stage = PacketDemo::open().await?;
    let mut rows: Vec<MethodMeasurement> = Vec::new();
    let span = if args.once { SHORT } else { LONG };
    if !args.json {
        screen::print(&table::render_head())?;
    }
    for method in DemoMethod::ALL {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        stage.forward_by(method).await?;
        for persist in table::PERSISTS {
            if stopped.load(Ordering::Relaxed) {
                break;
            }
            let row = stage.measure(method, persist, span, &stopped).await?;
            if !args.json {
                screen::print(&row.render_row())?;
            }
            rows.push(row);
        }
    }
    stage.close().await;
    let failed: u64 = rows.iter().map(|row| row.failed).sum();
    if args.json {
        print_json(&rows)?;
    } else {
        screen::print(&table::render_foot(failed))?;
    }
    Ok(if failed == 0 { CommandOutcome::Done } else { CommandOutcome::Negative })
}

/// Sets the flag when a signal ends the process.
fn watch(stopped: &Arc<AtomicBool>) -> Result<(), CommandError> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut heard = signal(kind)?;
        let stopped = Arc::clone(stopped);
        tokio::spawn(async move {
            if heard.recv().await.is_some() {
                stopped.store(true, Ordering::Relaxed);
            }
        });
    }
    Ok(())
}
