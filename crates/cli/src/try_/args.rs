//! The options of `steelyard try`.
//!
//! They are used in `try_/driver.rs`.

/// Run a demonstration: real requests are balanced while servers are killed. It leaves nothing
/// behind.
///
/// It needs neither root nor files, except with --packets.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Six servers, a balancer and their clients run inside this one process, on loopback ports that the kernel chooses.

Examples:
  steelyard try                    a live table; k kills a server, r revives it, q quits
  steelyard try | cat              one line each second; a server is killed and revived on schedule
  steelyard try --once             eight seconds with a summary; exit code 1 if a request failed
  steelyard try --packets --once   in namespaces: the cost of each forwarding method, with and without a balancer
  steelyard try --once --json | jq '.\"failed-requests\"'")]
pub struct TryArgs {
    /// A short demonstration: kill a server, revive it, drain another, then print a summary.
    #[arg(long)]
    pub once: bool,
    /// As root: one service forwarded as mac, nat, tunnel and http in turn, with the cost of each.
    #[arg(long, conflicts_with = "rate")]
    pub packets: bool,
    /// HTTP requests a second; a fifth as many messages go through the tcp service.
    #[arg(long, value_name = "PER-SECOND", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(5..=100_000))]
    pub rate: u32,
    /// With --once: print the summary as JSON.
    #[arg(long, requires = "once")]
    pub json: bool,
}
