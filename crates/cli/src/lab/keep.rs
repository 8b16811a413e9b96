//! The process that keeps a network: builds it, says so, waits to be ended, takes it down.

use std::io::Write;
use std::path::PathBuf;

use lab::topology::build::build;
use lab::topology::record::Record;
use tokio::signal::unix::{SignalKind, signal};

use super::common::{Kept, known, plan};
use crate::ask::wait;
use crate::end::{End, Failure, sentence};

/// Build a network and keep it until told to end.
#[derive(Clone, Debug, clap::Args)]
pub struct KeepArgs {
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[arg(long, value_name = "NAME")]
    name: String,
    #[command(flatten)]
    kept: Kept,
}

/// What is said when it stands.
pub const READY: &str = "ready";

/// Carries it out.
pub fn keep(args: &KeepArgs) -> Result<End, Failure> {
    let plan = plan(&args.file, Some(&args.name))?;
    let records = args.kept.records();
    wait(async {
        // Asked for before anything is made, so that nothing is left whenever the order comes.
        let heard = |kind| signal(kind).map_err(|error| Failure::Unusable(error.to_string()));
        let (mut end, mut interrupt) =
            (heard(SignalKind::terminate())?, heard(SignalKind::interrupt())?);
        let mut hangup = heard(SignalKind::hangup())?;
        let standing = build(&plan).map_err(|error| Failure::Unusable(sentence(&error)))?;
        let record = Record::of(&plan, &standing, &args.file);
        records.keep(&record).map_err(|error| known(&error))?;
        let mut out = std::io::stdout().lock();
        // Who asked may have gone; the network stands all the same.
        let _ = writeln!(out, "{READY}").and_then(|()| out.flush());
        loop {
            tokio::select! {
                _ = end.recv() => break,
                _ = interrupt.recv() => break,
                // The terminal that it was made from has gone; it stays.
                _ = hangup.recv() => {}
            }
        }
        drop(standing);
        records.remove(&plan.name).map_err(|error| known(&error))?;
        Ok(End::Done)
    })
}
