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

/// Check this machine for its task: problems, and the exact commands that fix them.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor server 198.51.100.10          on a server: is it ready for direct server return?
  steelyard doctor server 198.51.100.10 --json
  steelyard doctor links                         bundles of links: problems, and the effect of each policy
  steelyard doctor host                          whether its settings suffice, and how to change them
  steelyard doctor cores                         which processors do network processing, and what balances it
  steelyard doctor zones -c shop.toml            are the zones delegated to this name server?")]
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

/// Check a server of a packet service; run it on that server.
///
/// With `mac` and `tunnel` the server responds to clients directly from the service's address. So
/// it must have that address, must not answer ARP for it, and needs a route back. Servers of `nat`
/// need none of that.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor server 198.51.100.10
  steelyard doctor server 198.51.100.10 2001:db8:e::10 --forward tunnel --encapsulation gue
  steelyard doctor server 198.51.100.10 --json | jq -r '.findings[].commands[]?' | sh

Firewalls are not checked. The commands last until the next boot: write settings to /etc/sysctl.d, and
addresses and routes to your distribution's network configuration.

Exit codes: 0 ready, 1 a problem, 2 the machine could not be read.")]
pub struct DoctorServerArgs {
    /// Addresses of the services, as clients use them.
    #[arg(required = true, value_name = "ADDRESS")]
    pub service: Vec<IpAddr>,
    /// How the services are forwarded.
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = ServerForwardMethod::Mac)]
    pub forward: ServerForwardMethod,
    /// With --forward tunnel: the encapsulation.
    #[arg(long, value_enum, value_name = "KIND", default_value_t = TunnelEncapsulation::Ipip)]
    pub encapsulation: TunnelEncapsulation,
    /// With --forward tunnel: path MTU from the balancer, in bytes; default: the MTU of the
    /// server's link.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1280..=65_535))]
    pub path_mtu: Option<u32>,
    /// With --forward tunnel: directory of the pins of `steelyard decap`.
    #[arg(long, value_name = "DIR", default_value = decap::PINS)]
    pub pins: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The methods in which a server takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerForwardMethod {
    /// Direct server return on the balancer's subnet.
    Mac,
    /// Direct server return across routers.
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
