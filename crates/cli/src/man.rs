//! `steelyard man`: writes the manual pages: one for each command, from the same texts as `--help`, and one for the
//! configuration, from the same text as its reference.

mod configuration_page;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use model::calendar::CivilDateTime;
use model::config::reference::render_reference;

use crate::outcome::{CommandError, CommandOutcome, finish};

/// Write the manual pages into a directory.
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {
    /// Where to; it must exist.
    pub dir: PathBuf,
}

/// Writes those of `program`, and that of the configuration.
pub fn run(args: &ManArgs, program: clap::Command) -> ExitCode {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let version = program.get_version().unwrap_or_default().to_owned();
    let date = page_date();
    let written = write_commands(&program, &args.dir, &version, &date)
        .and_then(|()| {
            let page = configuration_page::configuration_page(&render_reference(), &version, &date);
            files::create::write(&args.dir.join(configuration_page::FILE_NAME), page, 0o644)
        })
        .map(|()| CommandOutcome::Done)
        .map_err(|error| {
            CommandError::Unusable(format!(
                "cannot write manual pages into {}: {error}",
                args.dir.display()
            ))
        });
    finish(false, written)
}

fn write_commands(
    command: &clap::Command,
    dir: &Path,
    version: &str,
    date: &str,
) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_commands(verb, dir, version, date)?;
    }
    let page = clap_mangen::Man::new(command.clone())
        .date(date)
        .source(format!("steelyard {version}"))
        .manual("Steelyard");
    let mut text = Vec::new();
    page.render(&mut text)?;
    // An empty line between two breaks is a blank line, as the formatter calls it.
    let text = String::from_utf8_lossy(&text).replace("\n.br\n\n.br\n", "\n.sp\n");
    files::create::write(&dir.join(page.get_filename()), text, 0o644)
}

/// The date on the pages: that of `SOURCE_DATE_EPOCH`, so that packages can be repeated, or else today's.
fn page_date() -> String {
    let written = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |past| past.as_secs());
    let now = i64::try_from(now).unwrap_or_default();
    let day = CivilDateTime::from_unix_seconds(written.unwrap_or(now));
    format!("{:04}-{:02}-{:02}", day.year, day.month, day.day)
}
