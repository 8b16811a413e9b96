//! `steelyard token`: a token for the API over TCP. `daemon::serve::tokens` makes it; this prints it, and adds its line
//! to a file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use api::types::Role;
use daemon::api_server::tokens::{certificate_line, issue_token};
use serde::Serialize;

use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;

/// Create a token for the API and the web page over TCP, and the line for global.control.tokens.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard token operate alice --into /etc/steelyard/tokens
  steelyard token view grafana --json | jq -r .token
  steelyard token configure ci --certificate uri:spiffe://example/ci --into /etc/steelyard/tokens

Roles: view only reads. operate also drains, enables, disables and weights servers, and takes over virtual addresses.
configure permits everything except settings that only the daemon's file may change (global.control.allow-programs).
lease is for members that use this daemon as witness: it permits only leases.

The file keeps only a digest: for a lost token, create a new one. To revoke a token, remove its line.")]
pub struct TokenArgs {
    /// The role: lease, view, operate or configure.
    #[arg(value_parser = role)]
    role: Role,
    /// The owner's name in the audit log.
    name: String,
    /// Instead of a token: a client certificate with this name, signed by one of
    /// global.control.client-authorities.
    #[arg(long, value_name = "dns:NAME|email:NAME|uri:NAME|cn:NAME")]
    certificate: Option<String>,
    /// Add the line to this file; a new file is readable by its owner only.
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct CreatedToken<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'m str>,
    line: &'m str,
}

pub fn run(args: &TokenArgs) -> ExitCode {
    finish(args.json, create_token(args))
}

fn create_token(args: &TokenArgs) -> Result<CommandOutcome, CommandError> {
    let made = match &args.certificate {
        None => issue_token(args.role, &args.name).map(|made| (Some(made.token), made.line)),
        Some(claim) => certificate_line(args.role, &args.name, claim).map(|line| (None, line)),
    };
    let (token, line) = made.map_err(|error| CommandError::Unusable(error.to_string()))?;
    if let Some(file) = &args.into {
        append_line(file, &line).map_err(|error| {
            CommandError::Unusable(format!("cannot add the token to {}: {error}", file.display()))
        })?;
    }
    if args.json {
        print_json(&CreatedToken { token: token.as_deref(), line: &line })?;
        return Ok(CommandOutcome::Done);
    }
    let place = match &args.into {
        Some(file) => format!("its line is in {}", file.display()),
        None => format!("its line for the file of tokens: {line}"),
    };
    let token = token.map(|token| token + "\n").unwrap_or_default();
    screen::print(&format!("{token}{place}\n"))?;
    Ok(CommandOutcome::Done)
}

fn append_line(file: &Path, line: &str) -> std::io::Result<()> {
    let mut file = files::create::append(file, 0o600)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()
}

fn role(text: &str) -> Result<Role, String> {
    Role::from_name(text).ok_or_else(|| "expected lease, view, operate or configure".to_owned())
}
