//! `steelyard names`: names of live objects, one a line, for shells that complete them. It has little time and says
//! nothing when nobody answers: a shell waits for it at a key.

use std::process::ExitCode;
use std::time::Duration;

use api::types::Status;
use clap::ValueEnum;

use crate::ask::{Contact, wait};
use crate::end::{End, Failure, finish};
use crate::show::screen;

/// How long the daemon may take.
const DEADLINE: Duration = Duration::from_millis(300);
/// Names at most: more are not looked at by anybody.
const MOST: usize = 10_000;

/// Print names of live objects.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Of what.
    pub of: Of,
    #[command(flatten)]
    contact: Contact,
}

/// What has names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Of {
    /// Servers, as POOL/NAME, and POOL/*
    Servers,
    /// Services
    Services,
    /// Pools
    Pools,
    /// Services and pools
    Objects,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    finish(false, wait(names(args)))
}

async fn names(args: &Args) -> Result<End, Failure> {
    let client = args.contact.client()?.with_deadline(DEADLINE);
    let Ok(status) = client.status().await else { return Ok(End::Unusable) };
    screen::print(&listed(&status, args.of))?;
    Ok(End::Done)
}

fn listed(status: &Status, of: Of) -> String {
    let mut names = Vec::new();
    if matches!(of, Of::Services | Of::Objects) {
        names.extend(status.services.iter().map(|service| service.name.clone()));
    }
    if matches!(of, Of::Pools | Of::Objects) {
        names.extend(status.pools.iter().map(|pool| pool.name.clone()));
    }
    if of == Of::Servers {
        for pool in &status.pools {
            names.push(format!("{}/*", pool.name));
            names
                .extend(pool.servers.iter().map(|server| format!("{}/{}", pool.name, server.name)));
        }
    }
    names.truncate(MOST);
    names.iter().map(|name| format!("{name}\n")).collect()
}
