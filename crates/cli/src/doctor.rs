//! `steelyard doctor`: whether this machine is ready for its purpose. The model checks; this reads and prints.

mod cores;
mod host;
mod links;
mod read;
mod render;
mod trains;
mod zones;

use std::net::IpAddr;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use model::preflight::{PreflightFinding, PreflightRequirements, PreflightResult, check_server};
use serde::Serialize;
use std::path::PathBuf;

use crate::decap::{self, TunnelEncapsulation};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json, sentence};
use crate::show::screen;

/// Examine this machine: what is wrong for its task, and the exact commands that mend it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor server 198.51.100.10          on a server: is it ready for direct return?
  steelyard doctor server 198.51.100.10 --json
  steelyard doctor links                         bundles of links: what is wrong, what each policy would give
  steelyard doctor host                          what its settings will carry, and what changes them
  steelyard doctor cores                         which processor does the network's work, and what evens it out
  steelyard doctor zones -c shop.toml            are the zones delegated to us?")]
pub struct DoctorArgs {
    #[command(subcommand)]
    what: DoctorCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum DoctorCommand {
    Server(DoctorServerArgs),
    Links(links::DoctorLinksArgs),
    Cores(cores::DoctorCoresArgs),
    Host(host::DoctorHostArgs),
    Zones(zones::DoctorZonesArgs),
}

/// Examine a server of a service that is forwarded by packets; run it on that server.
///
/// With `mac` and `tunnel` the server answers clients itself, under the service's address: it must have that address,
/// keep silent about it in its own network, and know a way back. A server of `nat` needs nothing of that.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor server 198.51.100.10
  steelyard doctor server 198.51.100.10 2001:db8:e::10 --forward tunnel --encapsulation gue
  steelyard doctor server 198.51.100.10 --json | jq -r '.findings[].commands[]?' | sh

Firewalls are not looked at. Commands last until the next start of the machine: write settings to /etc/sysctl.d, and
addresses and routes where your distribution keeps them.

Exit codes: 0 ready, 1 something is wrong, 2 the machine could not be read.")]
pub struct DoctorServerArgs {
    /// Addresses of the services, as clients use them.
    #[arg(required = true, value_name = "ADDRESS")]
    pub service: Vec<IpAddr>,
    /// How the services are forwarded.
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = ServerForwardMethod::Mac)]
    pub forward: ServerForwardMethod,
    /// With --forward tunnel: how packets are wrapped.
    #[arg(long, value_enum, value_name = "KIND", default_value_t = TunnelEncapsulation::Ipip)]
    pub encapsulation: TunnelEncapsulation,
    /// With --forward tunnel: the largest packet that the path from the balancer carries, in bytes; without it what
    /// the server's link carries.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1280..=65_535))]
    pub path_mtu: Option<u32>,
    /// With --forward tunnel: where the pins of `steelyard decap` lie.
    #[arg(long, value_name = "DIR", default_value = decap::PINS)]
    pub pins: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The methods in which a server takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerForwardMethod {
    /// Direct return on the balancer's subnet.
    Mac,
    /// Direct return across routers.
    Tunnel,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
struct ServerDiagnosis {
    ready: bool,
    wrong: usize,
    findings: Vec<PreflightFinding>,
}

pub fn run(args: &DoctorArgs) -> ExitCode {
    match &args.what {
        DoctorCommand::Server(args) => finish(args.json, diagnose_server(args)),
        DoctorCommand::Links(args) => links::run(args),
        DoctorCommand::Cores(args) => cores::run(args),
        DoctorCommand::Host(args) => host::run(args),
        DoctorCommand::Zones(args) => finish(args.json, zones::diagnose_zones(args)),
    }
}

fn diagnose_server(args: &DoctorServerArgs) -> Result<CommandOutcome, CommandError> {
    let tunnel = (args.forward == ServerForwardMethod::Tunnel).then(|| args.encapsulation.into());
    let wanted =
        PreflightRequirements { services: args.service.clone(), tunnel, path_mtu: args.path_mtu };
    let snapshot = read::read_server_settings(&args.pins)
        .map_err(|error| CommandError::Unusable(sentence(&error)))?;
    let findings = check_server(&snapshot, &wanted);
    let wrong = findings.iter().filter(|finding| finding.verdict == PreflightResult::Wrong).count();
    if args.json {
        print_json(&ServerDiagnosis { ready: wrong == 0, wrong, findings })?;
    } else {
        screen::print(&render::render_findings(&findings))?;
    }
    Ok(if wrong == 0 { CommandOutcome::Done } else { CommandOutcome::Negative })
}
