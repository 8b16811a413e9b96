//! `steelyard capacity`: the load that a configuration will carry on this machine, and its first limit. The model
//! calculates; this reads the machine and prints.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use lab::machine::procfs::machine_facts;
use model::capacity::demand::{MachineCapacity, ProcessingCost, TrafficDemand};
use model::capacity::failover::{FailoverCapacity, forecast_failover};
use model::capacity::forecast::{ServiceForecast, forecast_services};
use model::capacity::ports::ports_in_range;
use model::capacity::quantity::{BitRate, ByteCount};
use model::capacity::wire::Duplex;
use model::config::unit::ByteSize;
use model::config::{Config, load};
use serde::Serialize;

use self::mutual::StatedServiceRate;
use crate::common_args::{
    DaemonAddressArgs, bit_rate, block_on, file_name, positive_span, read_config,
};
use crate::config_file::StandardConfigArgs;
use crate::outcome::{CommandError, CommandOutcome, finish, print_findings, print_json};
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::rate;

mod calibrate;
mod live;
mod mutual;

/// Forecast the capacity of a configuration on this machine: the limits in order, and what to
/// change; with --live the present usage.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard capacity -c shop.toml
  steelyard capacity -c shop.toml --response 64KiB --round-trip 130ms --link 1Gbit/s
  steelyard capacity -c shop.toml --calibrate          first measure the cost of a request here
  steelyard capacity -c shop.toml --cost 18,12,0.4 --json
  steelyard capacity -c pair.toml --cost 18,12,0.4 --rate shop=9000 --rate mail=4000
                                                       whether one of two members can carry everything
  steelyard capacity --live                            from the daemon's measured traffic
  steelyard capacity --live --watch                    again every two seconds, until Ctrl-C

Forecasts are calculated from the given values, not measured. Without --link there is no bandwidth forecast,
and without --calibrate or --cost no processor forecast.

Exit codes: 0 done, 1 mistakes in the configuration, or one member cannot carry the load of --rate, 2
unreadable, or no daemon.")]
pub struct CapacityArgs {
    #[command(flatten)]
    config: StandardConfigArgs,
    /// Bytes of a request with its headers.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "400B")]
    request: ByteCount,
    /// Bytes of a response with its headers.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8KiB")]
    response: ByteCount,
    /// Requests on a client connection.
    #[arg(long, value_name = "N", value_parser = from_one, default_value = "1")]
    per_connection: f64,
    /// Requests on a server connection; 1: no keep-alive.
    #[arg(long, value_name = "N", value_parser = from_one, default_value = "100")]
    per_server_connection: f64,
    /// How long a client's connection lasts.
    #[arg(long, value_name = "TIME", value_parser = positive_span, default_value = "1s")]
    life: Duration,
    /// Round trip time to clients.
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    round_trip: Option<Duration>,
    /// Rate of this machine's link.
    #[arg(long, value_name = "RATE", value_parser = bit_rate)]
    link: Option<BitRate>,
    /// Both directions share the link's rate.
    #[arg(long, requires = "link")]
    half_duplex: bool,
    /// Processor time in microseconds: for a request, for a connection in addition, for each KiB of
    /// a response in addition.
    #[arg(long, value_name = "US,US,US", value_parser = cost, conflicts_with = "calibrate")]
    cost: Option<ProcessingCost>,
    /// Requests a second of a service; may be repeated. With several VRRP groups: whether one
    /// member can carry all of them.
    #[arg(long = "rate", value_name = "SERVICE=N", value_parser = mutual::rate)]
    rates: Vec<StatedServiceRate>,
    /// Measure that cost now, with a balancer, a server and load on loopback; takes about 10 s.
    #[arg(long)]
    calibrate: bool,
    /// Query the daemon: its configuration, its measured traffic, and the usage of each limit.
    #[arg(long, conflicts_with_all = ["config", "calibrate", "cost", "link", "round_trip", "request", "response",
        "per_connection", "per_server_connection", "life", "rates"])]
    live: bool,
    /// With --live: repeat until Ctrl-C; with --json one object on each line.
    #[arg(long, requires = "live")]
    watch: bool,
    #[command(flatten)]
    place: DaemonAddressArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
struct CapacityForecast {
    demand: TrafficDemand,
    machine: MachineCapacity,
    services: Vec<ServiceForecast>,
    /// Groups that different members may hold at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    mutual: Option<FailoverCapacity>,
}

fn size(text: &str) -> Result<ByteCount, String> {
    let found = text
        .parse::<ByteSize>()
        .map_err(|error| format!("{error}; expected a size such as 8KiB"))?;
    if found.0 == 0 {
        Err("expected at least 1 byte".to_owned())
    } else {
        Ok(ByteCount(found.0 as f64))
    }
}

fn from_one(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|number| (1.0..1e9).contains(number));
    found.ok_or_else(|| "expected a number from 1 on".to_owned())
}

fn cost(text: &str) -> Result<ProcessingCost, String> {
    let parts: Vec<f64> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    let good = parts.iter().all(|part| (0.0..1e9).contains(part));
    match parts.as_slice() {
        [request_us, connection_us, kibibyte_us] if good && *request_us > 0.0 => {
            Ok(ProcessingCost {
                request_us: *request_us,
                connection_us: *connection_us,
                kibibyte_us: *kibibyte_us,
            })
        }
        _ => Err("expected three numbers of microseconds, such as 18,12,0.4, the first above 0"
            .to_owned()),
    }
}

pub fn run(args: &CapacityArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &CapacityArgs) -> Result<CommandOutcome, CommandError> {
    if args.live {
        return block_on(live::show_live(&args.place, args.watch, args.json));
    }
    let text = read_config(args.config.path())?;
    let checked = match load(&text, &file_name(args.config.path())) {
        Ok(checked) => checked,
        Err(findings) => {
            print_findings(&findings.findings, findings.unlisted);
            return Ok(CommandOutcome::Negative);
        }
    };
    let rates = rates(&args.rates, &checked.config)?;
    let cost = if args.calibrate { Some(calibrate::measure_cost(args.json)?) } else { args.cost };
    let demand = demand(args);
    let machine = machine(args, cost);
    let services = forecast_services(&checked.config, &demand, &machine);
    let mutual = forecast_failover(&checked.config, &services, &rates);
    let refused = mutual.as_ref().is_some_and(|found| found.one_carries_all == Some(false));
    if args.json {
        print_json(&CapacityForecast { demand, machine, services, mutual })?;
    } else {
        let paint = Paint::for_stdout();
        let mut texts: Vec<String> =
            services.iter().map(|service| render(service, screen::width(), paint)).collect();
        texts.extend(mutual.map(|found| mutual::render(&found, screen::width(), paint)));
        let cost = cost.filter(|_| args.calibrate).map_or_else(String::new, |cost| {
            format!(
                "measured here: {:.1} µs a request, {:.1} µs a connection, {:.2} µs a KiB (--cost {:.1},{:.1},{:.2})\n\n",
                cost.request_us, cost.connection_us, cost.kibibyte_us,
                cost.request_us, cost.connection_us, cost.kibibyte_us
            )
        });
        screen::print(&format!("{cost}{}", texts.join("\n")))?;
    }
    Ok(if refused { CommandOutcome::Negative } else { CommandOutcome::Done })
}

/// The rates by service, each of which is there.
fn rates(
    stated: &[StatedServiceRate],
    config: &Config,
) -> Result<BTreeMap<String, f64>, CommandError> {
    let absent = |rate: &&StatedServiceRate| !config.services.contains_key(&rate.service);
    if let Some(StatedServiceRate { service: name, .. }) = stated.iter().find(absent) {
        let there: Vec<&str> = config.services.keys().map(AsRef::as_ref).collect();
        let there = there.join(", ");
        return Err(CommandError::Unusable(format!(
            "--rate: no service is called '{name}'; there are: {there}"
        )));
    }
    Ok(stated.iter().map(|rate| (rate.service.clone(), rate.per_second)).collect())
}

fn demand(args: &CapacityArgs) -> TrafficDemand {
    TrafficDemand {
        request: args.request,
        response: args.response,
        per_connection: args.per_connection,
        per_server_connection: args.per_server_connection,
        life: args.life,
        round_trip: args.round_trip,
    }
}

fn machine(args: &CapacityArgs, cost: Option<ProcessingCost>) -> MachineCapacity {
    let facts = machine_facts();
    MachineCapacity {
        processors: facts.processors,
        descriptors: facts.descriptors,
        ports: ports_in_range(facts.ports.first, facts.ports.last),
        time_wait: facts.time_wait_period(),
        link: args.link,
        duplex: if args.half_duplex { Duplex::Half } else { Duplex::Full },
        receive_buffer: ByteCount(facts.receive_buffer as f64),
        send_buffer: ByteCount(facts.send_buffer as f64),
        cost,
    }
}

fn render(of: &ServiceForecast, width: usize, paint: Paint) -> String {
    let mut out = format!("{} ({})\n", paint.text(Colour::Strong, &of.service), of.forward.name());
    let mut table = TextTable::new(&[
        left("limit"),
        right("requests/s"),
        right("connections/s"),
        left("because"),
    ]);
    for (at, limit) in of.limits.iter().enumerate() {
        let name = limit.kind.name().to_owned();
        let name = if at == 0 { TextCell::coloured(name, Colour::Doubt) } else { name.into() };
        table.row(vec![
            name,
            rate(limit.requests_per_second.0).into(),
            rate(limit.connections_per_second.0).into(),
            limit.because.clone().into(),
        ]);
    }
    out.push_str(&table.render(width, paint));
    for (word, limit) in ["first", "second"].iter().zip(&of.limits) {
        let name = limit.kind.name().to_owned();
        out.push_str(&format!("{word}: {name}; to raise it: {}\n", limit.change));
    }
    if let Some(replication) = &of.replication {
        out.push_str(&format!(
            "replication to another member: {:.3} Mbit/s for beginnings and ends of {} connections per second, and {:.3} \
             for open connections, which are sent again at times\n",
            replication.changes.megabits(),
            rate(replication.connections.0),
            replication.anew.megabits()
        ));
    }
    if let Some(path) = &of.path {
        out.push_str(&format!(
            "one connection: at most {:.2} Mbit/s out and {:.2} Mbit/s in with this kernel's buffers, {:.2} Mbit/s where windows are \
             not scaled",
            path.allowed.megabits(),
            path.allowed_in.megabits(),
            path.unscaled.megabits()
        ));
        if let Some(product) = path.product {
            let enough = product.0 <= path.window.0;
            let words = if enough {
                "the buffers hold that"
            } else {
                "raise the third number of net.ipv4.tcp_wmem and tcp_rmem to twice that"
            };
            out.push_str(&format!(
                "; the link holds {:.0} KiB of it under way: {words}",
                product.kibibytes()
            ));
        }
        out.push('\n');
    }
    out
}
