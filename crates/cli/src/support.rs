//! `steelyard support`: an archive for support, without secrets. Output of the daemon and the machine is included as it
//! is, except for what `redact` removes. If the daemon does not run, the archive says so and has everything else.

mod archive;
mod machine;
mod redact;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use api::{ApiClient, ApiError};
use serde::Serialize;

use crate::common_args::{DaemonArgs, block_on, read_config};
use crate::config_file::StandardConfigArgs;
use crate::outcome::{CommandError, CommandOutcome, finish, print_json, print_note, sentence};
use crate::show::screen;
use crate::time_spec::now_ms;

use self::archive::SupportArchive;

/// How long the daemon may take for each answer.
/// The archive is made most often when something is wrong: a hanging daemon must not stop it.
const DEADLINE: Duration = Duration::from_secs(5);

/// Write an archive for support: configuration, states, statistics, events and machine facts,
/// without secrets.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard support                       steelyard-support.tar.gz in this directory
  steelyard support -o /tmp/case.tar.gz
  steelyard support -c shop.toml --json   with the file that the daemon reads

Private keys, tokens, passwords, cookies, headers, parameters, and texts of health checks and rules are
removed. Review the archive before you share it.

Exit codes: 0 done, 2 it could not be written, 3 written, but some sources did not respond (missing.txt
lists them).")]
pub struct SupportArgs {
    /// The file to write, which must not exist.
    #[arg(short, long, value_name = "FILE", default_value = "steelyard-support.tar.gz")]
    pub output: PathBuf,
    #[command(flatten)]
    pub config: StandardConfigArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct SupportResult {
    file: String,
    bytes: u64,
    files: Vec<String>,
    missing: Vec<String>,
}

pub fn run(args: &SupportArgs) -> ExitCode {
    finish(args.contact.json, block_on(write_archive(args)))
}

async fn write_archive(args: &SupportArgs) -> Result<CommandOutcome, CommandError> {
    let mut archive = SupportArchive::new(now_ms() / 1_000);
    let say = |note: &str| {
        if !args.contact.json {
            print_note(&format!("{note}\n"));
        }
    };
    say("asking the daemon");
    collect_daemon_state(&args.contact.client()?.with_deadline(DEADLINE), &mut archive).await;
    say("reading the configuration");
    match read_config(args.config.path()) {
        Ok(text) => archive.add("config/file.toml", &text),
        Err(failure) => archive.note_missing(&failure.to_string()),
    }
    say("looking at the machine");
    archive.add("version.txt", concat!("steelyard ", env!("CARGO_PKG_VERSION"), "\n"));
    machine::collect(&mut archive);
    say("writing");
    let files = archive.files().to_vec();
    let missing = archive.missing_files().to_vec();
    let bytes = archive.write(&args.output).map_err(|error| {
        CommandError::Unusable(format!("cannot write {}: {error}", args.output.display()))
    })?;
    let file = args.output.display().to_string();
    let written = SupportResult { file, bytes, files, missing };
    if args.contact.json {
        print_json(&written)?;
    } else {
        for missing in &written.missing {
            print_note(&format!("missing: {missing}\n"));
        }
        let count = written.files.len();
        screen::print(&format!("{}: {count} files, {bytes} bytes\n", written.file))?;
    }
    Ok(if written.missing.is_empty() { CommandOutcome::Done } else { CommandOutcome::Partial })
}

/// Everything that the daemon answers; the first silence ends the asking.
async fn collect_daemon_state(client: &ApiClient, archive: &mut SupportArchive) {
    let goes_on = add_answer(archive, "status.json", client.status().await)
        && add_answer(archive, "report.json", client.report(None).await)
        && add_answer(archive, "events.json", client.events().await)
        && add_answer(archive, "generations.json", client.generations().await);
    if !goes_on {
        return;
    }
    match client.config().await {
        Ok(text) => archive.add("config/in-force.toml", &text),
        Err(error) => archive.note_missing(&format!("config/in-force.toml: {}", sentence(&error))),
    }
}

/// Whether the daemon is worth another question.
fn add_answer<T: Serialize>(
    archive: &mut SupportArchive,
    name: &str,
    answer: Result<T, ApiError>,
) -> bool {
    let error = match answer {
        Ok(answer) => match serde_json::to_string_pretty(&answer) {
            Ok(text) => {
                archive.add(name, &text);
                return true;
            }
            Err(error) => error.to_string(),
        },
        Err(error) if error.is_refusal() => sentence(&error),
        Err(error) => {
            archive.note_missing(&format!("the daemon: {}", sentence(&error)));
            return false;
        }
    };
    archive.note_missing(&format!("{name}: {error}"));
    true
}
