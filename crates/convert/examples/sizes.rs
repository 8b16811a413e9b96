//! Measures conversions of large files: `cargo run --profile prove -p convert --example sizes`, with the number of lines
//! and a part of a shape's name behind `--` where others are wanted.
//!
//! Each shape is converted by a process of its own, which reads its processor time and its largest size from the
//! kernel. The exit code is 1 if one takes more than the limits.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

#[path = "sizes/apache.rs"]
mod apache;
#[path = "sizes/caddy.rs"]
mod caddy;
#[path = "sizes/dispatcher.rs"]
mod dispatcher;
#[path = "sizes/envoy.rs"]
mod envoy;
#[path = "sizes/haproxy.rs"]
mod haproxy;
#[path = "sizes/keepalived.rs"]
mod keepalived;
#[path = "sizes/nginx.rs"]
mod nginx;
#[path = "sizes/shape.rs"]
mod shape;
#[path = "sizes/traefik.rs"]
mod traefik;

use std::fs;
use std::io;
use std::process::{Command, ExitCode};

use convert::run::convert;

use crate::shape::FileShape;

/// The lines of a file.
const LINES: usize = 50_000;
/// The most milliseconds of processor time for one conversion.
const TIME_MS: f64 = 1_000.0;
/// The most MiB that a process may have had at once.
const SIZE_MIB: f64 = 100.0;
/// The seconds of processor time after which a conversion is stopped.
const STOPPED_AFTER_S: u32 = 60;

fn main() -> io::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| args.get(at).map_or("", String::as_str);
    let lines = |at: usize| word(at).parse().unwrap_or(LINES);
    if word(0) == "--one" {
        let shape = shapes().into_iter().find(|shape| shape.title() == word(1));
        return shape.map_or(Ok(ExitCode::FAILURE), |shape| measure(&shape, lines(2)));
    }
    let mut over = 0;
    println!("file                        KiB      ms     MiB  result");
    for shape in shapes().iter().filter(|shape| shape.title().contains(word(1))) {
        over += u32::from(!measure_apart(shape, lines(0))?);
    }
    println!("{over} over {TIME_MS} ms or {SIZE_MIB} MiB");
    Ok(if over == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn shapes() -> Vec<FileShape> {
    let mut all = haproxy::SHAPES.to_vec();
    all.extend(nginx::SHAPES);
    all.extend(keepalived::SHAPES);
    all.extend(dispatcher::SHAPES);
    all.extend(envoy::SHAPES);
    all.extend(traefik::SHAPES);
    all.extend(caddy::SHAPES);
    all.extend(apache::SHAPES);
    all
}

/// Measures a shape in another process. Whether it keeps to the limits.
fn measure_apart(shape: &FileShape, lines: usize) -> io::Result<bool> {
    // The kernel ends what takes too long.
    let limited = format!("ulimit -t {STOPPED_AFTER_S} && exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh"]).arg(std::env::current_exe()?);
    command.args(["--one", &shape.title(), &lines.to_string()]);
    let status = command.status()?;
    if status.code().is_none() {
        println!("{:<22} stopped after {STOPPED_AFTER_S} s", shape.title());
    }
    Ok(status.success())
}

/// Converts a shape in this process and prints its figures.
fn measure(shape: &FileShape, lines: usize) -> io::Result<ExitCode> {
    let text = (shape.write)(lines);
    let before = processor_time_ms()?;
    let result = convert(&text, "large", shape.dialect);
    let took = processor_time_ms()? - before;
    let size = largest_size_mib()?;
    let refused = result.notes.iter().find(|note| note.line == 0).map(|note| &note.reason);
    let ended = match (&result.text, refused) {
        (Some(text), _) => format!(
            "{} KiB, {} left out, {} unsettled",
            text.len() >> 10,
            result.left_out,
            result.unsettled
        ),
        (None, Some(reason)) => format!("refused: {reason}"),
        (None, None) => format!(
            "nothing written, {} left out: {:?}",
            result.left_out,
            result.notes.first().map(|note| &note.reason)
        ),
    };
    println!("{:<22} {:>8} {took:>7.0} {size:>7.1}  {ended}", shape.title(), text.len() >> 10);
    let within = took <= TIME_MS && size <= SIZE_MIB;
    Ok(if within { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The processor time of this thread so far.
fn processor_time_ms() -> io::Result<f64> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    Ok(nanoseconds.unwrap_or(f64::NAN) / 1e6)
}

/// The most memory that this process has had at once.
fn largest_size_mib() -> io::Result<f64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kib.unwrap_or(f64::NAN) / 1_024.0)
}
