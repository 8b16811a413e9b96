//! `steelyard doctor cores`: which processor does the network's work, what is uneven, and what evens it out.
//! `links::steer` judges and plans; this asks, prints, and on request carries out and takes back.

mod keep;
mod read;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lab::machine::read::counters as times;
use links::steer::count::Load;
use links::steer::judge::examine;
use links::steer::picture::Picture;
use links::steer::plan::{Change, Step, Wanted, plan};
use tokio::time::{Instant, sleep_until};

use self::keep::Kept;
use self::read::Machine;
use crate::ask::{Contact, span, wait};
use crate::end::{End, Failure, finish, print_json};
use crate::show::screen;
use crate::watch::watch;

/// A device that is given channels has new queues, which are planned for in a second round.
const ROUNDS: usize = 2;

/// Examine which processors do the network's work: interrupts, packets and queues, what is uneven, and the masks for
/// RSS, RPS, RFS and XPS that even it out, as commands.
///
/// Run it under load. With --apply the commands are carried out, what was there before is kept for --undo, and the
/// work is measured before and after.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor cores                         two seconds of this machine's work, and what would even it out
  steelyard doctor cores --watch                 live, until Ctrl-C
  steelyard doctor cores --interface eth0 --for 10s
  steelyard doctor cores --apply                 carry it out; as root
  steelyard doctor cores --undo                  as it was before

Services tell whether connections end on this machine, which RFS is for; without a daemon they are taken to. Settings
last until the next start of the machine.

Exit codes: 0 the work is even or too little to judge by, 1 something is wrong, 2 the machine could not be read, 3 not
all could be carried out.")]
pub struct CoresArgs {
    #[command(flatten)]
    contact: Contact,
    /// How long to measure.
    #[arg(long = "for", value_name = "TIME", value_parser = span, default_value = "2s")]
    span: Duration,
    /// Only these interfaces; else those of devices.
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// Show it again and again.
    #[arg(long, conflicts_with_all = ["apply", "undo", "json"])]
    watch: bool,
    /// Carry the commands out.
    #[arg(long, conflicts_with = "undo")]
    apply: bool,
    /// Take back what --apply did.
    #[arg(long)]
    undo: bool,
    /// Where what was there before is kept.
    #[arg(long, value_name = "FILE", default_value = "/var/lib/steelyard/steering.json")]
    kept: PathBuf,
}

/// Carries it out.
pub fn run(args: &CoresArgs) -> ExitCode {
    finish(args.contact.json, wait(ask(args)))
}

async fn ask(args: &CoresArgs) -> Result<End, Failure> {
    if args.undo {
        return undo(args);
    }
    if args.span.is_zero() {
        return Err(Failure::Unusable("--for 0s measures nothing; give it a second".to_owned()));
    }
    if args.watch {
        return watch(Duration::ZERO, true, || async {
            let (picture, load) = measured(args).await?;
            Ok(show::live(&picture, &load))
        })
        .await;
    }
    let wanted = wanted(args).await;
    let (picture, load) = measured(args).await?;
    let findings = examine(&picture, &load);
    let steps = plan(&picture.loaded(&load), wanted);
    let mut answer = show::Answer::new(&picture, &load, findings, &steps);
    let mut end = if answer.wrong == 0 { End::Done } else { End::No };
    if args.apply {
        let (done, failed) = apply(args, steps, wanted, &load)?;
        let (_, after) = measured(args).await?;
        answer.applied = Some(show::Applied::new(&done, &failed, &load, &after));
        end = if failed.is_empty() { End::Done } else { End::Partial };
    }
    if args.contact.json {
        print_json(&answer)?;
    } else {
        screen::print(&answer.text(&picture, &load, &args.kept))?;
    }
    Ok(end)
}

/// What the machine is for, as its daemon says.
async fn wanted(args: &CoresArgs) -> Wanted {
    let status = match args.contact.client() {
        Ok(client) => client.status().await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    let ends = |status: api::types::Status| {
        let forwards = status
            .services
            .iter()
            .all(|service| matches!(service.forward.as_str(), "mac" | "nat" | "tunnel"));
        status.services.is_empty() || !forwards
    };
    Wanted { ends: status.map_or(true, ends) }
}

/// The machine, and its work during the span.
async fn measured(args: &CoresArgs) -> Result<(Picture, Load), Failure> {
    let machine = Machine::open(&args.interface)?;
    let (first, before) = (machine.counters(), times());
    let begun = Instant::now();
    sleep_until(begun + args.span).await;
    let seconds = begun.elapsed().as_secs_f64();
    let mut load = machine.counters().since(&first, seconds);
    for share in times().since(&before, seconds) {
        if let Some(work) = load.processors.get_mut(&share.number) {
            (work.softirq, work.busy) = (share.softirq + share.irq, share.busy());
        }
    }
    Ok((machine.picture, load))
}

/// Carries the steps out, and those that only then can be planned. What was there before is kept first.
fn apply(
    args: &CoresArgs,
    mut steps: Vec<Step>,
    wanted: Wanted,
    load: &Load,
) -> Result<(Vec<Step>, Vec<String>), Failure> {
    let mut kept = Kept::open(&args.kept)?;
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        kept.add(steps.iter().map(|step| step.change.clone()))?;
        let before = done.len();
        for step in steps {
            match keep::carry_out(&step.change) {
                Ok(()) => done.push(step),
                Err(why) => failed.push(why),
            }
        }
        let grew = done[before..].iter().any(|step| matches!(&step.change, Change::Ethtool { .. }));
        if !grew {
            break;
        }
        steps = plan(&Machine::open(&args.interface)?.picture.loaded(load), wanted);
    }
    Ok((done, failed))
}

fn undo(args: &CoresArgs) -> Result<End, Failure> {
    let (done, failed) = Kept::open(&args.kept)?.undo()?;
    if args.contact.json {
        print_json(&show::Undone::new(&done, &failed))?;
    } else {
        screen::print(&show::undone(&done, &failed, &args.kept))?;
    }
    Ok(if failed.is_empty() { End::Done } else { End::Partial })
}
