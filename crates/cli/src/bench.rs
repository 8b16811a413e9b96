//! `steelyard bench`: load, and what it met. One file for each benchmark; the lab measures, this prints.

mod agent;
mod common;
mod connect;
mod http;
mod keep;
mod progress;
mod render;
mod serve;
mod stream;

use std::process::ExitCode;

pub use self::keep::{provenance, put, writable};
pub use self::progress::stop_on_interrupt;

/// Measure: make load and say what came of it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

const EXAMPLES: &str = "\
Examples:
  steelyard bench http http://127.0.0.1:8080/ -c 50 -d 10s      as fast as 50 connections go
  steelyard bench http http://127.0.0.1:8080/ --rate 5000       5,000 requests a second, whatever happens
  steelyard bench http http://shop.example/ --rate 1000 --repeat 10 -o base.json
  steelyard bench serve 0.0.0.0:7007                            the other end of `connect`
  steelyard bench stream 192.0.2.7:7008 --carrier tcp,udp       throughput; there: bench serve --stream
  steelyard bench connect 192.0.2.7:7007 --close client         connections a second
  steelyard bench agent 192.0.2.7:7009 --token-file token       makes load for who leads it with --agents
  steelyard compare base.json changed.json";

#[derive(Clone, Debug, clap::Subcommand)]
enum What {
    Http(Box<http::Args>),
    Connect(Box<connect::Args>),
    Stream(Box<stream::Args>),
    Serve(serve::Args),
    Agent(agent::Args),
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    match &args.what {
        What::Http(args) => http::run(args),
        What::Connect(args) => connect::run(args),
        What::Stream(args) => stream::run(args),
        What::Serve(args) => serve::run(args),
        What::Agent(args) => agent::run(args),
    }
}
