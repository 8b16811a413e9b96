//! `steelyard compare`: two results side by side. The lab compares; this prints.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::compare::{BenchComparison, ComparisonStatus, SignificanceRule, compare_together};
use lab::result::{BenchResult, parse_result};

use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::{TextCell, TextTable, left, right};

/// Compare a benchmark result with a baseline, and show significant differences.
///
/// Medians are compared by the Mann-Whitney test, which assumes no distribution of the noise. `~`
/// means that no difference is proven, which is not the same as equal. Alternate the runs of both
/// sides.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard bench http http://127.0.0.1:8080/ --repeat 10 -o base.json
  steelyard bench http http://127.0.0.1:8081/ --repeat 10 -o changed.json
  steelyard compare base.json changed.json
  steelyard compare base.json changed.json --threshold 2 --metric rate --metric latency-p99
  steelyard compare base.json changed.json --all --json

Exit codes: 0 no regression is proven, 1 a regression beyond the threshold, 2 a file could not be read, 3 no
result: too few runs, or nothing in common.")]
pub struct CompareArgs {
    /// The baseline to compare with.
    #[arg(value_name = "BASE")]
    baseline: PathBuf,
    /// The result to compare.
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Significance level: the probability of a false difference, over all rows.
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.01, value_parser = probability)]
    alpha: f64,
    /// Count a difference only if its whole confidence interval exceeds this percentage.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    threshold: f64,
    /// Only these metrics; default rate, latency-p50, latency-p99, capacity, throughput, and those
    /// of a stream.
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
    /// Every metric that both have.
    #[arg(long, conflicts_with = "metric")]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn probability(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|value| *value > 0.0 && *value < 0.5);
    found.ok_or_else(|| "expected a probability above 0 and below 0.5, such as 0.01".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|value| (0.0..1000.0).contains(value));
    found.ok_or_else(|| "expected per cent from 0 on, such as 2.5".to_owned())
}

pub fn run(args: &CompareArgs) -> ExitCode {
    finish(args.json, carry_out(args))
}

fn carry_out(args: &CompareArgs) -> Result<CommandOutcome, CommandError> {
    let mut baseline = read_result(&args.baseline)?;
    let mut result = read_result(&args.result)?;
    for side in [&mut baseline, &mut result] {
        for run in &mut side.runs {
            run.metrics.retain(|metric| is_wanted(args, &metric.name));
        }
    }
    let rule = SignificanceRule { alpha: args.alpha, threshold_percent: args.threshold };
    let comparison = compare_together(&baseline, &result, rule);
    if args.json {
        print_json(&comparison)?;
    } else {
        screen::print(&render_comparison(&comparison, rule, screen::width(), Paint::for_stdout()))?;
    }
    let inconclusive = comparison.rows.iter().any(|row| row.status != ComparisonStatus::TooFewRuns);
    Ok(match (comparison.worse, inconclusive) {
        (true, _) => CommandOutcome::Negative,
        (false, true) => CommandOutcome::Done,
        (false, false) => CommandOutcome::Partial,
    })
}

fn is_wanted(args: &CompareArgs, name: &str) -> bool {
    match args.metric.as_slice() {
        _ if args.all => true,
        [] => USUAL.contains(&name),
        names => names.iter().any(|wanted| wanted == name),
    }
}

fn read_result(path: &Path) -> Result<BenchResult, CommandError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        CommandError::Unusable(format!("cannot read {}: {error}", path.display()))
    })?;
    parse_result(&text)
        .map_err(|error| CommandError::Unusable(format!("{}: {error}", path.display())))
}

fn render_comparison(
    comparison: &BenchComparison,
    rule: SignificanceRule,
    width: usize,
    paint: Paint,
) -> String {
    let mut table = TextTable::new(&[
        left("test"),
        left("metric"),
        left("unit"),
        right("baseline"),
        right("result"),
        right("difference"),
        left("status"),
        right("sd"),
        right("sd"),
        right("p"),
        right("interval"),
        right("runs"),
    ]);
    for row in &comparison.rows {
        let (status, colour) = match row.status {
            ComparisonStatus::Better => ("better", Colour::Good),
            ComparisonStatus::Worse => ("worse", Colour::Bad),
            ComparisonStatus::Differs => ("differs", Colour::Doubt),
            ComparisonStatus::Unproven => ("~", Colour::Quiet),
            ComparisonStatus::TooFewRuns => ("too few runs", Colour::Doubt),
        };
        let signed = |value: f64| format!("{value:+.2} %");
        let interval = row
            .interval_percent
            .map(|interval| format!("{:+.2} … {:+.2} %", interval.low, interval.high));
        table.row(vec![
            row.test.clone().into(),
            row.metric.clone().into(),
            row.unit.clone().into(),
            figure(row.baseline).into(),
            figure(row.result).into(),
            row.difference_percent.map_or("-".to_owned(), signed).into(),
            TextCell::coloured(status, colour),
            format!("{:.2} %", row.baseline_deviation_percent).into(),
            format!("{:.2} %", row.result_deviation_percent).into(),
            format!("{:.4}", row.p_together).into(),
            interval.unwrap_or_else(|| "-".to_owned()).into(),
            format!("{}/{}", row.runs.baseline, row.runs.result).into(),
        ]);
    }
    let mut out = table.render(width, paint);
    let confidence = (1.0 - rule.alpha) * 100.0;
    out.push_str(&format!(
        "\n~: nothing proven at alpha {} for all rows together (not: equal); p is corrected for their number (Holm). Each \
         interval of the difference holds with {confidence} %.\n",
        rule.alpha
    ));
    if !comparison.differences.is_empty() {
        let text =
            "the two were not measured alike: figures may differ for what is named below alone";
        out.push_str(&format!("{}: {text}\n", paint.text(Colour::Doubt, "warning")));
    }
    for warning in &comparison.warnings {
        out.push_str(&format!("{}: {warning}\n", paint.text(Colour::Doubt, "warning")));
    }
    out
}

fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// The figures that are compared unless others are named: the more rows, the clearer each difference must be.
const USUAL: [&str; 6] = ["rate", "latency-p50", "latency-p99", "capacity", "throughput", "loss"];
