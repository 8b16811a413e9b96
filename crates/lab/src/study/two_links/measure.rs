//! Measures one stream at a time between hosts that this program connects with bundles of emulated links.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::stream_cell::{LinkLayout, SpreadPolicy, StreamCell};
use crate::link_emulation::{LinkShape, ParallelLinks};
use crate::net::{BpfFs, NetworkNamespace, SysctlSetting};
use crate::stream::client;
use crate::stream::request::{StreamDirection, StreamRequest, StreamTransport, VERSION};
use crate::stream::server::{StreamServerCounts, serve_streams};
use crate::study::balancer::StudyBalancer;
use crate::study::context::{StudyContext, StudyError};
use crate::study::parameter::Parameters;

/// The hosts' addresses on their bundles.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 50, 0, 1), Ipv4Addr::new(10, 50, 0, 2)];
/// The port of the stream server.
const PORT: u16 = 7_008;

/// Measures all layouts. Returns false when the study was stopped early.
pub fn measure_all(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    cells: &mut Vec<StreamCell>,
) -> Result<bool, StudyError> {
    for layout in LinkLayout::ALL {
        if !measure_layout(stage, parameters, layout, cells)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Measures a layout with each of its policies. Returns false when the study was stopped early.
fn measure_layout(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    layout: LinkLayout,
    cells: &mut Vec<StreamCell>,
) -> Result<bool, StudyError> {
    let shapes: Vec<[LinkShape; 2]> = layout
        .link_delays(parameters)
        .into_iter()
        .map(|delay| {
            let bits_per_second = parameters.rate("rate");
            // A queue of 20 ms.
            let shape = LinkShape {
                delay,
                bits_per_second,
                queue_bytes: bits_per_second / 8 / 50,
                ..LinkShape::default()
            };
            [shape.clone(), shape]
        })
        .collect();
    let lines = ParallelLinks::open(&shapes)?;
    for host in [&lines.client, &lines.server] {
        host.write_sysctls(&[
            SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
            SysctlSetting { path: "net/ipv4/conf/default/rp_filter", value: "0" },
        ])?;
        for number in 1..=shapes.len() {
            host.write_sysctls(&[SysctlSetting {
                path: &format!("net/ipv4/conf/eth{number}/rp_filter"),
                value: "0",
            }])?;
        }
    }
    if shapes.len() == 1 {
        let [_, far] = ParallelLinks::addresses(1);
        return measure_streams(
            stage,
            parameters,
            &lines,
            far.into(),
            layout,
            SpreadPolicy::SingleLink,
            cells,
        );
    }
    let count = shapes.len() as u8;
    let pins = [BpfFs::mount()?, BpfFs::mount()?];
    let mut ends: Vec<StudyBalancer> = Vec::new();
    for policy in layout.policies() {
        if stage.is_stopped() {
            return Ok(false);
        }
        for (number, host) in [&lines.client, &lines.server].into_iter().enumerate() {
            let body = configuration(number, count, *policy, &pins[number]);
            match ends.get_mut(number) {
                Some(end) => end.apply(&body)?,
                None => ends.push(StudyBalancer::start(host, stage.program, &body, &[])?),
            }
        }
        let whole =
            measure_streams(stage, parameters, &lines, ENDS[1].into(), layout, *policy, cells)?;
        ends.iter_mut().try_for_each(StudyBalancer::check_running)?;
        if !whole {
            return Ok(false);
        }
    }
    Ok(true)
}

fn configuration(end: usize, links: u8, policy: SpreadPolicy, pins: &BpfFs) -> String {
    let own = ENDS[end];
    let peer = ENDS[1 - end];
    let links = (1..=links).map(|number| {
        let via = ParallelLinks::addresses(number)[1 - end];
        format!("{{ interface = \"eth{number}\", via = \"{via}\" }}")
    });
    format!(
        "workers = 1\n[packets]\npins = \"{}/plane\"\n[link.up]\nlinks = [{}]\naddresses = \"{own}\"\nroutes = \"{peer}/32\"\n{}\n",
        pins.path().display(),
        links.collect::<Vec<_>>().join(", "),
        policy.lines(),
    )
}

/// Measures every transport, buffer and message over the running bundles. Returns false when the study was stopped
/// early.
fn measure_streams(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    lines: &ParallelLinks,
    to: IpAddr,
    layout: LinkLayout,
    policy: SpreadPolicy,
    cells: &mut Vec<StreamCell>,
) -> Result<bool, StudyError> {
    let bound = lines.server.run_inside(|| TcpListener::bind((to, PORT)))?;
    let listener = bound?;
    let stop = AtomicBool::new(false);
    let counts = Arc::new(StreamServerCounts::default());
    std::thread::scope(|scope| {
        // The serving thread opens the sockets of runs, so it must run in the server's namespace.
        let served =
            scope.spawn(|| lines.server.run_inside(|| serve_streams(&listener, &stop, &counts)));
        let done = measure_cells(
            stage,
            parameters,
            &lines.client,
            SocketAddr::new(to, PORT),
            layout,
            policy,
            cells,
        );
        stop.store(true, Ordering::Relaxed);
        // An error of the server makes the client fail too, and that error is returned.
        let _ = served.join();
        done
    })
}

fn measure_cells(
    stage: &StudyContext<'_>,
    parameters: &Parameters,
    client: &NetworkNamespace,
    to: SocketAddr,
    layout: LinkLayout,
    policy: SpreadPolicy,
    cells: &mut Vec<StreamCell>,
) -> Result<bool, StudyError> {
    let mut buffers = parameters.buffers("buffers");
    if parameters.is_quick() && policy != SpreadPolicy::SingleLink {
        // A quick run has no time for all buffers.
        buffers = buffers.split_off(buffers.len() - 1);
    }
    let millis = u32::try_from(parameters.time("span").as_millis()).unwrap_or(u32::MAX);
    let last = buffers.last().copied().flatten();
    let tcp = buffers.iter().map(|buffer| (StreamTransport::Tcp, *buffer));
    for (carrier, buffer) in tcp.chain([(StreamTransport::Udp, last)]) {
        for message in parameters.numbers("messages") {
            if stage.is_stopped() {
                return Ok(false);
            }
            let buffer_bytes = buffer.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
            let rate =
                (carrier == StreamTransport::Udp).then(|| policy.usable_rate(layout, parameters));
            let version = VERSION;
            let way = StreamDirection::To;
            let buffer = buffer_bytes;
            let ask = StreamRequest { version, carrier, way, message, buffer, millis, rate };
            let run = client.run_inside(|| client::run_stream(to, &ask))??;
            let cell = StreamCell::new(layout, policy, &ask, &run);
            (stage.log)(&format!("{}: {:.1} Mbit/s", cell.name(), cell.mbit));
            cells.push(cell);
        }
    }
    Ok(true)
}
