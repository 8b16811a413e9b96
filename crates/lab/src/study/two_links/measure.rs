//! Measures: hosts with lines between them, bundles of this program over them, and one stream at a time.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cell::{Cell, Layout, Policy};
use crate::line::{Lines, Shape};
use crate::net::{BpfFs, Namespace};
use crate::stream::ask::{Ask, Carrier, VERSION, Way};
use crate::stream::client;
use crate::stream::serve::{Counts, serve};
use crate::study::balancer::Balancer;
use crate::study::parameter::Parameters;
use crate::study::stage::{Stage, StudyError};

/// The hosts' addresses on their bundles.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 50, 0, 1), Ipv4Addr::new(10, 50, 0, 2)];
/// Where streams are served.
const PORT: u16 = 7_008;

/// Everything; false: stopped before its end.
pub fn all(
    stage: &Stage<'_>,
    parameters: &Parameters,
    cells: &mut Vec<Cell>,
) -> Result<bool, StudyError> {
    for layout in Layout::ALL {
        if !over(stage, parameters, layout, cells)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A layout with every policy that it can have; false: it was stopped before its end.
fn over(
    stage: &Stage<'_>,
    parameters: &Parameters,
    layout: Layout,
    cells: &mut Vec<Cell>,
) -> Result<bool, StudyError> {
    let shapes: Vec<[Shape; 2]> = layout
        .lengths(parameters)
        .into_iter()
        .map(|delay| {
            let bits_per_second = parameters.rate("rate");
            // A queue of 20 ms.
            let shape = Shape {
                delay,
                bits_per_second,
                queue_bytes: bits_per_second / 8 / 50,
                ..Shape::default()
            };
            [shape.clone(), shape]
        })
        .collect();
    let lines = Lines::open(&shapes)?;
    for host in [&lines.client, &lines.server] {
        host.set(&[
            ("net/ipv4/conf/all/rp_filter", "0"),
            ("net/ipv4/conf/default/rp_filter", "0"),
        ])?;
        for number in 1..=shapes.len() {
            host.set(&[(&format!("net/ipv4/conf/eth{number}/rp_filter"), "0")])?;
        }
    }
    if shapes.len() == 1 {
        let [_, far] = Lines::addresses(1);
        return streams(stage, parameters, &lines, far.into(), (layout, Policy::Alone), cells);
    }
    let count = shapes.len() as u8;
    let pins = [BpfFs::mount()?, BpfFs::mount()?];
    let mut ends: Vec<Balancer> = Vec::new();
    for policy in layout.policies() {
        if stage.stops() {
            return Ok(false);
        }
        for (number, host) in [&lines.client, &lines.server].into_iter().enumerate() {
            let body = configuration(number, count, *policy, &pins[number]);
            match ends.get_mut(number) {
                Some(end) => end.apply(&body)?,
                None => ends.push(Balancer::start(host, stage.program, &body, &[])?),
            }
        }
        let whole = streams(stage, parameters, &lines, ENDS[1].into(), (layout, *policy), cells)?;
        ends.iter_mut().try_for_each(Balancer::still_runs)?;
        if !whole {
            return Ok(false);
        }
    }
    Ok(true)
}

fn configuration(end: usize, links: u8, policy: Policy, pins: &BpfFs) -> String {
    let (own, peer) = (ENDS[end], ENDS[1 - end]);
    let links = (1..=links).map(|number| {
        let via = Lines::addresses(number)[1 - end];
        format!("{{ interface = \"eth{number}\", via = \"{via}\" }}")
    });
    format!(
        "workers = 1\n[packets]\npins = \"{}/plane\"\n[link.up]\nlinks = [{}]\naddresses = \"{own}\"\nroutes = \"{peer}/32\"\n{}\n",
        pins.path().display(),
        links.collect::<Vec<_>>().join(", "),
        policy.lines(),
    )
}

/// Every carrier, buffer and message over what stands; false: stopped before its end.
fn streams(
    stage: &Stage<'_>,
    parameters: &Parameters,
    lines: &Lines,
    to: IpAddr,
    (layout, policy): (Layout, Policy),
    cells: &mut Vec<Cell>,
) -> Result<bool, StudyError> {
    let bound = lines.server.within(|| TcpListener::bind((to, PORT)))?;
    let (listener, stop, counts) = (bound?, AtomicBool::new(false), Arc::new(Counts::default()));
    std::thread::scope(|scope| {
        // Sockets of runs are opened by the serving thread: it must be on that host.
        let served = scope.spawn(|| lines.server.within(|| serve(&listener, &stop, &counts)));
        let done = every(
            stage,
            parameters,
            &lines.client,
            SocketAddr::new(to, PORT),
            (layout, policy),
            cells,
        );
        stop.store(true, Ordering::Relaxed);
        // What broke there broke here as well.
        let _ = served.join();
        done
    })
}

fn every(
    stage: &Stage<'_>,
    parameters: &Parameters,
    client: &Namespace,
    to: SocketAddr,
    (layout, policy): (Layout, Policy),
    cells: &mut Vec<Cell>,
) -> Result<bool, StudyError> {
    let mut buffers = parameters.buffers("buffers");
    if parameters.is_quick() && policy != Policy::Alone {
        // There is no time for all of them.
        buffers = buffers.split_off(buffers.len() - 1);
    }
    let millis = u32::try_from(parameters.time("span").as_millis()).unwrap_or(u32::MAX);
    let last = buffers.last().copied().flatten();
    let tcp = buffers.iter().map(|buffer| (Carrier::Tcp, *buffer));
    for (carrier, buffer) in tcp.chain([(Carrier::Udp, last)]) {
        for message in parameters.numbers("messages") {
            if stage.stops() {
                return Ok(false);
            }
            let asked = buffer.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
            let rate = (carrier == Carrier::Udp).then(|| policy.carries(layout, parameters));
            let (version, way, buffer) = (VERSION, Way::To, asked);
            let ask = Ask { version, carrier, way, message, buffer, millis, rate };
            let run = client.within(|| client::run(to, &ask))??;
            let cell = Cell::new(layout, policy, &ask, &run);
            (stage.told)(&format!("{}: {:.1} Mbit/s", cell.name(), cell.mbit));
            cells.push(cell);
        }
    }
    Ok(true)
}
