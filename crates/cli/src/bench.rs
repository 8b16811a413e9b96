//! `steelyard bench`: benchmarks, one file each. The lab measures; this prints.

mod agent;
mod common;
mod connect;
mod http;
mod output_files;
mod progress;
mod render;
mod serve;
mod stream;

use std::process::ExitCode;

pub use self::output_files::{check_writable, provenance, write_atomically};

/// Load test: generate load, and report rates and latencies.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: BenchCommand,
}

const EXAMPLES: &str = "\
Examples:
  steelyard bench http http://127.0.0.1:8080/ -c 50 -d 10s      as fast as 50 connections can
  steelyard bench http http://127.0.0.1:8080/ --rate 5000       5,000 requests a second, on schedule
  steelyard bench http http://shop.example/ --rate 1000 --repeat 10 -o base.json
  steelyard bench serve 0.0.0.0:7007                            the other end of `connect`
  steelyard bench stream 192.0.2.7:7008 --transport tcp,udp       throughput; there: bench serve --stream
  steelyard bench connect 192.0.2.7:7007 --close client         connections a second
  steelyard bench agent 192.0.2.7:7009 --token-file token       generates load for a benchmark with --agents
  steelyard compare base.json changed.json";

#[derive(Clone, Debug, clap::Subcommand)]
enum BenchCommand {
    Http(Box<http::BenchHttpArgs>),
    Connect(Box<connect::BenchConnectArgs>),
    Stream(Box<stream::BenchStreamArgs>),
    Serve(serve::BenchServeArgs),
    Agent(agent::BenchAgentArgs),
}

pub fn run(args: &BenchArgs) -> ExitCode {
    match &args.what {
        BenchCommand::Http(args) => http::run(args),
        BenchCommand::Connect(args) => connect::run(args),
        BenchCommand::Stream(args) => stream::run(args),
        BenchCommand::Serve(args) => serve::run(args),
        BenchCommand::Agent(args) => agent::run(args),
    }
}
