//! The `steelyard` program: a table of commands, one file each.
//!
//! Commands render the results of the daemon, the model and the lab. Nothing is decided here.

mod common_args;
mod config_file;
mod help;
mod outcome;
mod pattern;
mod refresh;
mod remote;
mod show;
mod time_spec;
mod usage_error;
mod user_environment;

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
mod copy;
mod decap;
mod doctor;
mod explain;
mod former_flags;
mod gateway;
mod generations;
mod init;
mod interrupt;
mod lab;
mod log;
mod man;
mod names;
mod plan_change;
mod reload;
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
mod version;
mod watch_events;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// One address in front of many servers: balances, measures and explains.
#[derive(Debug, Parser)]
#[command(name = "steelyard", version, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    verb: CliCommand,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  negative result: rejected, mistakes found, no such object
  2  wrong usage, unreadable input, or no daemon
  3  partly done

Colours are used on terminals unless NO_COLOR is set. `steelyard VERB --help` has examples.";

/// The whole command line, every verb with its examples and exit codes.
fn command() -> clap::Command {
    help::with_examples(Cli::command(), "steelyard")
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Run(run::RunArgs),
    Init(init::InitArgs),
    Agent(agent::AgentArgs),
    #[command(visible_alias = "validate")]
    Check(check::CheckArgs),
    Convert(convert::ConvertArgs),
    Gateway(gateway::GatewayArgs),
    #[command(visible_alias = "diff")]
    PlanChange(plan_change::PlanChangeArgs),
    Apply(apply::ApplyArgs),
    Copy(copy::CopyArgs),
    Reload(reload::ReloadArgs),
    Rollback(rollback::RollbackArgs),
    Generations(generations::GenerationsArgs),
    Status(status::StatusArgs),
    Report(report::ReportArgs),
    Top(top::TopArgs),
    Server(server::ServerArgs),
    Watch(watch_events::WatchArgs),
    #[command(visible_alias = "logs")]
    Log(log::LogArgs),
    Explain(explain::ExplainArgs),
    Audit(audit::AuditArgs),
    Capture(capture::CaptureArgs),
    Undo(undo::UndoArgs),
    Takeover(takeover::TakeoverArgs),
    Stop(stop::StopArgs),
    Support(support::SupportArgs),
    Token(token::TokenArgs),
    Doctor(doctor::DoctorArgs),
    Decap(decap::DecapArgs),
    Try(try_::TryArgs),
    Bench(bench::BenchArgs),
    Compare(compare::CompareArgs),
    Lab(lab::LabArgs),
    Study(study::StudyArgs),
    Capacity(Box<capacity::CapacityArgs>),
    Version(version::VersionArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Names(names::NamesArgs),
    #[command(hide = true)]
    Man(man::ManArgs),
}

fn main() -> ExitCode {
    user_environment::choose_paths();
    let given = former_flags::replace_former_flags(std::env::args_os());
    former_flags::warn_of_former_flags(&given.replaced);
    let parsed =
        command().try_get_matches_from(given.words).and_then(|found| Cli::from_arg_matches(&found));
    let verb = match parsed {
        Ok(program) => program.verb,
        Err(error) => {
            let error = usage_error::plain_usage_error(error);
            // Ignored: the output is help, the version or a usage error, and a reader that closed the pipe is no error.
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    match verb {
        CliCommand::Run(args) => run::run(args),
        CliCommand::Init(args) => init::run(&args),
        CliCommand::Agent(args) => agent::run(args),
        CliCommand::Check(args) => check::run(&args),
        CliCommand::Convert(args) => convert::run(&args),
        CliCommand::Gateway(args) => gateway::run(&args),
        CliCommand::PlanChange(args) => plan_change::run(&args),
        CliCommand::Apply(args) => apply::run(&args),
        CliCommand::Copy(args) => copy::run(&args),
        CliCommand::Reload(args) => reload::run(&args),
        CliCommand::Rollback(args) => rollback::run(&args),
        CliCommand::Generations(args) => generations::run(&args),
        CliCommand::Status(args) => status::run(args),
        CliCommand::Report(args) => report::run(args),
        CliCommand::Top(args) => top::run(args),
        CliCommand::Server(args) => server::run(&args),
        CliCommand::Log(args) => log::run(&args),
        CliCommand::Watch(args) => watch_events::run(&args),
        CliCommand::Explain(args) => explain::run(&args),
        CliCommand::Audit(args) => audit::run(&args),
        CliCommand::Capture(args) => capture::run(&args),
        CliCommand::Undo(args) => undo::run(&args),
        CliCommand::Takeover(args) => takeover::run(&args),
        CliCommand::Stop(args) => stop::run(&args),
        CliCommand::Support(args) => support::run(&args),
        CliCommand::Token(args) => token::run(&args),
        CliCommand::Doctor(args) => doctor::run(&args),
        CliCommand::Decap(args) => decap::run(&args),
        CliCommand::Try(args) => try_::run(args),
        CliCommand::Bench(args) => bench::run(&args),
        CliCommand::Compare(args) => compare::run(&args),
        CliCommand::Lab(args) => lab::run(&args),
        CliCommand::Study(args) => study::run(&args),
        CliCommand::Capacity(args) => capacity::run(&args),
        CliCommand::Version(args) => version::run(&args),
        CliCommand::Completions(args) => completions::run(&args, command()),
        CliCommand::Names(args) => names::run(&args),
        CliCommand::Man(args) => man::run(&args, command()),
    }
}

#[cfg(test)]
mod expect;
#[cfg(test)]
mod tests;
