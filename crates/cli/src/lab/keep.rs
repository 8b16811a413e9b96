//! The keeper process of a network: builds it, reports that, waits to be ended, takes it down.

use std::io::Write;
use std::path::PathBuf;

use lab::topology::build::build_topology;
use lab::topology::record::TopologyRecord;
use tokio::signal::unix::{SignalKind, signal};

use super::common::{RecordsDirArgs, read_plan, record_failure};
use crate::common_args::block_on;
use crate::outcome::{CommandError, CommandOutcome, sentence};

/// Build a network and keep it until told to end.
#[derive(Clone, Debug, clap::Args)]
pub struct LabKeepArgs {
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[arg(long, value_name = "NAME")]
    name: String,
    #[command(flatten)]
    kept: RecordsDirArgs,
}

/// The line that reports a network which is up.
pub const READY: &str = "ready";

pub fn keep(args: &LabKeepArgs) -> Result<CommandOutcome, CommandError> {
    let plan = read_plan(&args.file, Some(&args.name))?;
    let records = args.kept.open_records();
    block_on(async {
        // Asked for before anything is made, so that nothing is left whenever the signal comes.
        let heard = |kind| signal(kind).map_err(|error| CommandError::Unusable(error.to_string()));
        let mut end = heard(SignalKind::terminate())?;
        let mut interrupt = heard(SignalKind::interrupt())?;
        let mut hangup = heard(SignalKind::hangup())?;
        let standing =
            build_topology(&plan).map_err(|error| CommandError::Unusable(sentence(&error)))?;
        let record = TopologyRecord::from_topology(&plan, &standing, &args.file);
        records.write_record(&record).map_err(|error| record_failure(&error))?;
        let mut out = std::io::stdout().lock();
        // Ignored: the process that started this one may have gone; the network stays up all the same.
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
        records.remove_record(&plan.name).map_err(|error| record_failure(&error))?;
        Ok(CommandOutcome::Done)
    })
}
