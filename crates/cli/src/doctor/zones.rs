//! `steelyard doctor zones`: asks a resolver whether the zones of a configuration are delegated, and lists what is
//! missing.
//!
//! `names` checks the answers; this sends the queries and prints.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use model::config::{Config, ZoneConfig, load};
use names::delegation::{DelegationStatus, build_query, check_answer, required_records};
use serde::Serialize;

use crate::common_args::{file_name, read_config};
use crate::config_file::StandardConfigArgs;
use crate::outcome::{CommandError, CommandOutcome, print_json};
use crate::show::plain::plain;
use crate::show::screen;

/// Where the machine's resolvers are listed.
const RESOLVERS: &str = "/etc/resolv.conf";
/// The timeout of a query, and its number of attempts.
/// The attempts of resolv.conf(5), with less than its timeout of 5 s, because the user waits.
const WAIT: Duration = Duration::from_secs(3);
const TRIES: u16 = 2;
/// The most bytes of an answer.
const ANSWER: usize = 4_096;

/// Check whether zones are delegated: query a resolver for the name servers of each.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard doctor zones -c shop.toml
  steelyard doctor zones -c shop.toml --resolver 9.9.9.9:53 --json

For a zone that is not delegated it prints the records that the parent zone needs.

Exit codes: 0 all are delegated to this name server, 1 some zone is not, 2 the file could not be read or the
resolver not reached.")]
pub struct DoctorZonesArgs {
    #[command(flatten)]
    config: StandardConfigArgs,
    /// The resolver; default: the first of /etc/resolv.conf.
    #[arg(long, value_name = "ADDRESS:PORT")]
    resolver: Option<SocketAddr>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
struct ZonesDiagnosis {
    ready: bool,
    resolver: SocketAddr,
    zones: Vec<ZoneDelegation>,
}

#[derive(Debug, Serialize)]
struct ZoneDelegation {
    zone: String,
    good: bool,
    text: String,
    /// The records that the parent zone must have; empty if none is missing.
    records: Vec<String>,
}

pub fn diagnose_zones(args: &DoctorZonesArgs) -> Result<CommandOutcome, CommandError> {
    let text = read_config(args.config.path())?;
    let config = load(&text, &file_name(args.config.path()));
    let config = config.map_err(|findings| CommandError::Unusable(findings.to_string()))?.config;
    let resolver = match args.resolver {
        Some(resolver) => resolver,
        None => system_resolver().ok_or_else(|| {
            CommandError::Unusable(format!(
                "{RESOLVERS} names no resolver: give one with --resolver"
            ))
        })?,
    };
    let zones: Result<Vec<ZoneDelegation>, CommandError> =
        config.zones.values().map(|zone| check_zone(zone, &config, resolver)).collect();
    let zones = zones?;
    let ready = zones.iter().all(|zone| zone.good);
    if args.json {
        print_json(&ZonesDiagnosis { ready, resolver, zones })?;
    } else {
        screen::print(&render(&zones, resolver))?;
    }
    Ok(if ready { CommandOutcome::Done } else { CommandOutcome::Negative })
}

fn check_zone(
    zone: &ZoneConfig,
    config: &Config,
    resolver: SocketAddr,
) -> Result<ZoneDelegation, CommandError> {
    let found = query_delegation(zone, resolver).map_err(|error| {
        CommandError::Unusable(format!(
            "the resolver {resolver} does not answer for {}: {error}",
            zone.name
        ))
    })?;
    let good = found.is_correct();
    let records = if good { Vec::new() } else { required_records(zone, config) };
    Ok(ZoneDelegation { zone: zone.name.clone(), good, text: found.describe(), records })
}

fn query_delegation(zone: &ZoneConfig, resolver: SocketAddr) -> io::Result<DelegationStatus> {
    let local: IpAddr = if resolver.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
    let socket = UdpSocket::bind((local, 0))?;
    // Strangers cannot answer then.
    socket.connect(resolver)?;
    let mut room = [0; ANSWER];
    for number in 1..=TRIES {
        let number = number ^ socket.local_addr()?.port();
        let bytes = build_query(zone, number).ok_or(io::ErrorKind::InvalidInput)?;
        socket.send(&bytes)?;
        let begun = Instant::now();
        while let Some(left) = WAIT.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            socket.set_read_timeout(Some(left))?;
            let count = match socket.recv(&mut room) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            if let Some(found) =
                room.get(..count).and_then(|answer| check_answer(zone, number, answer))
            {
                return Ok(found);
            }
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// The first resolver of this machine.
fn system_resolver() -> Option<SocketAddr> {
    let text = std::fs::read_to_string(RESOLVERS).ok()?;
    let mut servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    let address: IpAddr = servers.find_map(|server| server.trim().parse().ok())?;
    Some(SocketAddr::new(address, 53))
}

fn render(zones: &[ZoneDelegation], resolver: SocketAddr) -> String {
    let mut out = format!("asked {resolver}\n");
    for ZoneDelegation { zone, good, text, records } in zones {
        let word = if *good { "good " } else { "WRONG" };
        out.push_str(&format!("{word}  {}: {}\n", plain(zone), plain(text)));
        if !records.is_empty() {
            out.push_str("       the zone above must have:\n");
        }
        for record in records {
            out.push_str(&format!("         {}\n", plain(record)));
        }
    }
    if zones.is_empty() {
        out.push_str("the configuration has no zone\n");
    }
    out
}
