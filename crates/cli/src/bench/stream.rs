//! `steelyard bench stream`: throughput over buffers, messages and directions, against `bench serve --stream`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lab::bench::stream::run_matrix as carry_out_matrix;
use lab::machine::procfs::machine_facts;
use lab::result::{BenchResult, BenchRun};
use lab::result_note::NoteSeverity;
use lab::stats::interval::mean_width_percent;
use lab::stats::sample::mean;
use lab::stream::matrix::{Matrix, PrecisionTarget};
use lab::stream::request::{StreamDirection, StreamTransport};
use model::config::unit::{BitsPerSecond, ByteSize};

use super::common::{BenchEndpoint, end, resolve};
use super::output_files::{OutputFiles, provenance};
use super::progress::print_progress;
use super::render::render_notes;
use crate::common_args::span;
use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::{TextCell, TextTable, left, right};

/// Measure the throughput of TCP and UDP to or from `steelyard bench serve --stream`, over socket buffers and message
/// sizes.
///
/// Every combination is repeated until the confidence interval of its mean is narrow enough;
/// otherwise a warning is shown. For UDP the received rate counts; the sent rate is shown too.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard bench stream 192.0.2.7:7008
  steelyard bench stream 192.0.2.7:7008 --buffer 32KiB,256KiB,4MiB --message 64,1448,8972,30000 --direction to,from
  steelyard bench stream 192.0.2.7:7008 --transport udp --message 1448 --rate 900Mbit/s -d 30s --confidence 99 --html udp.html

Exit codes: 0 measured, with warnings or without; 2 nothing could be measured; 3 a partial result.")]
pub struct BenchStreamArgs {
    /// Where `steelyard bench serve --stream` listens.
    #[arg(value_name = "HOST:PORT", value_parser = end)]
    target: BenchEndpoint,
    /// The transport protocol to measure.
    #[arg(
        long = "transport",
        value_enum,
        value_name = "TRANSPORT,…",
        value_delimiter = ',',
        default_value = "tcp"
    )]
    carrier: Vec<BenchTransport>,
    /// Direction: `to` the serving end, or `from` it.
    #[arg(
        long = "direction",
        value_enum,
        value_name = "DIRECTION,…",
        value_delimiter = ',',
        default_value = "to"
    )]
    way: Vec<StreamDirections>,
    /// Socket buffers of both ends; default: sized by the kernel.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = buffer)]
    buffer: Vec<u32>,
    /// Bytes of each message.
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "16384")]
    message: Vec<u32>,
    /// Duration of each run.
    #[arg(short = 'd', long, value_name = "TIME", value_parser = span, default_value = "10s")]
    duration: Duration,
    /// Maximum rate of datagrams, with Ethernet headers, such as 200Mbit/s.
    #[arg(long, value_name = "RATE", value_parser = bits)]
    rate: Option<u64>,
    /// Confidence level of the interval of the mean, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 95, value_parser = clap::value_parser!(u8).range(50..=99))]
    confidence: u8,
    /// Maximum width of that interval, in percent of the mean.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    width: f64,
    /// Minimum of runs of each combination.
    #[arg(long = "min-runs", value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    least: u32,
    /// Maximum of runs of each combination.
    #[arg(long = "max-runs", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    most: u32,
    /// Write the result to this file, for `steelyard compare`.
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum BenchTransport {
    /// A stream.
    Tcp,
    /// Datagrams.
    Udp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum StreamDirections {
    /// From here.
    To,
    /// From there.
    From,
}

fn buffer(text: &str) -> Result<u32, String> {
    let found = text
        .parse::<ByteSize>()
        .map_err(|error| format!("{error}; expected a size such as 256KiB"))?;
    let fits = u32::try_from(found.0).ok().filter(|bytes| (1_024..=1 << 30).contains(bytes));
    fits.ok_or_else(|| "expected 1KiB to 1GiB".to_owned())
}

fn bits(text: &str) -> Result<u64, String> {
    let found = text
        .parse::<BitsPerSecond>()
        .map_err(|error| format!("{error}; expected a rate such as 200Mbit/s"))?;
    Ok(found.0)
}

pub fn run(args: &BenchStreamArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &BenchStreamArgs) -> Result<CommandOutcome, CommandError> {
    let keep = OutputFiles::prepare(args.output.as_deref(), args.html.as_deref())?;
    let matrix = matrix(args)?;
    let to = resolve(&args.target.host, args.target.port, &[])?;
    let mut result = BenchResult::new("stream", provenance(&machine_facts()));
    let settings = &mut result.provenance.settings;
    settings.insert("target".to_owned(), to.to_string());
    settings.insert("duration".to_owned(), format!("{:?}", args.duration));
    settings
        .insert("confidence".to_owned(), format!("{} %, {} % wide", args.confidence, args.width));
    let stop = stop_on_interrupt()?;
    let mut on_result = |name: &str, repeat: u32, bits: f64| {
        if !args.json {
            print_progress(&format!("{name}: run {repeat}: {:.2} Mbit/s\n", bits / 1e6));
        }
    };
    carry_out_matrix(&matrix, to, &mut result, &stop, &mut on_result)
        .map_err(|error| CommandError::Unusable(error.to_string()))?;
    let written = keep.write(&mut result);
    if args.json || !written {
        // Warnings are printed even if the result only goes to a file.
        for note in result.notes.iter().filter(|note| note.weight == NoteSeverity::Warning) {
            print_progress(&format!("WARNING: {}\n", note.text));
        }
        print_json(&result)?;
    } else {
        screen::print(&render_result(
            &result,
            matrix.precision,
            screen::width(),
            Paint::for_stdout(),
        ))?;
    }
    Ok(if result.complete { CommandOutcome::Done } else { CommandOutcome::Partial })
}

fn matrix(args: &BenchStreamArgs) -> Result<Matrix, CommandError> {
    let carrier = |carried: &BenchTransport| match carried {
        BenchTransport::Tcp => StreamTransport::Tcp,
        BenchTransport::Udp => StreamTransport::Udp,
    };
    let way = |way: &StreamDirections| match way {
        StreamDirections::To => StreamDirection::To,
        StreamDirections::From => StreamDirection::From,
    };
    let wanted = PrecisionTarget {
        confidence: f64::from(args.confidence) / 100.0,
        width_percent: args.width,
        least: args.least,
        most: args.most.max(args.least),
    };
    let buffers = match args.buffer.as_slice() {
        [] => vec![None],
        sizes => sizes.iter().copied().map(Some).collect(),
    };
    let matrix = Matrix {
        carriers: args.carrier.iter().map(carrier).collect(),
        directions: args.way.iter().map(way).collect(),
        buffers,
        messages: args.message.clone(),
        millis: u32::try_from(args.duration.as_millis()).unwrap_or(u32::MAX),
        rate: args.rate,
        precision: wanted,
    };
    if args.rate.is_some() && !args.carrier.contains(&BenchTransport::Udp) {
        let text =
            "--rate is for datagrams, and a stream has a pace of its own: add --transport udp";
        return Err(CommandError::Unusable(text.to_owned()));
    }
    // Every cell is checked before the first is measured.
    for ask in matrix.cells() {
        ask.check().map_err(|error| CommandError::Unusable(error.to_string()))?;
    }
    Ok(matrix)
}

fn render_result(
    result: &BenchResult,
    wanted: PrecisionTarget,
    width: usize,
    paint: Paint,
) -> String {
    let mut table = TextTable::new(&[
        left("test"),
        right("runs"),
        right("Mbit/s"),
        right("±"),
        right("sent Mbit/s"),
        right("loss"),
        right("reordered"),
        right("send buffer"),
        right("receive buffer"),
        right("segment"),
        right("sent again"),
    ]);
    result
        .runs
        .chunk_by(|a, b| a.test == b.test)
        .for_each(|runs| table.row(matrix_row(runs, wanted)));
    format!("{}{}", table.render(width, paint), render_notes(result, width, paint))
}

/// A cell of the matrix, from its runs; those that broke off are counted and nothing else.
fn matrix_row(runs: &[BenchRun], wanted: PrecisionTarget) -> Vec<TextCell> {
    let whole = || runs.iter().filter(|run| run.complete);
    let values = |name: &str| -> Vec<f64> { whole().filter_map(|run| figure(run, name)).collect() };
    let told = |name: &str, unit: &str, scale: f64, digits: usize| {
        let found = values(name);
        if found.is_empty() {
            return TextCell::from("-");
        }
        format!("{:.digits$}{unit}", mean(&found) / scale).into()
    };
    let count = whole().count();
    let throughputs = values("throughput");
    let counted = match runs.len() - count {
        0 => TextCell::from(count.to_string()),
        broken => TextCell::coloured(format!("{count}, {broken} not whole"), Colour::Bad),
    };
    let throughput = match count {
        0 => TextCell::coloured("not measured", Colour::Bad),
        _ => told("throughput", "", 1e6, 2),
    };
    let interval = match mean_width_percent(&throughputs, wanted.confidence) {
        None => TextCell::from("-"),
        Some(half) if half * 2.0 > wanted.width_percent => {
            TextCell::coloured(format!("{half:.1} % !"), Colour::Bad)
        }
        Some(half) => format!("{half:.1} %").into(),
    };
    vec![
        runs[0].test.clone().into(),
        counted,
        throughput,
        interval,
        told("sent", "", 1e6, 2),
        told("loss", " %", 1.0, 2),
        told("reordered", "", 1.0, 0),
        told("send-buffer", "", 1.0, 0),
        told("receive-buffer", "", 1.0, 0),
        told("segment", "", 1.0, 0),
        told("retransmitted", "", 1.0, 0),
    ]
}

fn figure(run: &BenchRun, name: &str) -> Option<f64> {
    run.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}
