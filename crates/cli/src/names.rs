//! `steelyard names`: names of live objects, one a line, for shell completion. It has little time and prints nothing if
//! the daemon does not answer: a shell waits for it at a key press.

use std::process::ExitCode;
use std::time::Duration;

use api::types::Status;
use clap::ValueEnum;

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::show::screen;

/// How long the daemon may take.
/// Completion runs while the user types; after a longer wait the shell would seem to hang.
const DEADLINE: Duration = Duration::from_millis(300);
/// Names at most: more are not looked at by anybody.
/// The most services, pools or servers of one file.
const MOST: usize = 10_000;

/// Print names of live objects.
#[derive(Clone, Debug, clap::Args)]
pub struct NamesArgs {
    /// Of what.
    pub of: NamedObjectKind,
    #[command(flatten)]
    contact: DaemonArgs,
}

/// What has names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NamedObjectKind {
    /// Servers, as POOL/NAME, and POOL/*
    Servers,
    /// Services
    Services,
    /// Pools
    Pools,
    /// Services and pools
    Objects,
}

pub fn run(args: &NamesArgs) -> ExitCode {
    finish(false, block_on(print_names(args)))
}

async fn print_names(args: &NamesArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?.with_deadline(DEADLINE);
    let Ok(status) = client.status().await else { return Ok(CommandOutcome::Unusable) };
    screen::print(&list_names(&status, args.of))?;
    Ok(CommandOutcome::Done)
}

fn list_names(status: &Status, of: NamedObjectKind) -> String {
    let mut names = Vec::new();
    if matches!(of, NamedObjectKind::Services | NamedObjectKind::Objects) {
        names.extend(status.services.iter().map(|service| service.name.clone()));
    }
    if matches!(of, NamedObjectKind::Pools | NamedObjectKind::Objects) {
        names.extend(status.pools.iter().map(|pool| pool.name.clone()));
    }
    if of == NamedObjectKind::Servers {
        for pool in &status.pools {
            names.push(format!("{}/*", pool.name));
            names
                .extend(pool.servers.iter().map(|server| format!("{}/{}", pool.name, server.name)));
        }
    }
    names.truncate(MOST);
    names.iter().map(|name| format!("{name}\n")).collect()
}
