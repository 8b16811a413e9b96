//! `steelyard bench agent`: makes load for another machine's benchmark; and the leader of such agents.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use files::secret::{SecretProtection, read_text};
use lab::fleet::agent::serve_leaders;
use lab::fleet::channel::FleetToken;
use lab::fleet::leader::Fleet;
use lab::machine::procfs::{machine_facts, raise_descriptor_limit};

use super::common::{BenchEndpoint, end, resolve};
use super::progress::print_progress;
use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, CommandOutcome, finish, sentence};
use crate::show::screen;

/// Generate load for a benchmark that another machine runs with --agents, until Ctrl-C.
///
/// Leader and agent communicate over TLS and authenticate each other by a shared token. The agent
/// connects to any target that its leader names.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  head -c 32 /dev/urandom | base64 > token; chmod 600 token     once; the same file on every machine
  steelyard bench agent 192.0.2.7:7009 --token-file token

Exit codes: 0 stopped, 2 the address cannot be listened on or the token cannot be used.")]
pub struct BenchAgentArgs {
    /// Where to listen; port 0 lets the kernel choose.
    #[arg(value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// The file with the shared token; no other user may read it.
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
}

/// Other machines that make the load.
#[derive(Clone, Debug, clap::Args)]
pub struct LoadAgentsArgs {
    /// Machines that generate the load in equal parts instead of this one: addresses of `steelyard
    /// bench agent`.
    #[arg(long, value_name = "HOST:PORT,…", value_delimiter = ',', value_parser = end, requires = "token_file")]
    agents: Vec<BenchEndpoint>,
    /// The file with the shared token.
    #[arg(long, value_name = "FILE", requires = "agents")]
    token_file: Option<PathBuf>,
}

impl LoadAgentsArgs {
    /// Who they are; `None`: this machine makes the load.
    pub fn resolve_fleet(&self) -> Result<Option<Fleet>, CommandError> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let agents = self.agents.iter().map(|agent| resolve(&agent.host, agent.port, &[]));
        Ok(Some(Fleet { agents: agents.collect::<Result<_, _>>()?, token: read_token(file)? }))
    }

    /// Records the options among the settings of a result.
    pub fn record_settings(&self, set: &mut impl FnMut(&str, String)) {
        if !self.agents.is_empty() {
            let all = self.agents.iter().map(ToString::to_string);
            set("agents", all.collect::<Vec<_>>().join(", "));
        }
    }
}

pub fn run(args: &BenchAgentArgs) -> ExitCode {
    finish(false, carry_out(args))
}

fn carry_out(args: &BenchAgentArgs) -> Result<CommandOutcome, CommandError> {
    let token = read_token(&args.token_file)?;
    raise_descriptor_limit();
    let stop = stop_on_interrupt()?;
    let unusable = |error: std::io::Error| {
        CommandError::Unusable(format!("cannot listen on {}: {error}", args.listen))
    };
    let listener = TcpListener::bind(args.listen).map_err(unusable)?;
    screen::print(&format!("agent on {}\n", listener.local_addr().map_err(unusable)?))?;
    let report = |from: SocketAddr, message: &str| print_progress(&format!("{from}: {message}\n"));
    serve_leaders(&listener, &token, &machine_facts(), &stop, &report)
        .map_err(|error| CommandError::Unusable(sentence(&error)))?;
    Ok(CommandOutcome::Done)
}

fn read_token(file: &Path) -> Result<FleetToken, CommandError> {
    let unusable = |why: String| CommandError::Unusable(format!("the token: {why}"));
    let text = read_text(file, LONGEST, SecretProtection::NotReadable)
        .map_err(|why| unusable(why.to_string()))?;
    FleetToken::new(&text).map_err(|error| unusable(format!("{}: {error}", file.display())))
}

/// Bytes of a token's file.
/// A token has some dozen characters; a larger file is another file.
const LONGEST: u64 = 4_096;
