//! `steelyard doctor cores`: which processor does the network's work, what is uneven, and what evens it out.
//! `links::steering` checks and plans; this reads, prints, and on request applies and reverts.

mod read;
mod show;
mod undo_file;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lab::machine::procfs::read_processor_counters as times;
use links::steering::counters::NetworkLoad;
use links::steering::diagnosis::diagnose;
use links::steering::plan::{SteeringChange, SteeringGoal, SteeringStep, plan_steering};
use links::steering::snapshot::SteeringSnapshot;
use tokio::time::{Instant, sleep_until};

use self::read::LocalMachine;
use self::undo_file::{SteeringUndo, UndoFile};
use crate::common_args::{DaemonArgs, block_on, span};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::refresh::redraw_every;
use crate::show::screen;

/// A device that is given channels has new queues, which are planned for in a second round.
const ROUNDS: usize = 2;

/// Check which processors do the network processing: interrupts, packets and queues, imbalances,
/// and the commands for RSS, RPS, RFS and XPS that fix them.
///
/// Run it under load. With --apply the commands are run, the previous settings are stored for
/// --undo, and the load is measured before and after.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor cores                         measure for two seconds, and show what would balance the load
  steelyard doctor cores --watch                 live, until Ctrl-C
  steelyard doctor cores --interface eth0 --for 10s
  steelyard doctor cores --apply                 run the commands; as root
  steelyard doctor cores --undo                  restore the previous settings

RFS helps only if connections end on this machine. The daemon's services show that; without a daemon it is
assumed. Settings last until the next boot.

Exit codes: 0 the load is balanced or too low to tell, 1 a problem, 2 the machine could not be read, 3 not
every command succeeded.")]
pub struct DoctorCoresArgs {
    #[command(flatten)]
    contact: DaemonArgs,
    /// How long to measure.
    #[arg(long = "for", value_name = "TIME", value_parser = span, default_value = "2s")]
    span: Duration,
    /// Only these interfaces; default: those of network devices.
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// Repeat the measurement until Ctrl-C.
    #[arg(long, conflicts_with_all = ["apply", "undo", "json"])]
    watch: bool,
    /// Run the commands that are shown.
    #[arg(long, conflicts_with = "undo")]
    apply: bool,
    /// Restore the settings from before --apply.
    #[arg(long)]
    undo: bool,
    /// File with the previous settings.
    #[arg(
        long = "undo-file",
        value_name = "FILE",
        default_value = "/var/lib/steelyard/steering.json"
    )]
    kept: PathBuf,
}

pub fn run(args: &DoctorCoresArgs) -> ExitCode {
    finish(args.contact.json, block_on(diagnose_cores(args)))
}

async fn diagnose_cores(args: &DoctorCoresArgs) -> Result<CommandOutcome, CommandError> {
    if args.undo {
        return undo(args);
    }
    if args.span.is_zero() {
        return Err(CommandError::Unusable(
            "--for 0s measures nothing; give it a second".to_owned(),
        ));
    }
    if args.watch {
        return redraw_every(Duration::ZERO, true, || async {
            let MeasuredMachine { snapshot, load } = measure_load(args).await?;
            Ok(show::render_tables(&snapshot, &load))
        })
        .await;
    }
    let wanted = read_machine_purpose(args).await;
    let MeasuredMachine { snapshot, load } = measure_load(args).await?;
    let findings = diagnose(&snapshot, &load);
    let steps = plan_steering(&snapshot.loaded_interfaces(&load), wanted);
    let mut answer = show::CoresDiagnosis::new(&snapshot, &load, findings, &steps);
    let mut end = if answer.wrong == 0 { CommandOutcome::Done } else { CommandOutcome::Negative };
    if args.apply {
        let SteeringAttempt { done, failed } = apply(args, steps, wanted, &load)?;
        let after = measure_load(args).await?.load;
        answer.applied = Some(show::AppliedSteps::new(&done, &failed, &load, &after));
        end = if failed.is_empty() { CommandOutcome::Done } else { CommandOutcome::Partial };
    }
    if args.contact.json {
        print_json(&answer)?;
    } else {
        screen::print(&answer.text(&snapshot, &load, &args.kept))?;
    }
    Ok(end)
}

/// The purpose of the machine, as its daemon reports it.
async fn read_machine_purpose(args: &DoctorCoresArgs) -> SteeringGoal {
    let status = match args.contact.client() {
        Ok(client) => client.status().await.map_err(CommandError::from),
        Err(failure) => Err(failure),
    };
    let ends = |status: api::types::Status| {
        let forwards = status
            .services
            .iter()
            .all(|service| matches!(service.forward.as_str(), "mac" | "nat" | "tunnel"));
        status.services.is_empty() || !forwards
    };
    SteeringGoal { terminates_connections: status.map_or(true, ends) }
}

/// The machine, and its work during the span.
struct MeasuredMachine {
    snapshot: SteeringSnapshot,
    load: NetworkLoad,
}

async fn measure_load(args: &DoctorCoresArgs) -> Result<MeasuredMachine, CommandError> {
    let machine = LocalMachine::open(&args.interface)?;
    let first = machine.counters();
    let before = times();
    let begun = Instant::now();
    sleep_until(begun + args.span).await;
    let seconds = begun.elapsed().as_secs_f64();
    let mut load = machine.counters().since(&first, seconds);
    for share in times().since(&before, seconds) {
        if let Some(work) = load.processors.get_mut(&share.number) {
            work.softirq = share.softirq + share.irq;
            work.busy = share.busy();
        }
    }
    Ok(MeasuredMachine { snapshot: machine.state, load })
}

/// What became of steps that were carried out.
struct SteeringAttempt {
    done: Vec<SteeringStep>,
    /// Why the others failed.
    failed: Vec<String>,
}

/// Carries the steps out, and those that can only be planned after them. The previous settings are saved first.
fn apply(
    args: &DoctorCoresArgs,
    mut steps: Vec<SteeringStep>,
    wanted: SteeringGoal,
    load: &NetworkLoad,
) -> Result<SteeringAttempt, CommandError> {
    let mut undo_file = UndoFile::open(&args.kept)?;
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for _ in 0..ROUNDS {
        undo_file.add(steps.iter().map(|step| step.change.clone()))?;
        let before = done.len();
        for step in steps {
            match undo_file::apply_change(&step.change) {
                Ok(()) => done.push(step),
                Err(why) => failed.push(why),
            }
        }
        let grew = done[before..]
            .iter()
            .any(|step| matches!(&step.change, SteeringChange::Ethtool { .. }));
        if !grew {
            break;
        }
        steps = plan_steering(
            &LocalMachine::open(&args.interface)?.state.loaded_interfaces(load),
            wanted,
        );
    }
    Ok(SteeringAttempt { done, failed })
}

fn undo(args: &DoctorCoresArgs) -> Result<CommandOutcome, CommandError> {
    let SteeringUndo { done, failed } = UndoFile::open(&args.kept)?.undo()?;
    if args.contact.json {
        print_json(&show::RevertedSteps::new(&done, &failed))?;
    } else {
        screen::print(&show::render_reverted(&done, &failed, &args.kept))?;
    }
    Ok(if failed.is_empty() { CommandOutcome::Done } else { CommandOutcome::Partial })
}
