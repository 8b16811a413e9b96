//! Measures both setups in turns: clients and a web server on two hosts with several cables, and a name with all
//! addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Instant;

use links::steering::cpu_mask::CpuMask;

use super::analysis::{NicRun, NicRuns};
use super::dns_lookup;
use crate::load::{HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun};
use crate::machine::procfs::read_processor_counters;
use crate::net::{ChecksumMode, HOST, NetworkNamespace, VethEnd, create_veth, find, run_command};
use crate::origin::{OriginKind, OriginOptions, TestOrigin};
use crate::study::balancer::StudyBalancer;
use crate::study::context::{StudyContext, StudyError};
use crate::study::parameter::Parameters;

/// The port of the web server.
const PORT: u16 = 80;
/// The name that resolves to all addresses of the server.
const NAME: &str = "web.farm.example";
/// Bytes of the response, the length of a greeting.
const BODY: u64 = 13;
const MOST: u32 = 16;

/// Addresses of the client and of the server on a cable.
fn addresses(number: u32) -> [Ipv4Addr; 2] {
    [1, 2].map(|end| Ipv4Addr::new(10, 60, number as u8, end))
}

/// Measures all runs. Returns false when the study was stopped early.
pub fn measure_all(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    sides: &mut NicRuns,
) -> Result<bool, StudyError> {
    let count = parameters.number("interfaces");
    if count > MOST {
        return Err(StudyError::Nothing(format!(
            "interfaces: found {count}, expected at most {MOST}"
        )));
    }
    let client = NetworkNamespace::new("client")?;
    let server = NetworkNamespace::new("server")?;
    client.write_sysctls(&HOST)?;
    server.write_sysctls(&HOST)?;
    for number in 0..count {
        let link = format!("eth{number}");
        let end = |namespace| VethEnd { namespace, link: &link };
        create_veth(end(&client), end(&server), 1_500, ChecksumMode::Offloaded)?;
        let [near, far] = addresses(number);
        client.ip(&format!("addr add {near}/24 dev {link}\n"))?;
        server.ip(&format!("addr add {far}/24 dev {link}\n"))?;
    }
    let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    let options =
        OriginOptions { listen, ..OriginOptions::new("web", OriginKind::Http { body: BODY }) };
    let _web = server.run_inside(|| TestOrigin::start(options))??;
    let body = configuration(count);
    let _names = StudyBalancer::start(&server, stage.program, &body, &[])?;
    for repeat in 1..=parameters.number("repeats") {
        if stage.is_stopped() {
            return Ok(false);
        }
        // Both hosts share this machine: clients' packets on other processors would blur the server's figures.
        for host in [&client, &server] {
            set_rps_masks(host, count, |_| first_processors(parameters.number("processors")))?;
        }
        let before =
            run_load(parameters, &client, count, &resolve_interfaces(parameters, &client)?)?;
        let slower = before.rate;
        sides.before.push(before);
        let processors = processors();
        for host in [&client, &server] {
            set_rps_masks(host, count, |number| processor_mask(number % processors))?;
        }
        let clients = parameters.number("clients");
        let each: Vec<u32> = (0..clients).map(|number| number % count).collect();
        let after = run_load(parameters, &client, count, &each)?;
        (stage.log)(&format!("{repeat}: {slower:.0} and {:.0} requests a second", after.rate));
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

fn first_processors(count: u32) -> CpuMask {
    (0..count.min(processors())).collect()
}

fn processor_mask(processor: u32) -> CpuMask {
    [processor].into_iter().collect()
}

/// Sets which processors handle the packets of each interface of a host (RPS).
fn set_rps_masks(
    host: &NetworkNamespace,
    count: u32,
    mask: impl Fn(u32) -> CpuMask,
) -> Result<(), StudyError> {
    let lines: Vec<String> = (0..count)
        .map(|number| {
            format!("echo {} > /sys/class/net/eth{number}/queues/rx-0/rps_cpus", mask(number).hex())
        })
        .collect();
    // `ip netns exec` mounts the /sys of the namespace, which shows its interfaces.
    let mut command = Command::new(find("ip"));
    command.args(["netns", "exec", host.name(), "sh", "-ec", &lines.join("; ")]);
    run_command(&mut command)?;
    Ok(())
}

/// The interface of the address that each client resolves.
fn resolve_interfaces(
    parameters: &Parameters,
    client: &NetworkNamespace,
) -> Result<Vec<u32>, StudyError> {
    let server = SocketAddr::from((addresses(0)[1], 53));
    let resolved = client.run_inside(|| -> std::io::Result<Vec<Ipv4Addr>> {
        (0..parameters.number("clients")).map(|_| dns_lookup::resolve_first(server, NAME)).collect()
    })??;
    let count = parameters.number("interfaces");
    let number = |address: &Ipv4Addr| (0..count).find(|number| addresses(*number)[1] == *address);
    Ok(resolved.iter().filter_map(number).collect())
}

/// Makes a run: each client sends its requests to its interface's address.
fn run_load(
    parameters: &Parameters,
    client: &NetworkNamespace,
    count: u32,
    clients: &[u32],
) -> Result<NicRun, StudyError> {
    let connections = parameters.number("connections") as usize;
    let span = parameters.time("span");
    let before = read_processor_counters();
    let begun = Instant::now();
    let mut loads = Vec::new();
    for number in clients {
        let [near, far] = addresses(*number);
        let at = SocketAddr::from((far, PORT));
        let plan = LoadPlan {
            pace: LoadModel::Closed { connections, think: std::time::Duration::ZERO },
            time: Some(span),
            sources: vec![IpAddr::from(near)],
            ..LoadPlan::new(at, LoadProtocol::Http(HttpPlan::get(NAME, "/")), connections)
        };
        loads.push((*number, client.run_inside(|| LoadRun::start(plan))??));
    }
    let mut each: BTreeMap<u32, u64> = (0..count).map(|number| (number, 0)).collect();
    let mut answered = 0;
    let mut failed = 0;
    for (number, load) in loads {
        let report = load.wait();
        answered += report.answered;
        failed += report.failed;
        *each.entry(number).or_default() += report.answered;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let shares = read_processor_counters().since(&before, seconds);
    Ok(NicRun {
        rate: answered as f64 / seconds,
        interfaces: each
            .into_values()
            .map(|requests| requests as f64 / answered.max(1) as f64)
            .collect(),
        processors: shares,
        failed,
    })
}
