//! `steelyard bench http`: turns options into a plan, prints its result and stores it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lab::bench::http::{HttpBenchmark, run_benchmark as carry_out_order};
use lab::bench::http_search::search_rate;
use lab::bench::rate_steps::RateSteps;
use lab::bench::scenario;
use lab::bench::url::TargetUrl;
use lab::load::{
    LoadModel, LoadPlan, LoadProtocol, RequestField, RequestMix, RequestTemplate, TargetTls,
};
use lab::machine::procfs::machine_facts;
use lab::rate_search::{LatencyObjective, SearchEnd, SearchLimits, SearchResult};
use lab::result::{BenchMetric, BenchResult, BenchRun, MetricDirection};

use super::agent::LoadAgentsArgs;
use super::common::{ConnectionCloser, resolve, start_failure};
use super::output_files::{OutputFiles, fnv_digest, provenance};
use super::progress::ProgressLine;
use super::render;
use crate::common_args::{file_name, read_config, span};
use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, CommandOutcome, finish, sentence};

/// Load test a web server or balancer, closed loop or open loop, and report rate, latency and
/// failures.
///
/// Closed loop (the default): each connection sends the next request after the response. Open loop
/// (--rate): requests start on schedule, and latency counts from the scheduled start, so that
/// stalls of the target are measured in full.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchHttpArgs {
    /// The target: `http://HOST[:PORT][/PATH]` or `https://…`; certificates are not verified.
    #[arg(value_name = "URL")]
    target: TargetUrl,
    /// Concurrent connections; with --rate the maximum. Default 10, with --rate 100.
    #[arg(short = 'c', long, value_name = "N")]
    connections: Option<usize>,
    /// Number of requests of each run.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Duration of each run; default 10s unless -n is given.
    #[arg(short = 'd', long, value_name = "TIME", value_parser = span)]
    duration: Option<Duration>,
    /// Open loop: requests a second, or steps such as 1000..10000/1000, one run each.
    #[arg(long, value_name = "RATE")]
    rate: Option<RateSteps>,
    /// Threads that generate the load.
    #[arg(short = 't', long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// One connection for each request, and which side closes it.
    #[arg(long, value_enum, value_name = "WHO")]
    close: Option<ConnectionCloser>,
    /// Source addresses, used in turn.
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',')]
    from: Vec<IpAddr>,
    /// Requests with weights and expectations, from a TOML file; docs/lab.md has the keys.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "header"])]
    scenario: Option<PathBuf>,
    /// The method.
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    method: String,
    /// An additional header, as 'Name: value'.
    #[arg(short = 'H', long, value_name = "FIELD")]
    header: Vec<String>,
    /// Timeout of a request, until its response is complete.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "10s")]
    timeout: Duration,
    /// HTTP/2; without TLS with prior knowledge.
    #[arg(long)]
    http2: bool,
    /// Concurrent requests on each HTTP/2 connection.
    #[arg(short = 'm', long, value_name = "N", default_value_t = 1, requires = "http2")]
    streams: usize,
    /// TLS: a full handshake for each connection, without session resumption.
    #[arg(long)]
    no_resumption: bool,
    /// Load before the first run, not counted.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s")]
    warm_up: Duration,
    /// Runs of each test; comparisons need at least 5, better 10.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Search the highest rate that meets the objective; -d is the duration of a trial.
    #[arg(long, requires = "objective", conflicts_with_all = ["rate", "repeat", "requests"])]
    find_capacity: bool,
    /// The objective, such as 'p99 < 20ms'; failed requests count as slow.
    #[arg(long, value_name = "OBJECTIVE", requires = "find_capacity")]
    objective: Option<LatencyObjective>,
    /// The first rate of a search.
    #[arg(long, value_name = "RATE", default_value_t = 100.0, requires = "find_capacity")]
    search_from: f64,
    /// The highest rate of a search.
    #[arg(long, value_name = "RATE", default_value_t = 1e6, requires = "find_capacity")]
    search_to: f64,
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

const EXAMPLES: &str = "\
Examples:
  steelyard bench http http://127.0.0.1:8080/ -c 50 -n 100000
  steelyard bench http http://127.0.0.1:8080/ --rate 5000 -d 30s --warm-up 2s
  steelyard bench http http://127.0.0.1:8080/ --rate 1000..10000/1000 -d 5s --html steps.html
  steelyard bench http https://shop.example/ --http2 -c 10 -m 100 --rate 20000
  steelyard bench http https://shop.example/ --close client --from 192.0.2.7,192.0.2.8
  steelyard bench http http://shop.example/ --scenario shop.toml --repeat 10 -o base.json
  steelyard bench http http://shop.example/ --find-capacity --objective 'p99 < 20ms' -d 5s
  steelyard bench http http://shop.example/ --rate 50000 --agents 192.0.2.7:7009,192.0.2.8:7009 --token-file token

Exit codes: 0 measured, 1 the search found no rate that meets the objective, 2 nothing could be measured, 3
a partial result: something failed, was not reached, or the run was stopped.";

pub fn run(args: &BenchHttpArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &BenchHttpArgs) -> Result<CommandOutcome, CommandError> {
    let keep = OutputFiles::prepare(args.output.as_deref(), args.html.as_deref())?;
    let PlannedBenchmark { order, digest } = bench_order(args)?;
    let facts = machine_facts();
    let mut result = BenchResult::new("http", provenance(&facts));
    result.provenance.digest = digest;
    record_settings(args, &order, &mut result);
    let stop = stop_on_interrupt()?;
    let mut line = ProgressLine::new(args.json);
    let mut on_event = |event: lab::bench::http::BenchEvent<'_>| line.report_event(&event);
    let found = match (args.find_capacity, args.objective) {
        (true, Some(objective)) => {
            let trial = search_trial(&order, args, objective)?;
            let found = search_rate(
                &trial,
                objective,
                search_terms(args)?,
                &facts,
                &mut result,
                &stop,
                &mut on_event,
            );
            found.map_err(|error| start_failure(&error, &result))?
        }
        _ => {
            let ran = carry_out_order(&order, &facts, &mut result, &stop, &mut on_event);
            ran.map_err(|error| start_failure(&error, &result))?;
            None
        }
    };
    line.clear();
    if let Some(found) = &found {
        record_found_rate(found, &mut result);
    }
    let written = keep.write(&mut result);
    render::print(&result, found.as_ref(), args.json || !written)?;
    Ok(match &found {
        _ if !result.complete => CommandOutcome::Partial,
        Some(found) if found.held.is_none() => CommandOutcome::Negative,
        Some(found) if found.end == SearchEnd::ClientLimit => CommandOutcome::Partial,
        _ => CommandOutcome::Done,
    })
}

/// A benchmark, and the digest of the file with its requests if there is one.
struct PlannedBenchmark {
    order: HttpBenchmark,
    digest: Option<String>,
}

fn bench_order(args: &BenchHttpArgs) -> Result<PlannedBenchmark, CommandError> {
    let address = resolve(&args.target.host, args.target.port, &args.from)?;
    let DigestedMix { mix, digest } = request_mix(args)?;
    let open = args.rate.is_some() || args.find_capacity;
    let connections = args.connections.unwrap_or(if open { 100 } else { 10 }.max(args.threads));
    let mut plan = LoadPlan::new(address, LoadProtocol::Mix(mix), connections);
    plan.pace = match &args.rate {
        Some(rates) => {
            LoadModel::Open { per_second: rates.0.first().copied().unwrap_or(1.0), connections }
        }
        None => LoadModel::Closed { connections, think: Duration::ZERO },
    };
    plan.persist = ConnectionCloser::to_persist(args.close);
    plan.http2 = args.http2;
    plan.streams = args.streams;
    plan.threads = args.threads;
    plan.requests = args.requests;
    plan.time = args.duration.or(args.requests.is_none().then_some(DURATION));
    plan.timeout = args.timeout;
    plan.grace = args.timeout;
    plan.sources.clone_from(&args.from);
    if args.target.secure {
        let offered: &[u8] = if args.http2 { b"h2" } else { b"http/1.1" };
        let secure = TargetTls::unverified(&args.target.host, &[offered]);
        let secure = secure.map_err(|error| CommandError::Unusable(sentence(&error)))?;
        plan.secure = Some(if args.no_resumption { secure.without_resumption() } else { secure });
    }
    plan.check().map_err(|error| CommandError::Unusable(error.to_string()))?;
    let rates = args.rate.clone().map_or_else(Vec::new, |rates| rates.0);
    let repeats = args.repeat;
    let warm_up = args.warm_up;
    let fleet = args.agents.resolve_fleet()?;
    let order = HttpBenchmark { plan, rates, repeats, warm_up, fleet };
    Ok(PlannedBenchmark { order, digest })
}

/// A mix of requests, and the digest of its file if it has one.
struct DigestedMix {
    mix: RequestMix,
    digest: Option<String>,
}

fn request_mix(args: &BenchHttpArgs) -> Result<DigestedMix, CommandError> {
    let authority = &args.target.authority;
    if let Some(file) = &args.scenario {
        let text = read_config(file)?;
        let mix = scenario::parse_scenario(&text, authority)
            .map_err(|error| CommandError::Unusable(format!("{}: {error}", file_name(file))))?;
        return Ok(DigestedMix { mix, digest: Some(fnv_digest(&text)) });
    }
    let mut shot = RequestTemplate::get(authority, &args.target.path);
    shot.method.clone_from(&args.method);
    for field in &args.header {
        let (name, value) = field.split_once(':').ok_or_else(|| {
            CommandError::Unusable(format!("`{field}` is no field; expected 'Name: value'"))
        })?;
        let name = name.trim().to_owned();
        shot.fields.push(RequestField { name, value: value.trim().to_owned() });
    }
    Ok(DigestedMix { mix: RequestMix { shots: vec![shot] }, digest: None })
}

/// Trials must be long enough that the objective can be proven at the first rate.
fn search_trial(
    order: &HttpBenchmark,
    args: &BenchHttpArgs,
    objective: LatencyObjective,
) -> Result<HttpBenchmark, CommandError> {
    let time = order.plan.time.unwrap_or(DURATION);
    let due = args.search_from * time.as_secs_f64();
    let fewest = objective.min_requests();
    if due < fewest as f64 {
        return Err(CommandError::Unusable(format!(
            "a trial of {due:.0} requests proves nothing about {} %; it takes {fewest}: raise -d or --search-from",
            objective.share * 100.0
        )));
    }
    Ok(order.clone())
}

fn search_terms(args: &BenchHttpArgs) -> Result<SearchLimits, CommandError> {
    let from = args.search_from;
    let most = args.search_to;
    if !(from > 0.0 && from <= most && most <= 1e7) {
        let text = "--search-from must be above 0 and at most --search-to, which may be 10,000,000";
        return Err(CommandError::Unusable(text.to_owned()));
    }
    Ok(SearchLimits { from, most, precision: 0.05, confirmations: 3 })
}

fn record_settings(args: &BenchHttpArgs, order: &HttpBenchmark, result: &mut BenchResult) {
    let mut set = |name: &str, value: String| {
        result.provenance.settings.insert(name.to_owned(), value);
    };
    let plan = &order.plan;
    let host = &args.target.authority;
    let scheme = if args.target.secure { "https" } else { "http" };
    set("target", format!("{scheme}://{host}{}", args.target.path));
    set("address", plan.target.to_string());
    let version = if args.http2 { "HTTP/2" } else { "HTTP/1.1" };
    let secure = if args.target.secure { " over TLS, certificate not verified" } else { "" };
    set("protocol", format!("{version}{secure}"));
    let open = args.rate.is_some() || args.find_capacity;
    set("loop", if open { "open" } else { "closed" }.to_owned());
    set("connections", plan.connections().to_string());
    if args.http2 {
        set("streams", plan.streams.to_string());
    }
    set("threads", plan.threads.to_string());
    set("close", ConnectionCloser::label(args.close));
    args.agents.record_settings(&mut set);
    set("timeout", format!("{:?}", plan.timeout));
    if let Some(time) = plan.time {
        set("duration", format!("{time:?}"));
    }
    if let Some(requests) = plan.requests {
        set("requests", requests.to_string());
    }
}

/// The rate that was found, as a test of its own, so that searches can be compared.
fn record_found_rate(found: &SearchResult, result: &mut BenchResult) {
    let Some(held) = found.held else { return };
    let metric = BenchMetric::new("capacity", "requests/s", MetricDirection::More, held);
    let test = "capacity".to_owned();
    let complete = matches!(found.end, SearchEnd::Confirmed | SearchEnd::AtMost);
    result.runs.push(BenchRun {
        test,
        repeat: 1,
        complete,
        metrics: vec![metric],
        ..BenchRun::default()
    });
}

/// Long enough for a rate that does not change with the first second.
const DURATION: Duration = Duration::from_secs(10);
