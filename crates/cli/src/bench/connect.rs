//! `steelyard bench connect`: connections and messages over TCP, or datagrams, against an echoing end, without a protocol
//! above.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lab::bench::http::{BenchEvent, HttpBenchmark, run_benchmark as carry_out_order};
use lab::bench::rate_steps::RateSteps;
use lab::load::{LoadModel, LoadPlan, LoadProtocol};
use lab::machine::procfs::machine_facts;
use lab::result::BenchResult;

use super::agent::LoadAgentsArgs;
use super::common::{BenchEndpoint, ConnectionCloser, end, resolve, start_failure};
use super::output_files::{OutputFiles, provenance};
use super::progress::ProgressLine;
use super::render;
use crate::common_args::span;
use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, CommandOutcome, finish};

/// Measure messages over TCP or UDP against an echo server: `steelyard bench serve`, or a service
/// in front of one.
///
/// With persistent connections each message and its echo is a transaction (request/response). With
/// --close each transaction has its own connection, from SYN to FIN or reset
/// (connect/request/response), and the rate is connections per second. Over UDP a connection is a
/// socket with its own source port.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard bench connect 192.0.2.7:7007                          round trips of 8 bytes on 10 connections
  steelyard bench connect 192.0.2.7:7007 --close client -d 30s    connections a second, from SYN to FIN
  steelyard bench connect 192.0.2.7:7007 --close reset --rate 2000 --bytes 128
  steelyard bench connect 192.0.2.7:7007 --udp --close client     a source port for each datagram
  steelyard bench connect 192.0.2.7:7007 --repeat 10 -o base.json

Exit codes: 0 measured, 2 nothing could be measured, 3 a partial result.")]
pub struct BenchConnectArgs {
    /// Where to.
    #[arg(value_name = "HOST:PORT", value_parser = end)]
    target: BenchEndpoint,
    /// Concurrent connections. Default 10, with --rate 100.
    #[arg(short = 'c', long, value_name = "N")]
    connections: Option<usize>,
    /// Number of transactions of each run.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Duration of each run; default 10s unless -n is given.
    #[arg(short = 'd', long, value_name = "TIME", value_parser = span)]
    duration: Option<Duration>,
    /// Open loop: transactions a second, or steps such as 1000..10000/1000, one run each.
    #[arg(long, value_name = "RATE")]
    rate: Option<RateSteps>,
    /// Bytes of each message, at least 8.
    #[arg(long, value_name = "N", default_value_t = 8)]
    bytes: usize,
    /// UDP datagrams; a lost one counts as failed (`timeout`).
    #[arg(long)]
    udp: bool,
    /// One connection for each message, and which side closes it; an echo server never closes
    /// first.
    #[arg(long, value_enum, value_name = "WHO")]
    close: Option<ConnectionCloser>,
    /// Threads that generate the load.
    #[arg(short = 't', long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Source addresses, used in turn.
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',')]
    from: Vec<IpAddr>,
    /// Timeout of a message; default 10s, with --udp 1s.
    #[arg(long, value_name = "TIME", value_parser = span)]
    timeout: Option<Duration>,
    /// Load before the first run, not counted.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s")]
    warm_up: Duration,
    /// Runs of each test; comparisons need at least 5, better 10.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    #[command(flatten)]
    agents: LoadAgentsArgs,
    /// Write the result to this file, for `steelyard compare`.
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a self-contained page with plots.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &BenchConnectArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &BenchConnectArgs) -> Result<CommandOutcome, CommandError> {
    let keep = OutputFiles::prepare(args.output.as_deref(), args.html.as_deref())?;
    let order = bench_order(args)?;
    let facts = machine_facts();
    let mut result = BenchResult::new("connect", provenance(&facts));
    record_settings(args, &order, &mut result);
    let stop = stop_on_interrupt()?;
    let mut line = ProgressLine::new(args.json);
    let mut on_event = |event: BenchEvent<'_>| line.report_event(&event);
    carry_out_order(&order, &facts, &mut result, &stop, &mut on_event)
        .map_err(|error| start_failure(&error, &result))?;
    line.clear();
    let written = keep.write(&mut result);
    render::print(&result, None, args.json || !written)?;
    Ok(if result.complete { CommandOutcome::Done } else { CommandOutcome::Partial })
}

fn bench_order(args: &BenchConnectArgs) -> Result<HttpBenchmark, CommandError> {
    if args.close == Some(ConnectionCloser::Server) {
        let text = "an echoing end does not close connections by itself: use --close client or --close reset";
        return Err(CommandError::Unusable(text.to_owned()));
    }
    let address = resolve(&args.target.host, args.target.port, &args.from)?;
    let usual = if args.rate.is_some() { 100 } else { 10 };
    let connections = args.connections.unwrap_or(usual.max(args.threads));
    let mut plan = LoadPlan::new(address, LoadProtocol::Echo { bytes: args.bytes }, connections);
    if let Some(rates) = &args.rate {
        let per_second = rates.0.first().copied().unwrap_or(1.0);
        plan.pace = LoadModel::Open { per_second, connections };
    }
    plan.persist = ConnectionCloser::to_persist(args.close);
    plan.threads = args.threads;
    plan.requests = args.requests;
    plan.time = args.duration.or(args.requests.is_none().then_some(DURATION));
    plan.datagrams = args.udp;
    let timeout = args.timeout.unwrap_or(if args.udp { TIMEOUT_UDP } else { TIMEOUT });
    plan.timeout = timeout;
    plan.grace = timeout;
    plan.sources.clone_from(&args.from);
    plan.check().map_err(|error| CommandError::Unusable(error.to_string()))?;
    let rates = args.rate.clone().map_or_else(Vec::new, |rates| rates.0);
    let repeats = args.repeat;
    let warm_up = args.warm_up;
    let fleet = args.agents.resolve_fleet()?;
    Ok(HttpBenchmark { plan, rates, repeats, warm_up, fleet })
}

fn record_settings(args: &BenchConnectArgs, order: &HttpBenchmark, result: &mut BenchResult) {
    let mut set = |name: &str, value: String| {
        result.provenance.settings.insert(name.to_owned(), value);
    };
    set("target", args.target.to_string());
    set("address", order.plan.target.to_string());
    set("protocol", format!("{}, {} B", if args.udp { "UDP" } else { "TCP" }, args.bytes));
    set("loop", if args.rate.is_some() { "open" } else { "closed" }.to_owned());
    set("connections", order.plan.connections().to_string());
    set("threads", order.plan.threads.to_string());
    set("close", ConnectionCloser::label(args.close));
    args.agents.record_settings(&mut set);
    set("timeout", format!("{:?}", order.plan.timeout));
}

/// Long enough for a rate that does not change with the first second.
const DURATION: Duration = Duration::from_secs(10);
/// A connection or an echo that takes longer counts as failed.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bounds the wait for a datagram: a lost one is never sent again.
/// A datagram that is later than a second counts as lost.
const TIMEOUT_UDP: Duration = Duration::from_secs(1);
