//! `steelyard init`: a first configuration, from three questions or from options.
//!
//! `starter_text` writes it and the model checks it; this file asks, and writes the file.

mod answers;
mod questions;
mod starter_text;

use std::io::{IsTerminal, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use self::answers::{StarterAnswers, StarterMethod};
use self::questions::{GivenAnswers, ask_missing, check_answers};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;
use crate::user_environment::own_config;

/// Write a first configuration: one service in front of servers, with comments.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard init                                  ask questions, and write this user's configuration
  steelyard init shop.toml                        ask questions, and write this file
  steelyard init shop.toml --listen :8080 --servers 10.0.0.11:80,10.0.0.12:80
  steelyard init - --listen :5432 --forward tcp --servers db1:5432 --json

Exit codes: 0 written, 1 the file exists or an answer is invalid, 2 an answer is missing or the file cannot
be written.")]
pub struct InitArgs {
    /// The file to write, or - for standard output [default: this user's in $XDG_CONFIG_HOME/steelyard, or
    /// /etc/steelyard/steelyard.toml for root]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Where clients connect: ADDRESS:PORT, or :PORT for all addresses of this machine.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// What the service forwards.
    #[arg(long, value_enum, value_name = "METHOD")]
    forward: Option<StarterMethod>,
    /// The servers, HOST:PORT each.
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    servers: Vec<String>,
    /// Overwrite the file if it exists.
    #[arg(long)]
    force: bool,
    /// Print the answers and the configuration as JSON.
    #[arg(long)]
    json: bool,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct InitResult {
    /// The file; `-` for standard output.
    file: String,
    listen: String,
    forward: &'static str,
    servers: Vec<String>,
    /// The configuration.
    text: String,
}

pub fn run(args: &InitArgs) -> ExitCode {
    finish(args.json, write_starter(args))
}

fn write_starter(args: &InitArgs) -> Result<CommandOutcome, CommandError> {
    let file = args.file.as_deref().unwrap_or_else(|| own_config());
    let to_output = file == Path::new("-");
    // Asked for nothing when the answer could not be written.
    if !to_output && !args.force && file.symlink_metadata().is_ok() {
        return Err(already_there(file));
    }
    let answers = complete_answers(args)?;
    let text = starter_text::write(&answers);
    if to_output && !args.json {
        screen::print(&text)?;
        return Ok(CommandOutcome::Done);
    }
    if !to_output {
        write_file(file, &text, args.force)?;
    }
    let shown = file.display().to_string();
    if args.json {
        let StarterAnswers { listen, forward, servers } = answers;
        let forward = forward.name();
        print_json(&InitResult { file: shown, listen, forward, servers, text })?;
        return Ok(CommandOutcome::Done);
    }
    let named = if args.file.is_some() { format!(" {shown}") } else { String::new() };
    screen::print(&format!(
        "{shown} is written. Next:\n  steelyard check{named}    finds every mistake, after each change\n  \
         steelyard run{named}      until Ctrl-C\n  steelyard status    in another terminal\n"
    ))?;
    Ok(CommandOutcome::Done)
}

/// The options, and the answers to questions for what they leave out.
fn complete_answers(args: &InitArgs) -> Result<StarterAnswers, CommandError> {
    let given = GivenAnswers {
        listen: args.listen.clone(),
        forward: args.forward,
        servers: (!args.servers.is_empty()).then(|| args.servers.clone()),
    };
    if stdin().is_terminal() && stdout().is_terminal() {
        return ask_missing(given, &mut stdin().lock(), &mut stdout().lock());
    }
    let missing = given.missing_options();
    if !missing.is_empty() {
        return Err(CommandError::Unusable(format!(
            "init asks its questions on a terminal, and this is none: give {}",
            missing.join(" and ")
        )));
    }
    let answers = given.with_defaults();
    check_answers(&answers).map_err(CommandError::Absent)?;
    Ok(answers)
}

fn write_file(file: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::Unusable(format!("cannot write {}: {error}", file.display()))
    };
    if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        files::create::make_dir(parent, 0o755).map_err(failed)?;
    }
    if force {
        return files::create::replace(file, text.as_bytes(), 0o644, |_| Ok(())).map_err(failed);
    }
    let made = files::create::create(file, 0o644);
    let mut made = made.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => already_there(file),
        _ => failed(error),
    })?;
    std::io::Write::write_all(&mut made, text.as_bytes()).map_err(failed)
}

fn already_there(file: &Path) -> CommandError {
    let file = file.display();
    CommandError::Absent(format!("{file} exists and stays as it is: name another file, or --force"))
}
