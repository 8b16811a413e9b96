//! `steelyard bench serve`: the other end of `bench connect`, until it is told to stop.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lab::origin::{Kind, Options, Origin};

use super::progress::stop_on_interrupt;
use crate::end::{End, Failure, finish, sentence};
use crate::show::screen;

/// Echo every byte that comes over TCP, for `steelyard bench connect`; Ctrl-C ends it.
///
/// Whoever reaches the address may use it: listen where only clients of the measurement are. It answers only to who sends,
/// and no more than was sent.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard bench serve                  on loopback, port 7007
  steelyard bench serve 192.0.2.7:7007

Exit codes: 0 stopped, 2 the address cannot be listened on.")]
pub struct Args {
    /// Where to listen; port 0 lets the kernel choose.
    #[arg(value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7007")]
    listen: SocketAddr,
    /// Close connections on which nothing happened for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    idle: u64,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    finish(false, carry_out(args))
}

fn carry_out(args: &Args) -> Result<End, Failure> {
    let stop = stop_on_interrupt()?;
    let mut options = Options::new("bench", Kind::Echo);
    options.listen = args.listen;
    options.idle_close = Some(Duration::from_secs(args.idle));
    let origin = Origin::start(options).map_err(|error| {
        Failure::Unusable(format!("cannot listen on {}: {}", args.listen, sentence(&error)))
    })?;
    screen::print(&format!("echoing on {}\n", origin.address()))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let figures = origin.figures();
    screen::print(&format!(
        "{} connections accepted, {} refused for want of resources\n",
        figures.accepted, figures.accept_failed
    ))?;
    Ok(End::Done)
}
