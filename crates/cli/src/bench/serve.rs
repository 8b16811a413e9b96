//! `steelyard bench serve`: the other end of `bench connect` and `bench stream`, until a signal stops it.

use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab::origin::{DatagramEcho, OriginKind, OriginOptions, TestOrigin};
use lab::stream::server::{StreamServerCounts, serve_streams};

use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, CommandOutcome, finish, sentence};
use crate::show::screen;

/// Serve as the other end: echo TCP and UDP for `steelyard bench connect`, or with --stream serve
/// `steelyard bench stream`; Ctrl-C ends it.
///
/// Every host that reaches the address may use it: listen where only the benchmark's clients are.
/// It sends only to senders, and no more than it received.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard bench serve                  on loopback, port 7007
  steelyard bench serve 192.0.2.7:7007
  steelyard bench serve 192.0.2.7:7008 --stream

Exit codes: 0 stopped, 2 the address cannot be listened on.")]
pub struct BenchServeArgs {
    /// Where to listen; port 0 lets the kernel choose.
    #[arg(value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7007")]
    listen: SocketAddr,
    /// Idle timeout of connections, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    idle: u64,
    /// Serve `steelyard bench stream`; data uses more ports, which the kernel chooses.
    #[arg(long, conflicts_with = "idle")]
    stream: bool,
}

pub fn run(args: &BenchServeArgs) -> ExitCode {
    finish(false, carry_out(args))
}

fn carry_out(args: &BenchServeArgs) -> Result<CommandOutcome, CommandError> {
    let stop = stop_on_interrupt()?;
    if args.stream {
        return run_stream_server(args.listen, &stop);
    }
    let mut options = OriginOptions::new("bench", OriginKind::Echo);
    options.listen = args.listen;
    options.idle_close = Some(Duration::from_secs(args.idle));
    let origin = TestOrigin::start(options).map_err(|error| {
        CommandError::Unusable(format!("cannot listen on {}: {}", args.listen, sentence(&error)))
    })?;
    let datagrams = DatagramEcho::start(origin.address()).map_err(|error| {
        CommandError::Unusable(format!("cannot take datagrams on {}: {error}", origin.address()))
    })?;
    screen::print(&format!("echoing on {}\n", origin.address()))?;
    while !stop.load(Ordering::Relaxed) {
        // Ctrl-C takes effect within this time.
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let figures = origin.figures();
    let datagrams = datagrams.figures();
    screen::print(&format!(
        "{} connections accepted, {} refused for want of resources\n{} datagrams echoed, {} left without an answer\n",
        figures.accepted, figures.accept_failed, datagrams.echoed, datagrams.unanswered
    ))?;
    Ok(CommandOutcome::Done)
}

fn run_stream_server(
    listen: SocketAddr,
    stop: &AtomicBool,
) -> Result<CommandOutcome, CommandError> {
    let unusable = |error: std::io::Error| {
        CommandError::Unusable(format!("cannot listen on {listen}: {error}"))
    };
    let listener = TcpListener::bind(listen).map_err(unusable)?;
    screen::print(&format!("streams on {}\n", listener.local_addr().map_err(unusable)?))?;
    let counts = Arc::new(StreamServerCounts::default());
    serve_streams(&listener, stop, &counts).map_err(unusable)?;
    let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    screen::print(&format!(
        "{} measurements, {} refused, {} broken off\n",
        read(&counts.served),
        read(&counts.refused),
        read(&counts.broken)
    ))?;
    Ok(CommandOutcome::Done)
}
