//! Measures: two hosts with several cables, a web server on one, clients on the other, a name that stands for all addresses;
//! before and after, in turns.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Instant;

use links::steer::mask::Mask;

use super::judge::{Side, Sides};
use super::resolve;
use crate::load::{HttpPlan, Load, Pace, Plan, Protocol};
use crate::machine::read::counters;
use crate::net::{Checksums, End, HOST, Namespace, find, lay, said};
use crate::origin::{Kind, Options, Origin};
use crate::study::balancer::Balancer;
use crate::study::parameter::Parameters;
use crate::study::stage::{Stage, StudyError};

/// The port of the web server.
const PORT: u16 = 80;
/// The name that stands for all its addresses.
const NAME: &str = "web.farm.example";
/// Bytes of its answer: a greeting.
const BODY: u64 = 13;
/// Interfaces at most.
const MOST: u32 = 16;

/// Addresses of the client and of the server on a cable.
fn addresses(number: u32) -> [Ipv4Addr; 2] {
    [1, 2].map(|end| Ipv4Addr::new(10, 60, number as u8, end))
}

/// Everything; false: stopped before its end.
pub fn all(
    stage: &Stage<'_>,
    parameters: &Parameters,
    sides: &mut Sides,
) -> Result<bool, StudyError> {
    let count = parameters.number("interfaces");
    if count > MOST {
        return Err(StudyError::Nothing(format!(
            "interfaces: found {count}, expected at most {MOST}"
        )));
    }
    let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
    client.set(&HOST)?;
    server.set(&HOST)?;
    for number in 0..count {
        let link = format!("eth{number}");
        let end = |namespace| End { namespace, link: &link };
        lay(end(&client), end(&server), 1_500, Checksums::Offloaded)?;
        let [near, far] = addresses(number);
        client.ip(&format!("addr add {near}/24 dev {link}\n"))?;
        server.ip(&format!("addr add {far}/24 dev {link}\n"))?;
    }
    let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    let options = Options { listen, ..Options::new("web", Kind::Http { body: BODY }) };
    let _web = server.within(|| Origin::start(options))??;
    let body = configuration(count);
    let _names = Balancer::start(&server, stage.program, &body, &[])?;
    for repeat in 1..=parameters.number("repeats") {
        if stage.stops() {
            return Ok(false);
        }
        // Both hosts share this machine: the clients' packets would blur what the server's show.
        for host in [&client, &server] {
            steer(host, count, |_| first(parameters.number("processors")))?;
        }
        let before = run(parameters, &client, count, &asked(parameters, &client)?)?;
        let slower = before.rate;
        sides.before.push(before);
        let processors = processors();
        for host in [&client, &server] {
            steer(host, count, |number| alone(number % processors))?;
        }
        let clients = parameters.number("clients");
        let each: Vec<u32> = (0..clients).map(|number| number % count).collect();
        let after = run(parameters, &client, count, &each)?;
        (stage.told)(&format!("{repeat}: {slower:.0} and {:.0} requests a second", after.rate));
        sides.after.push(after);
    }
    Ok(true)
}

fn configuration(count: u32) -> String {
    let [_, first] = addresses(0);
    let all: Vec<String> =
        (0..count).map(|number| format!("\"{}\"", addresses(number)[1])).collect();
    format!(
        "workers = 1\n[names]\nlisten = \"{first}:53\"\n\
         [zone.\"farm.example\"]\nnameservers = [\"ns1.farm.example\"]\ncontact = \"hostmaster@farm.example\"\n\
         [name.\"ns1.farm.example\"]\naddresses = \"{first}\"\n\
         [name.\"{NAME}\"]\naddresses = [{}]\n",
        all.join(", ")
    )
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

fn first(count: u32) -> Mask {
    (0..count.min(processors())).collect()
}

fn alone(processor: u32) -> Mask {
    [processor].into_iter().collect()
}

/// Which processors take the packets of each interface of a host (RPS).
fn steer(host: &Namespace, count: u32, mask: impl Fn(u32) -> Mask) -> Result<(), StudyError> {
    let lines: Vec<String> = (0..count)
        .map(|number| {
            format!("echo {} > /sys/class/net/eth{number}/queues/rx-0/rps_cpus", mask(number).hex())
        })
        .collect();
    // Only this way /sys shows the interfaces of the namespace.
    let mut command = Command::new(find("ip"));
    command.args(["netns", "exec", host.name(), "sh", "-ec", &lines.join("; ")]);
    said(&mut command)?;
    Ok(())
}

/// Which interface each client was told of by the name.
fn asked(parameters: &Parameters, client: &Namespace) -> Result<Vec<u32>, StudyError> {
    let server = SocketAddr::from((addresses(0)[1], 53));
    let told = client.within(|| -> std::io::Result<Vec<Ipv4Addr>> {
        (0..parameters.number("clients")).map(|_| resolve::first(server, NAME)).collect()
    })??;
    let count = parameters.number("interfaces");
    let number = |address: &Ipv4Addr| (0..count).find(|number| addresses(*number)[1] == *address);
    Ok(told.iter().filter_map(number).collect())
}

/// A run: each client asks at the interface it has.
fn run(
    parameters: &Parameters,
    client: &Namespace,
    count: u32,
    clients: &[u32],
) -> Result<Side, StudyError> {
    let connections = parameters.number("connections") as usize;
    let span = parameters.time("span");
    let (before, begun) = (counters(), Instant::now());
    let mut loads = Vec::new();
    for number in clients {
        let [near, far] = addresses(*number);
        let at = SocketAddr::from((far, PORT));
        let plan = Plan {
            pace: Pace::Closed { connections, think: std::time::Duration::ZERO },
            time: Some(span),
            sources: vec![IpAddr::from(near)],
            ..Plan::new(at, Protocol::Http(HttpPlan::get(NAME, "/")), connections)
        };
        loads.push((*number, client.within(|| Load::start(plan))??));
    }
    let mut each: BTreeMap<u32, u64> = (0..count).map(|number| (number, 0)).collect();
    let (mut answered, mut failed) = (0, 0);
    for (number, load) in loads {
        let report = load.wait();
        answered += report.answered;
        failed += report.failed;
        *each.entry(number).or_default() += report.answered;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let shares = counters().since(&before, seconds);
    Ok(Side {
        rate: answered as f64 / seconds,
        interfaces: each
            .into_values()
            .map(|requests| requests as f64 / answered.max(1) as f64)
            .collect(),
        processors: shares,
        failed,
    })
}
