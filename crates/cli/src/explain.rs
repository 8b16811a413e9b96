//! `steelyard explain`: why the system behaves as it does. One file for each subject.

mod name;
mod request;
mod server;
mod slow;
mod trace;
mod users;

use std::process::ExitCode;

/// Explain why: a server, a request, slow requests, SLOs, names, captures.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    #[command(subcommand)]
    what: ExplainCommand,
}

const EXAMPLES: &str = "\
Examples:
  steelyard explain server web            the weights of a pool's servers
  steelyard explain server web/a          state and weight of one server, with the evidence
  steelyard explain server web/a --json
  steelyard explain slow shop             who caused the latency of the slowest exchanges, and what to change
  steelyard explain users shop            SLOs, and what is left of the error budgets
  steelyard explain trace slow.pcap       who caused the latency, from a packet capture
  steelyard explain request --url http://shop.example/cart --header 'cookie: id=7'
                                          which service, rule, pool and servers would get it
  steelyard explain name www.gslb.example.org --from 192.0.2.7
                                          which addresses a client gets, and why";

#[derive(Clone, Debug, clap::Subcommand)]
enum ExplainCommand {
    Server(server::ExplainServerArgs),
    Slow(slow::ExplainSlowArgs),
    Users(users::ExplainUsersArgs),
    Trace(trace::ExplainTraceArgs),
    Request(request::ExplainRequestArgs),
    Name(name::ExplainNameArgs),
}

pub fn run(args: &ExplainArgs) -> ExitCode {
    match &args.what {
        ExplainCommand::Server(args) => server::run(args),
        ExplainCommand::Slow(args) => slow::run(args),
        ExplainCommand::Users(args) => users::run(args),
        ExplainCommand::Trace(args) => trace::run(args),
        ExplainCommand::Request(args) => request::run(args),
        ExplainCommand::Name(args) => name::run(args),
    }
}
