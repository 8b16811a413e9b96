//! Rules of packet services that hold on some days of the week, in local time.

use std::process::Command;

use lab::net::SiteLayout;
use tests::e2e::cli_environment::run_command;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::tools::program;
use tests::e2e::wait;

const EACH: usize = 6;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The day of the week, from Monday on, as the system's `date` has it.
fn today() -> usize {
    let mut date = Command::new(program("date"));
    date.arg("+%u");
    run_command(date).stdout.trim().parse::<usize>().unwrap() - 1
}

/// A rule for these days that sends connections to the second server.
fn rule(days: &[usize]) -> String {
    let names: Vec<String> = days.iter().map(|day| format!("\"{}\"", DAYS[day % 7])).collect();
    format!("rule = [{{ when = {{ days = [{}] }}, pool = \"other\" }}]\n", names.join(", "))
}

// Rules of IPv6 clients take the same way.
// Rows: I22
#[test]
fn a_rule_of_a_day_sends_connections_elsewhere_on_that_day() {
    if !ready() {
        return;
    }
    let other = "[pool.other]\nservers = [{ name = \"server1\", address = \"10.10.0.12:80\" }]\n";
    let words = PacketConfig::new("mac", &[0]).with_tables(other);
    let layout = SiteLayout { local_servers: 2, ..SiteLayout::default() };
    let mut plane = PacketBalancer::open_without_daemon(&layout, words);
    plane.serve();
    plane.start();
    plane.wait_until_all_up();
    // The day after too, for tests that run at midnight.
    let now = today();
    let others: Vec<usize> = (now + 2..now + 7).collect();
    for (days, server) in [(vec![now, now + 1], "server1"), (others, "server0")] {
        plane.change(|words| words.service = rule(&days));
        wait::until(&format!("{server} gets all connections"), || {
            let answers = plane.curl_any(IpVersion::V4, EACH);
            answers.len() == 1 && answers.get(server) == Some(&EACH)
        });
    }
}
