//! `steelyard decap`: the decapsulator on a server of a `tunnel` service. `l4::decap` does it; this reads and prints.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bpf::{Home, Mode};
use clap::{Subcommand, ValueEnum};
use l4::decap::{self, DecapError, Settings, Shown};
use model::preflight::Encapsulation;
use serde::Serialize;

use crate::end::{End, Failure, finish, print_json, sentence};
use crate::show::screen;
use crate::show::unit::count;

/// Where its pins lie unless told otherwise.
pub const PINS: &str = "/sys/fs/bpf/steelyard-decap";

/// Unwrap on this server what a tunnel service's balancer wraps: IPIP, IP6IP6, GRE and GUE.
///
/// Many kernels have no such tunnels of their own, and none needs an address here. It stays until it is unloaded or
/// the machine starts anew; no process is needed for it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard decap load --interface eth0 --from 10.10.0.0/24
  steelyard decap load --interface eth0 --takes gue --from 10.10.0.2 --from 10.10.0.3
  steelyard decap show --json
  steelyard decap unload --interface eth0

`steelyard doctor server ADDRESS --forward tunnel` says what else the server needs. Wrapped packets carry what their
sender wants them to carry, with any source address that he likes (CERT VU#199397): --from names the balancers, and nothing is
loaded without it. `--from any` unwraps everybody's packets, for a network where nobody else can send any.")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Load it before an interface; loaded again, it takes the new settings.
    Load(LoadArgs),
    /// Take it away from an interface.
    Unload(UnloadArgs),
    /// What is loaded, and what it has unwrapped.
    Show(ShowArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct LoadArgs {
    /// The interface that packets from the balancer come in by.
    #[arg(long, value_name = "NAME")]
    interface: String,
    /// Kinds that are unwrapped.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS", default_values_t = [Kind::Ipip, Kind::Gre, Kind::Gue])]
    takes: Vec<Kind>,
    /// UDP port of GUE.
    #[arg(long, default_value_t = decap::PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Networks of the balancers, each with an option of its own; `any`: everybody's packets are unwrapped.
    #[arg(long, value_name = "NETWORK|any", value_parser = sender)]
    from: Vec<Sender>,
    /// In the driver, in the kernel's generic hook, or the first where it can.
    #[arg(long, value_enum, value_name = "PLACE", default_value_t = Place::Auto)]
    mode: Place,
    #[command(flatten)]
    pins: Pins,
}

#[derive(Clone, Debug, clap::Args)]
struct UnloadArgs {
    /// The interface.
    #[arg(long, value_name = "NAME")]
    interface: String,
    #[command(flatten)]
    pins: Pins,
}

#[derive(Clone, Debug, clap::Args)]
struct ShowArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pins: Pins,
}

#[derive(Clone, Debug, clap::Args)]
struct Pins {
    /// Directory of a BPF file system where it outlives this process.
    #[arg(long, value_name = "DIR", default_value = PINS)]
    pins: PathBuf,
}

/// Whose packets are unwrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    Any,
    Network(IpAddr, u8),
}

/// Kinds of encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A bare IP header.
    Ipip,
    /// IP and GRE.
    Gre,
    /// IP, UDP and GUE.
    Gue,
}

impl From<Kind> for Encapsulation {
    fn from(kind: Kind) -> Encapsulation {
        match kind {
            Kind::Ipip => Encapsulation::Ipip,
            Kind::Gre => Encapsulation::Gre,
            Kind::Gue => Encapsulation::Gue,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    Auto,
    Native,
    Generic,
}

/// What `show --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Answer {
    loaded: bool,
    interfaces: Vec<OnInterface>,
    takes: Vec<&'static str>,
    port: u16,
    unwrapped: Unwrapped,
    dropped: Dropped,
    not_taken: u64,
}

#[derive(Debug, Serialize)]
struct OnInterface {
    name: String,
    native: bool,
}

#[derive(Debug, Serialize)]
struct Unwrapped {
    ipip: u64,
    gre: u64,
    gue: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Dropped {
    foreign_source: u64,
    malformed: u64,
    congested: u64,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    match &args.what {
        What::Load(args) => finish(false, load(args)),
        What::Unload(args) => finish(false, unload(args)),
        What::Show(args) => finish(args.json, show(args)),
    }
}

fn load(args: &LoadArgs) -> Result<End, Failure> {
    let settings = Settings {
        takes: args.takes.iter().map(|kind| Encapsulation::from(*kind)).collect(),
        port: args.port,
        from: senders(&args.from)?,
    };
    let mode = match args.mode {
        Place::Auto => Mode::Auto,
        Place::Native => Mode::Native,
        Place::Generic => Mode::Generic,
    };
    let attached =
        home(&args.pins.pins).and_then(|home| decap::load(&home, &args.interface, mode, &settings));
    let attached = attached.map_err(unusable)?;
    let place = if attached.native { "in the driver" } else { "in the generic hook" };
    let word = if attached.adopted { "renewed" } else { "loaded" };
    screen::print(&format!("{word} on {} {place}\n", attached.interface))?;
    Ok(End::Done)
}

fn unload(args: &UnloadArgs) -> Result<End, Failure> {
    if decap::show(&args.pins.pins).map_err(unusable)?.is_none() {
        return Err(absent(&args.interface));
    }
    let was = home(&args.pins.pins).and_then(|home| decap::unload(&home, &args.interface));
    if !was.map_err(unusable)? {
        return Err(absent(&args.interface));
    }
    screen::print(&format!("unloaded from {}\n", args.interface))?;
    Ok(End::Done)
}

fn show(args: &ShowArgs) -> Result<End, Failure> {
    let shown = decap::show(&args.pins.pins).map_err(unusable)?;
    let end = if shown.is_some() { End::Done } else { End::No };
    if args.json {
        print_json(&answer(shown))?;
    } else {
        screen::print(&shown.map_or("no decapsulator is loaded\n".to_owned(), text))?;
    }
    Ok(end)
}

fn text(shown: Shown) -> String {
    let mut out = String::new();
    for (name, native) in &shown.interfaces {
        let place = if *native { "in the driver" } else { "in the generic hook" };
        out.push_str(&format!("on {name} {place}\n"));
    }
    let takes: Vec<&str> = shown.settings.takes.iter().map(|kind| kind.name()).collect();
    let counts = shown.counts;
    out.push_str(&format!("takes {} (GUE on port {})\n", takes.join(", "), shown.settings.port));
    for (what, number) in [
        ("unwrapped from ipip", counts.ipip),
        ("unwrapped from gre", counts.gre),
        ("unwrapped from gue", counts.gue),
        ("dropped: foreign source", counts.foreign_source),
        ("dropped: malformed", counts.malformed),
        ("dropped: congestion marked", counts.congested),
        ("handed on as they came", counts.not_taken),
    ] {
        out.push_str(&format!("  {what:<28}{:>14}\n", count(number)));
    }
    out
}

fn answer(shown: Option<Shown>) -> Answer {
    let loaded = shown.is_some();
    let shown = shown.unwrap_or(Shown {
        interfaces: Vec::new(),
        settings: Settings { takes: Vec::new(), port: decap::PORT, from: Vec::new() },
        counts: decap::Counts::default(),
    });
    let interfaces =
        shown.interfaces.into_iter().map(|(name, native)| OnInterface { name, native });
    let counts = shown.counts;
    Answer {
        loaded,
        interfaces: interfaces.collect(),
        takes: shown.settings.takes.iter().map(|kind| kind.name()).collect(),
        port: shown.settings.port,
        unwrapped: Unwrapped { ipip: counts.ipip, gre: counts.gre, gue: counts.gue },
        dropped: Dropped {
            foreign_source: counts.foreign_source,
            malformed: counts.malformed,
            congested: counts.congested,
        },
        not_taken: counts.not_taken,
    }
}

fn home(pins: &Path) -> Result<Home, DecapError> {
    Ok(Home::open(pins)?)
}

fn absent(interface: &str) -> Failure {
    Failure::Absent(format!("no decapsulator is loaded on {interface}"))
}

fn unusable(error: DecapError) -> Failure {
    Failure::Unusable(sentence(&error))
}

/// Networks of the senders; none: everybody.
fn senders(named: &[Sender]) -> Result<Vec<(IpAddr, u8)>, Failure> {
    let network = |sender: &Sender| match sender {
        Sender::Any => None,
        Sender::Network(ip, bits) => Some((*ip, *bits)),
    };
    let networks: Vec<_> = named.iter().filter_map(network).collect();
    let why = match (named.len(), networks.len()) {
        (0, _) => {
            "whose packets are unwrapped is not said, and everybody could send any with any source in them"
        }
        (all, some) if some > 0 && some < all => "`any` and networks do not go together",
        _ => return Ok(networks),
    };
    Err(Failure::Unusable(format!(
        "{why}: expected --from NETWORK for each network of balancers, or --from any where nobody else can send"
    )))
}

fn sender(text: &str) -> Result<Sender, String> {
    if text == "any" {
        return Ok(Sender::Any);
    }
    network(text).map(|(ip, bits)| Sender::Network(ip, bits))
}

/// `10.10.0.0/24`, or a single address.
fn network(text: &str) -> Result<(IpAddr, u8), String> {
    let wrong =
        || format!("`{text}` is no network: write an address and its bits, as in 10.10.0.0/24");
    let (ip, bits) = match text.split_once('/') {
        Some((ip, bits)) => (ip, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let ip: IpAddr = ip.parse().map_err(|_| wrong())?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    if bits > most { Err(wrong()) } else { Ok((ip, bits)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read() {
        let v4 = "10.10.0.0".parse().unwrap();
        assert_eq!(network("10.10.0.0/24"), Ok((v4, 24)));
        assert_eq!(network("10.10.0.0"), Ok((v4, 32)));
        assert_eq!(network("2001:db8::/32").unwrap().1, 32);
        for wrong in ["10.0.0.0/33", "shop", "10.0.0.0/x", ""] {
            assert!(network(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nobodys_packets_are_unwrapped_unless_it_is_said_whose() {
        let network = sender("10.10.0.0/24").unwrap();
        assert_eq!(senders(&[network]).unwrap().len(), 1);
        assert_eq!(senders(&[Sender::Any]).unwrap(), [], "no list: everybody");
        for wrong in [&[][..], &[Sender::Any, network], &[network, Sender::Any]] {
            let error = senders(wrong).unwrap_err().to_string();
            assert!(error.contains("--from any"), "{error}");
        }
        assert!(sender("everybody").is_err());
    }

    #[test]
    fn nothing_loaded_is_an_answer_too() {
        let value = serde_json::to_value(answer(None)).unwrap();
        assert_eq!((&value["loaded"], &value["unwrapped"]["gue"]), (&false.into(), &0.into()));
    }
}
