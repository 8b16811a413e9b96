//! `steelyard explain trace`: time attribution from packet captures.
//!
//! Reads files and passes them to the analysis, whose results are printed. Nothing is calculated here.

mod connections;
mod pool;
mod read;
mod render;

use std::path::PathBuf;
use std::process::ExitCode;

use trace::analysis::AnalysisSettings;
use trace::attribution::scale::{ScaleOverride, ScaleOverrides};
use trace::compare::compare_reports;
use trace::filter::CaptureFilter;
use trace::join::join_reports;
use trace::render::page::NamedDrawing;
use trace::report::TraceReport;

use crate::outcome::{CommandError, CommandOutcome, finish, print_json, print_json_line};
use crate::show::paint::Paint;
use crate::show::screen;
use read::TraceReader;

/// Say whose time it was, from packet captures: client, network or server, and why.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainTraceArgs {
    /// Captures: pcap or pcapng, plain or packed with gzip, zstd or lz4; several are read one after the other.
    #[arg(value_name = "FILE", required_unless_present_any = ["compare", "join"])]
    files: Vec<PathBuf>,
    /// Print everything as JSON; docs/explain.md has the schema.
    #[arg(long)]
    json: bool,
    /// Write a page with diagrams of the slowest connection, which needs nothing but a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the diagrams as SVG files into this folder.
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// Draw this connection, by its number, instead of the slowest.
    #[arg(long, value_name = "NUMBER")]
    connection: Option<u32>,
    /// Show what a slow capture has more than a fast one, by phase and cause.
    #[arg(long, num_args = 2, value_names = ["FAST", "SLOW"], conflicts_with_all = ["files", "join", "html", "svg"])]
    compare: Vec<PathBuf>,
    /// Join captures of both sides of a balancer, or one of both, into one story; both must be of one clock.
    #[arg(long, num_args = 1..=2, value_names = ["CLIENTS", "SERVERS"], conflicts_with_all = ["files", "html", "svg"])]
    join: Vec<PathBuf>,
    /// Look only at packets with host=ADDRESS, port=NUMBER, end=ADDRESS:PORT, from=SECONDS, to=SECONDS, pool=NAME; all
    /// must hold.
    #[arg(long, value_name = "CONDITION")]
    filter: Vec<String>,
    /// The configuration that says where a pool's servers are.
    #[arg(short, long, value_name = "FILE", default_value = "/etc/steelyard/steelyard.toml")]
    config: PathBuf,
    /// Read windows of ADDRESS:PORT with this scale factor, whatever the capture shows.
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
  steelyard explain trace --compare fast.pcap slow.pcap
  steelyard explain trace --join front.pcap back.pcap
  steelyard explain trace --join /var/lib/steelyard/captures/slow-1795413600000.pcapng

Exit codes: 0 done, 2 nothing could be read, 3 a file is damaged and was read up to there.";

pub fn run(args: &ExplainTraceArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &ExplainTraceArgs) -> Result<CommandOutcome, CommandError> {
    let settings = settings(args)?;
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
            if args.json {
                // A large report in one line is half as long.
                print_json_line(&report)?;
            } else {
                screen::print(&render::render_report(
                    &report,
                    screen::width(),
                    Paint::for_stdout(),
                ))?;
            }
            Ok(outcome_of_reports(&[&report]))
        }
    }
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
    let drawing = reading.draw_connection(&args.files, number, report)?;
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
