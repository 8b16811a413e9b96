//! The `steelyard` program: a table of verbs, one file each.
//!
//! Verbs render what the daemon, the model and the lab say. Nothing is decided here.

mod ask;
mod end;
mod help;
mod hint;
mod pattern;
mod remote;
mod show;
mod watch;
mod when;

mod agent;
mod apply;
mod audit;
mod bench;
mod capacity;
mod capture;
mod check;
mod compare;
mod completions;
mod convert;
mod decap;
mod doctor;
mod explain;
mod follow;
mod generations;
mod lab;
mod man;
mod names;
mod plan_change;
mod report;
mod rollback;
mod run;
mod server;
mod status;
mod stop;
mod study;
mod support;
mod takeover;
mod token;
mod top;
mod try_;
mod undo;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// One address in front of many servers: balances, measures and explains.
#[derive(Debug, Parser)]
#[command(name = "steelyard", version, after_help = AFTER_HELP)]
struct Program {
    #[command(subcommand)]
    verb: Verb,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  the answer is no: refused, mistakes found, no such object
  2  wrong usage, unreadable input, or no daemon to ask
  3  done in part

Colours are used on terminals unless NO_COLOR is set. `steelyard VERB --help` has examples.";

/// The whole command line, every verb with its examples and exit codes.
fn command() -> clap::Command {
    help::complete(Program::command(), "steelyard")
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::Args),
    Agent(agent::Args),
    Check(check::Args),
    Convert(convert::Args),
    PlanChange(plan_change::Args),
    Apply(apply::Args),
    Rollback(rollback::Args),
    Generations(generations::Args),
    Status(status::Args),
    Report(report::Args),
    Top(top::Args),
    Server(server::Args),
    Watch(follow::Args),
    Explain(explain::Args),
    Audit(audit::Args),
    Capture(capture::Args),
    Undo(undo::Args),
    Takeover(takeover::Args),
    Stop(stop::Args),
    Support(support::Args),
    Token(token::Args),
    Doctor(doctor::Args),
    Decap(decap::Args),
    Try(try_::Args),
    Bench(bench::Args),
    Compare(compare::Args),
    Lab(lab::Args),
    Study(study::Args),
    Capacity(Box<capacity::Args>),
    Completions(completions::Args),
    #[command(hide = true)]
    Names(names::Args),
    #[command(hide = true)]
    Man(man::Args),
}

fn main() -> ExitCode {
    let parsed = command().try_get_matches().and_then(|found| Program::from_arg_matches(&found));
    let verb = match parsed {
        Ok(program) => program.verb,
        Err(error) => {
            let error = hint::with_hint(error, &command(), std::env::args().nth(1).as_deref());
            // Help, the version or a usage error; a reader that has gone is no error of ours.
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    match verb {
        Verb::Run(args) => run::run(args),
        Verb::Agent(args) => agent::run(args),
        Verb::Check(args) => check::run(&args),
        Verb::Convert(args) => convert::run(&args),
        Verb::PlanChange(args) => plan_change::run(&args),
        Verb::Apply(args) => apply::run(&args),
        Verb::Rollback(args) => rollback::run(&args),
        Verb::Generations(args) => generations::run(&args),
        Verb::Status(args) => status::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Top(args) => top::run(args),
        Verb::Server(args) => server::run(&args),
        Verb::Watch(args) => follow::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Audit(args) => audit::run(&args),
        Verb::Capture(args) => capture::run(&args),
        Verb::Undo(args) => undo::run(&args),
        Verb::Takeover(args) => takeover::run(&args),
        Verb::Stop(args) => stop::run(&args),
        Verb::Support(args) => support::run(&args),
        Verb::Token(args) => token::run(&args),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Decap(args) => decap::run(&args),
        Verb::Try(args) => try_::run(args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Lab(args) => lab::run(&args),
        Verb::Study(args) => study::run(&args),
        Verb::Capacity(args) => capacity::run(&args),
        Verb::Completions(args) => completions::run(&args, command()),
        Verb::Names(args) => names::run(&args),
        Verb::Man(args) => man::run(&args, command()),
    }
}

#[cfg(test)]
mod expect;
#[cfg(test)]
mod tests;
