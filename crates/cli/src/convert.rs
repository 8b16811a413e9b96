//! `steelyard convert`: converts the configuration of another balancer. This module reads and writes files, and the
//! crate `convert` converts. An existing file is never overwritten.

mod verify;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::convert::dialect::Dialect;
use ::convert::notes::{ConversionNote, NoteKind};
use ::convert::run::{ConversionResult, convert};
use clap::ValueEnum;
use files::create::create;

use self::verify::{VerifyOptions, verify};
use crate::common_args::{file_name, read_config};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json, print_note};
use crate::show::screen;

/// Convert the configuration of another load balancer, and list what could not be converted.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard convert /etc/haproxy/haproxy.cfg > steelyard.toml
  nginx -T | steelyard convert - -o steelyard.toml
  steelyard convert keepalived.conf --json | jq '.notes[] | select(.kind == \"left-out\")'
  steelyard convert commands.txt --from dispatcher
  steelyard convert /etc/haproxy/haproxy.cfg --verify

The configuration goes to standard output, or to a file with -o; notes go to standard error. The program is
detected from the file's content. The written configuration passes `steelyard check`.

With --verify nothing is written. The original program and Steelyard run side by side in network namespaces,
with test servers. Both get the same requests, and a table shows the differences. It needs root.

Exit codes: 0 everything was converted, 1 nothing could be, 2 unreadable, 3 something was left out. With
--verify:
0 no difference, 1 an unexplained difference, 2 it could not run, 3 only differences that the conversion
reports.")]
pub struct ConvertArgs {
    /// The file, or - for standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The program that the configuration belongs to.
    #[arg(long, value_name = "PROGRAM")]
    pub from: Option<SourceDialect>,
    /// Write the configuration to this file, which must not exist.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also list lines that were converted unchanged, and lines that are not needed.
    #[arg(long)]
    pub all: bool,
    /// Print JSON: the configuration's text and all notes; with --verify the differences.
    #[arg(long)]
    pub json: bool,
    /// Run the original and the conversion side by side, and compare their responses.
    #[arg(long, conflicts_with = "output")]
    pub verify: bool,
    /// With --verify: send each kind of request only once.
    #[arg(long, requires = "verify")]
    pub quick: bool,
    /// With --verify: the program of the original, if it is not in the search path.
    #[arg(long, value_name = "PROGRAM", requires = "verify")]
    pub original: Option<PathBuf>,
}

/// Programs whose configurations are read.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SourceDialect {
    /// haproxy.cfg
    Haproxy,
    /// nginx.conf, or what `nginx -T` prints
    Nginx,
    /// keepalived.conf, with VRRP and IPVS
    Keepalived,
    /// A file of dscontrol commands
    Dispatcher,
    /// Envoy static bootstrap, as YAML or JSON
    Envoy,
    /// Traefik dynamic configuration as YAML or TOML, or a Compose file with labels
    Traefik,
    /// A Caddyfile
    Caddy,
    /// Apache httpd virtual hosts with mod_proxy
    Apache,
}

impl SourceDialect {
    fn dialect(self) -> Dialect {
        match self {
            SourceDialect::Haproxy => Dialect::Haproxy,
            SourceDialect::Nginx => Dialect::Nginx,
            SourceDialect::Keepalived => Dialect::Keepalived,
            SourceDialect::Dispatcher => Dialect::Dispatcher,
            SourceDialect::Envoy => Dialect::Envoy,
            SourceDialect::Traefik => Dialect::Traefik,
            SourceDialect::Caddy => Dialect::Caddy,
            SourceDialect::Apache => Dialect::Apache,
        }
    }
}

pub fn run(args: &ConvertArgs) -> ExitCode {
    finish(args.json, convert_file(args))
}

fn convert_file(args: &ConvertArgs) -> Result<CommandOutcome, CommandError> {
    let text = read_config(&args.file)?;
    let file = file_name(&args.file);
    let from = args.from.map(SourceDialect::dialect).or_else(|| Dialect::recognise(&text));
    let from = from.ok_or_else(|| {
        CommandError::Unusable(format!(
            "{file}: cannot tell whose configuration this is; say so with --from haproxy, nginx, keepalived, dispatcher, envoy, traefik, caddy or apache"
        ))
    })?;
    let converted = convert(&text, &file, from);
    if args.verify {
        let options = VerifyOptions {
            json: args.json,
            all: args.all,
            quick: args.quick,
            original: args.original.as_deref(),
        };
        return verify(&text, &converted, options);
    }
    let end = match (&converted.text, converted.left_out) {
        (None, _) => CommandOutcome::Negative,
        (Some(_), 0) => CommandOutcome::Done,
        (Some(_), _) => CommandOutcome::Partial,
    };
    if let (Some(output), Some(text)) = (&args.output, &converted.text) {
        write_new(output, text)?;
    }
    if args.json {
        print_json(&converted)?;
        return Ok(end);
    }
    if let Some(text) = converted.text.as_ref().filter(|_| args.output.is_none()) {
        screen::print(text)?;
    }
    print_note(&render_notes(&converted, &file, args.all));
    Ok(end)
}

fn write_new(path: &Path, text: &str) -> Result<(), CommandError> {
    let written = create(path, 0o644)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| {
        CommandError::Unusable(format!("cannot write {}: {error}", path.display()))
    })
}

fn render_notes(converted: &ConversionResult, file: &str, all: bool) -> String {
    let mut text = String::new();
    let of = |kind: NoteKind| converted.notes.iter().filter(move |note| note.kind == kind);
    for (kind, title) in [
        (NoteKind::LeftOut, "left out:"),
        (NoteKind::Changed, "means something else:"),
        (NoteKind::NotNeeded, "not needed:"),
        (NoteKind::Converted, "carried over:"),
    ] {
        let detail = matches!(kind, NoteKind::NotNeeded | NoteKind::Converted);
        if of(kind).next().is_none() || detail && !all {
            continue;
        }
        text.push_str(&format!("{title}\n"));
        of(kind).for_each(|note| text.push_str(&render_note(note)));
    }
    if converted.unlisted > 0 {
        text.push_str(&format!("and {} more that are not listed\n", converted.unlisted));
    }
    let changed = of(NoteKind::Changed).count();
    let needless = of(NoteKind::NotNeeded).count();
    let verdict =
        if converted.text.is_some() { "converted" } else { "nothing could be carried over" };
    text.push_str(&format!(
        "{file}: {verdict} from {}: {} left out, {changed} changed, {needless} not needed\n",
        converted.from.name(),
        converted.left_out
    ));
    text
}

fn render_note(note: &ConversionNote) -> String {
    let mut text = format!("  {}:{}: {}\n", note.file, note.line, note.directive);
    if !note.after.is_empty() {
        text.push_str(&format!("      written: {}\n", note.after));
    }
    if note.kind != NoteKind::Converted {
        text.push_str(&format!("      {}\n", note.reason));
    }
    if !note.instead.is_empty() {
        text.push_str(&format!("      instead: {}\n", note.instead));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omissions_are_reported_with_place_and_advice() {
        let text = "listen web\n bind 127.0.0.1:80\n server a 10.0.0.1:80\n filter trace\n";
        let converted = convert(text, "haproxy.cfg", Dialect::Haproxy);
        let expected = "\
left out:
  haproxy.cfg:4: filter trace
      there are no scripts and filters
      instead: do it at the servers
haproxy.cfg: converted from haproxy: 1 left out, 0 changed, 0 not needed
";
        assert_eq!(render_notes(&converted, "haproxy.cfg", false), expected);
        assert!(model::config::load(&converted.text.unwrap(), "x").is_ok());
    }
}
