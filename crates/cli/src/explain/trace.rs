//! `steelyard explain trace`: time attribution from packet captures.
//!
//! Passes files, or what passes an interface, to the analysis, whose results are printed. Nothing is calculated here.

mod connections;
mod pool;
mod read;
mod render;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use trace::analysis::AnalysisSettings;
use trace::attribution::scale::{ScaleOverride, ScaleOverrides};
use trace::compare::compare_reports;
use trace::filter::CaptureFilter;
use trace::join::join_reports;
use trace::render::page::NamedDrawing;
use trace::report::TraceReport;

use crate::common_args::span;
use crate::outcome::{CommandError, CommandOutcome, finish, print_json, print_json_line};
use crate::show::paint::Paint;
use crate::show::screen;
use read::TraceReader;
use watch::WatchSettings;

/// Explain delays in packet captures: client, network or server, and why.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainTraceArgs {
    /// Captures: pcap or pcapng, plain or compressed with gzip, zstd or lz4; several are read one
    /// after the other.
    #[arg(value_name = "FILE", required_unless_present_any = ["compare", "join", "watch"])]
    files: Vec<PathBuf>,
    /// Print everything as JSON; docs/explain.md has the schema.
    #[arg(long)]
    json: bool,
    /// Write a page with all connections, and diagrams of those that failed or were slowest. It is
    /// self-contained.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the diagrams as SVG files into this folder.
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// Draw this connection, by its number, instead of the slowest.
    #[arg(long, value_name = "NUMBER")]
    connection: Option<u32>,
    /// Show where a slow capture takes longer than a fast one, by phase and cause.
    #[arg(long, num_args = 2, value_names = ["FAST", "SLOW"], conflicts_with_all = ["files", "join", "html", "svg"])]
    compare: Vec<PathBuf>,
    /// Join captures of both sides of a balancer, or one of both sides; both must have the same
    /// clock.
    #[arg(long, num_args = 1..=2, value_names = ["CLIENTS", "SERVERS"], conflicts_with_all = ["files", "html", "svg"])]
    join: Vec<PathBuf>,
    /// Analyse the packets of this interface, or of `any`, until Ctrl-C; a terminal shows the
    /// report so far. Needs CAP_NET_RAW.
    #[arg(long, value_name = "INTERFACE", conflicts_with_all = ["files", "compare", "join", "html", "svg", "connection"])]
    watch: Option<String>,
    /// End --watch after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = span, requires = "watch")]
    duration: Option<Duration>,
    /// Size in MiB of the packet ring of --watch (1 to 1024).
    #[arg(long, value_name = "MIB", requires = "watch", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    ring: u32,
    /// Only packets with host=ADDRESS, port=NUMBER, end=ADDRESS:PORT, from=SECONDS, to=SECONDS,
    /// pool=NAME; all conditions must match.
    #[arg(long, value_name = "CONDITION")]
    filter: Vec<String>,
    /// The configuration with the servers of pools.
    #[arg(short, long, value_name = "FILE", default_value = "/etc/steelyard/steelyard.toml")]
    config: PathBuf,
    /// Window scale factor of ADDRESS:PORT, instead of the one in the capture.
    #[arg(long, value_name = "ADDRESS:PORT=N")]
    scale: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  steelyard explain trace slow.pcap
  steelyard explain trace slow.pcap --html slow.html
  steelyard explain trace big.pcapng.gz --filter port=443 --filter from=60 --json
  steelyard explain trace all.pcap --filter pool=web -c shop.toml
  steelyard explain trace middle.pcap --scale 192.0.2.80:443=7
  steelyard explain trace --watch eth0 --filter port=443
  steelyard explain trace --watch any --for 30s --json
  steelyard explain trace --compare fast.pcap slow.pcap
  steelyard explain trace --join front.pcap back.pcap
  steelyard explain trace --join /var/lib/steelyard/captures/slow-1795413600000.pcapng

Exit codes: 0 done, 2 nothing could be read, 3 a file is damaged and was read up to the damage, or the
interface was removed.";

pub fn run(args: &ExplainTraceArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &ExplainTraceArgs) -> Result<CommandOutcome, CommandError> {
    let settings = settings(args)?;
    if let Some(interface) = &args.watch {
        let wishes =
            WatchSettings { duration: args.duration, ring_mebibytes: args.ring, json: args.json };
        let report = watch::watch_interface(interface, settings, &wishes)?;
        print_report(args.json, &report)?;
        return Ok(outcome_of_reports(&[&report]));
    }
    let reading = TraceReader { settings: &settings, quiet: args.json };
    match (args.compare.as_slice(), args.join.as_slice()) {
        ([fast, slow], _) => {
            let fast = reading.read_report(std::slice::from_ref(fast))?;
            let slow = reading.read_report(std::slice::from_ref(slow))?;
            let comparison = compare_reports(&fast, &slow);
            let text =
                || render::render_comparison(&comparison, screen::width(), Paint::for_stdout());
            print_answer(args.json, &comparison, text)?;
            Ok(outcome_of_reports(&[&fast, &slow]))
        }
        (_, [front, behind @ ..]) => {
            let front = reading.read_report(std::slice::from_ref(front))?;
            let back = behind.first().map(|file| reading.read_report(std::slice::from_ref(file)));
            let back = back.transpose()?;
            let joined = join_reports(&front, back.as_ref().unwrap_or(&front));
            let text = || render::render_joined(&joined, screen::width(), Paint::for_stdout());
            print_answer(args.json, &joined, text)?;
            Ok(outcome_of_reports(&[&front, back.as_ref().unwrap_or(&front)]))
        }
        _ => {
            let report = reading.read_report(&args.files)?;
            write_drawings(args, &reading, &report)?;
            print_report(args.json, &report)?;
            Ok(outcome_of_reports(&[&report]))
        }
    }
}

fn print_report(json: bool, report: &TraceReport) -> Result<(), CommandError> {
    if json {
        // A large report in one line is half as long.
        return print_json_line(report);
    }
    let text = render::render_report(report, screen::width(), Paint::for_stdout());
    Ok(screen::print(&text)?)
}

fn print_answer<T: serde::Serialize>(
    json: bool,
    value: &T,
    text: impl Fn() -> String,
) -> Result<(), CommandError> {
    if json { print_json(value) } else { Ok(screen::print(&text())?) }
}

fn outcome_of_reports(reports: &[&TraceReport]) -> CommandOutcome {
    let damaged = reports.iter().any(|report| report.capture.damage.is_some());
    if damaged { CommandOutcome::Partial } else { CommandOutcome::Done }
}

fn write_drawings(
    args: &ExplainTraceArgs,
    reading: &TraceReader<'_>,
    report: &TraceReport,
) -> Result<(), CommandError> {
    if args.html.is_none() && args.svg.is_none() {
        return Ok(());
    }
    let Some(number) = args.connection.or(report.verdict.shown()).or_else(|| report.slowest())
    else {
        return Err(CommandError::Absent("no connection to draw in these captures".to_owned()));
    };
    let drawing = reading.draw_connections(&args.files, number, report)?;
    let write = |path: &PathBuf, text: &str| {
        let written = files::create::write(path, text, 0o644);
        written.map_err(|error| {
            CommandError::Unusable(format!("cannot write {}: {error}", path.display()))
        })
    };
    if let Some(path) = &args.html {
        write(path, &drawing.page)?;
    }
    if let Some(folder) = &args.svg {
        let made = files::create::make_dir(folder, 0o755);
        made.map_err(|error| {
            CommandError::Unusable(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
        for NamedDrawing { name, svg } in &drawing.drawings {
            write(&folder.join(format!("{name}.svg")), svg)?;
        }
    }
    Ok(())
}

fn settings(args: &ExplainTraceArgs) -> Result<AnalysisSettings, CommandError> {
    let mut filter = CaptureFilter::default();
    for text in &args.filter {
        match text.strip_prefix("pool=") {
            Some(name) => filter.add_one_of(pool::servers(&args.config, name)?),
            None => filter.add(text).map_err(|error| CommandError::Unusable(error.to_string()))?,
        }
    }
    let wishes = args.scale.iter().map(|text| wish(text)).collect::<Result<_, _>>()?;
    Ok(AnalysisSettings { wishes: ScaleOverrides(wishes), filter, ..AnalysisSettings::default() })
}

fn wish(text: &str) -> Result<ScaleOverride, CommandError> {
    let parse = || {
        let (end, shift) = text.rsplit_once('=')?;
        let endpoint = end.parse().ok()?;
        let shift = shift.parse().ok().filter(|shift| *shift <= 14)?;
        Some(ScaleOverride { endpoint, shift })
    };
    parse().ok_or_else(|| {
        let expected = "ADDRESS:PORT=N with N from 0 to 14, as in 192.0.2.80:443=7";
        CommandError::Unusable(format!("`{text}` is no window scale; expected {expected}"))
    })
}
