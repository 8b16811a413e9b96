//! `steelyard decap`: the decapsulator on a server of a `tunnel` service. `l4::decap` does it; this reads and prints.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bpf::{BpfAttachMode, PinDirectory};
use clap::{Subcommand, ValueEnum};
use l4::decapsulation::{
    self, DecapError, DecapSettings, DecapsulatingInterface, DecapsulationStatus, SenderNetwork,
};
use model::preflight::Encapsulation;
use serde::Serialize;

use crate::outcome::{CommandError, CommandOutcome, finish, print_json, sentence};
use crate::show::screen;
use crate::show::unit::count;

/// The default folder of its pinned programs and maps.
pub const PINS: &str = "/sys/fs/bpf/steelyard-decap";

/// Decapsulate tunnel packets from the balancer on this server: IPIP, IP6IP6, GRE and GUE.
///
/// It replaces tunnel interfaces of the kernel, and needs no process. It stays until it is unloaded
/// or the machine reboots.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard decap load --interface eth0 --from 10.10.0.0/24
  steelyard decap load --interface eth0 --encapsulation gue --from 10.10.0.2 --from 10.10.0.3
  steelyard decap show --json
  steelyard decap unload --interface eth0

`steelyard doctor server ADDRESS --forward tunnel` shows what else the server needs. The inner packet of a
tunnel can be forged, with any source address (CERT VU#199397). So --from must name the balancers. `--from
any` accepts every sender, for a network where no other machine can send such packets.")]
pub struct DecapArgs {
    #[command(subcommand)]
    what: DecapCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum DecapCommand {
    /// Load it on an interface; loading again applies new settings.
    Load(DecapLoadArgs),
    /// Remove it from an interface.
    Unload(DecapUnloadArgs),
    /// Show where it is loaded, and what it has decapsulated.
    Show(DecapShowArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct DecapLoadArgs {
    /// The interface where packets from the balancer arrive.
    #[arg(long, value_name = "NAME")]
    interface: String,
    /// Encapsulations that are accepted.
    #[arg(long = "encapsulation", value_enum, value_delimiter = ',', value_name = "KINDS", default_values_t = [TunnelEncapsulation::Ipip, TunnelEncapsulation::Gre, TunnelEncapsulation::Gue])]
    takes: Vec<TunnelEncapsulation>,
    /// UDP port of GUE.
    #[arg(long, default_value_t = decapsulation::PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Networks of the balancers; may be repeated; `any` accepts packets from every sender.
    #[arg(long, value_name = "NETWORK|any", value_parser = sender)]
    from: Vec<AllowedSender>,
    /// XDP mode: in the driver (native), in the kernel's generic hook, or native if possible
    /// (auto).
    #[arg(long, value_enum, value_name = "PLACE", default_value_t = XdpMode::Auto)]
    mode: XdpMode,
    #[command(flatten)]
    pins: PinsArgs,
}

#[derive(Clone, Debug, clap::Args)]
struct DecapUnloadArgs {
    /// The interface.
    #[arg(long, value_name = "NAME")]
    interface: String,
    #[command(flatten)]
    pins: PinsArgs,
}

#[derive(Clone, Debug, clap::Args)]
struct DecapShowArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pins: PinsArgs,
}

#[derive(Clone, Debug, clap::Args)]
struct PinsArgs {
    /// Directory of a BPF file system for its pins.
    #[arg(long, value_name = "DIR", default_value = PINS)]
    pins: PathBuf,
}

/// The senders whose packets are decapsulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedSender {
    Any,
    Network(SenderNetwork),
}

/// Kinds of encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TunnelEncapsulation {
    /// A bare IP header.
    Ipip,
    /// IP and GRE.
    Gre,
    /// IP, UDP and GUE.
    Gue,
}

impl From<TunnelEncapsulation> for Encapsulation {
    fn from(kind: TunnelEncapsulation) -> Encapsulation {
        match kind {
            TunnelEncapsulation::Ipip => Encapsulation::Ipip,
            TunnelEncapsulation::Gre => Encapsulation::Gre,
            TunnelEncapsulation::Gue => Encapsulation::Gue,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum XdpMode {
    Auto,
    Native,
    Generic,
}

/// The document that `show --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct DecapStatus {
    loaded: bool,
    interfaces: Vec<DecapInterface>,
    takes: Vec<&'static str>,
    port: u16,
    unwrapped: DecapsulatedCounts,
    dropped: DecapDropCounts,
    not_taken: u64,
}

#[derive(Debug, Serialize)]
struct DecapInterface {
    name: String,
    native: bool,
}

#[derive(Debug, Serialize)]
struct DecapsulatedCounts {
    ipip: u64,
    gre: u64,
    gue: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct DecapDropCounts {
    foreign_source: u64,
    malformed: u64,
    congested: u64,
}

pub fn run(args: &DecapArgs) -> ExitCode {
    match &args.what {
        DecapCommand::Load(args) => finish(false, load(args)),
        DecapCommand::Unload(args) => finish(false, unload(args)),
        DecapCommand::Show(args) => finish(args.json, show(args)),
    }
}

fn load(args: &DecapLoadArgs) -> Result<CommandOutcome, CommandError> {
    let settings = DecapSettings {
        protocols: args.takes.iter().map(|kind| Encapsulation::from(*kind)).collect(),
        port: args.port,
        allowed_sources: merge_senders(&args.from)?,
    };
    let mode = match args.mode {
        XdpMode::Auto => BpfAttachMode::Auto,
        XdpMode::Native => BpfAttachMode::Native,
        XdpMode::Generic => BpfAttachMode::Generic,
    };
    let attached = pins_home(&args.pins.pins)
        .and_then(|home| decapsulation::load(&home, &args.interface, mode, &settings));
    let attached = attached.map_err(unusable)?;
    let place = if attached.native { "in the driver" } else { "in the generic hook" };
    let word = if attached.adopted { "renewed" } else { "loaded" };
    screen::print(&format!("{word} on {} {place}\n", attached.interface))?;
    Ok(CommandOutcome::Done)
}

fn unload(args: &DecapUnloadArgs) -> Result<CommandOutcome, CommandError> {
    if decapsulation::read_status(&args.pins.pins).map_err(unusable)?.is_none() {
        return Err(not_loaded(&args.interface));
    }
    let was =
        pins_home(&args.pins.pins).and_then(|home| decapsulation::unload(&home, &args.interface));
    if !was.map_err(unusable)? {
        return Err(not_loaded(&args.interface));
    }
    screen::print(&format!("unloaded from {}\n", args.interface))?;
    Ok(CommandOutcome::Done)
}

fn show(args: &DecapShowArgs) -> Result<CommandOutcome, CommandError> {
    let shown = decapsulation::read_status(&args.pins.pins).map_err(unusable)?;
    let end = if shown.is_some() { CommandOutcome::Done } else { CommandOutcome::Negative };
    if args.json {
        print_json(&decap_status(shown))?;
    } else {
        screen::print(&shown.map_or("no decapsulator is loaded\n".to_owned(), render_status))?;
    }
    Ok(end)
}

fn render_status(shown: DecapsulationStatus) -> String {
    let mut out = String::new();
    for DecapsulatingInterface { name, native } in &shown.interfaces {
        let place = if *native { "in the driver" } else { "in the generic hook" };
        out.push_str(&format!("on {name} {place}\n"));
    }
    let takes: Vec<&str> = shown.settings.protocols.iter().map(|kind| kind.name()).collect();
    let counts = shown.counts;
    out.push_str(&format!("takes {} (GUE on port {})\n", takes.join(", "), shown.settings.port));
    for (label, number) in [
        ("unwrapped from ipip", counts.ipip),
        ("unwrapped from gre", counts.gre),
        ("unwrapped from gue", counts.gue),
        ("dropped: foreign source", counts.foreign_source),
        ("dropped: malformed", counts.malformed),
        ("dropped: congestion marked", counts.congested),
        ("handed on as they came", counts.not_handled),
    ] {
        out.push_str(&format!("  {label:<28}{:>14}\n", count(number)));
    }
    out
}

fn decap_status(shown: Option<DecapsulationStatus>) -> DecapStatus {
    let loaded = shown.is_some();
    let shown = shown.unwrap_or(DecapsulationStatus {
        interfaces: Vec::new(),
        settings: DecapSettings {
            protocols: Vec::new(),
            port: decapsulation::PORT,
            allowed_sources: Vec::new(),
        },
        counts: decapsulation::DecapCounters::default(),
    });
    let interface = |DecapsulatingInterface { name, native }| DecapInterface { name, native };
    let interfaces = shown.interfaces.into_iter().map(interface);
    let counts = shown.counts;
    DecapStatus {
        loaded,
        interfaces: interfaces.collect(),
        takes: shown.settings.protocols.iter().map(|kind| kind.name()).collect(),
        port: shown.settings.port,
        unwrapped: DecapsulatedCounts { ipip: counts.ipip, gre: counts.gre, gue: counts.gue },
        dropped: DecapDropCounts {
            foreign_source: counts.foreign_source,
            malformed: counts.malformed,
            congested: counts.congested,
        },
        not_taken: counts.not_handled,
    }
}

fn pins_home(pins: &Path) -> Result<PinDirectory, DecapError> {
    Ok(PinDirectory::open(pins)?)
}

fn not_loaded(interface: &str) -> CommandError {
    CommandError::Absent(format!("no decapsulator is loaded on {interface}"))
}

fn unusable(error: DecapError) -> CommandError {
    CommandError::Unusable(sentence(&error))
}

/// Networks of the senders; empty: all senders are allowed.
fn merge_senders(named: &[AllowedSender]) -> Result<Vec<SenderNetwork>, CommandError> {
    let network = |sender: &AllowedSender| match sender {
        AllowedSender::Any => None,
        AllowedSender::Network(network) => Some(*network),
    };
    let networks: Vec<_> = named.iter().filter_map(network).collect();
    let why = match (named.len(), networks.len()) {
        (0, _) => {
            "whose packets are unwrapped is not said, and everybody could send any with any source in them"
        }
        (all, some) if some > 0 && some < all => "`any` and networks do not go together",
        _ => return Ok(networks),
    };
    Err(CommandError::Unusable(format!(
        "{why}: expected --from NETWORK for each network of balancers, or --from any where nobody else can send"
    )))
}

fn sender(text: &str) -> Result<AllowedSender, String> {
    if text == "any" {
        return Ok(AllowedSender::Any);
    }
    network(text).map(AllowedSender::Network)
}

/// `10.10.0.0/24`, or a single address.
fn network(text: &str) -> Result<SenderNetwork, String> {
    let wrong =
        || format!("`{text}` is no network: write an address and its bits, as in 10.10.0.0/24");
    let (ip, bits) = match text.split_once('/') {
        Some((ip, bits)) => (ip, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let address: IpAddr = ip.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    if bits > most { Err(wrong()) } else { Ok(SenderNetwork { address, bits }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read() {
        let v4 = |bits| SenderNetwork { address: "10.10.0.0".parse().unwrap(), bits };
        assert_eq!(network("10.10.0.0/24"), Ok(v4(24)));
        assert_eq!(network("10.10.0.0"), Ok(v4(32)));
        assert_eq!(network("2001:db8::/32").unwrap().bits, 32);
        for wrong in ["10.0.0.0/33", "shop", "10.0.0.0/x", ""] {
            assert!(network(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_packets_are_decapsulated_unless_their_senders_are_named() {
        let network = sender("10.10.0.0/24").unwrap();
        assert_eq!(merge_senders(&[network]).unwrap().len(), 1);
        assert_eq!(merge_senders(&[AllowedSender::Any]).unwrap(), [], "no list: everybody");
        for wrong in [&[][..], &[AllowedSender::Any, network], &[network, AllowedSender::Any]] {
            let error = merge_senders(wrong).unwrap_err().to_string();
            assert!(error.contains("--from any"), "{error}");
        }
        assert!(sender("everybody").is_err());
    }

    #[test]
    fn nothing_loaded_is_an_answer_too() {
        let value = serde_json::to_value(decap_status(None)).unwrap();
        assert_eq!((&value["loaded"], &value["unwrapped"]["gue"]), (&false.into(), &0.into()));
    }
}
