//! Emulated links between hosts: both ends in a namespace between them, and their forwarder. Other modules add
//! addresses.

use std::io;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use thiserror::Error;

use super::forwarder::{self, ForwardedLink};
use super::queue::{LinkCounts, LinkShape};
use super::segmentation;
use super::sys;
use super::tap::LinkTap;
use crate::net::{NamespaceError, NetworkNamespace, ToolError, VethEnd, find, run_command};

/// Scheduling priority of the forwarding thread, above ordinary work. Without the privilege the thread keeps its
/// priority.
const NICE: i32 = -15;

/// Why an emulated link could not be created.
#[derive(Debug, Error)]
pub enum EmulatedLinkError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("the links of a line could not be laid")]
    Tool(#[from] ToolError),
    #[error("the line's sockets could not be opened; that needs root")]
    Socket(#[from] io::Error),
}

/// The settings of an emulated link.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The shapes for packets of the first and of the second host.
    pub shapes: [LinkShape; 2],
    /// The largest packet, bytes.
    pub mtu: u32,
    /// The capture at the first host's end.
    pub tap: Option<LinkTap>,
}

impl LinkSettings {
    /// The standard Ethernet MTU, and no capture.
    pub fn new(shapes: [LinkShape; 2]) -> LinkSettings {
        LinkSettings { shapes, mtu: 1_500, tap: None }
    }
}

/// The forwarder of emulated links that were opened together; dropping it stops the forwarder.
#[derive(Debug)]
pub struct ForwarderHandle {
    stop: Option<OwnedFd>,
    forwarder: Option<JoinHandle<io::Result<Vec<[LinkCounts; 2]>>>>,
}

impl ForwarderHandle {
    /// Creates one link between two hosts. `hosts` have the interface names in the hosts; `ends` are the names in the
    /// namespace between.
    pub fn connect(
        hosts: [VethEnd<'_>; 2],
        between: &NetworkNamespace,
        ends: [&str; 2],
        course: LinkSettings,
    ) -> Result<ForwarderHandle, EmulatedLinkError> {
        ForwarderHandle::start(vec![open_link(hosts, between, ends, course)?])
    }

    pub(super) fn start(ways: Vec<ForwardedLink>) -> Result<ForwarderHandle, EmulatedLinkError> {
        // A program that is started meanwhile must not keep the other end open.
        let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let (ear, stop) = pipe.map_err(io::Error::from)?;
        let forwarder = std::thread::Builder::new().name("line".to_owned()).spawn(move || {
            // Ignored without the privilege: the emulation is then less precise. On Linux the call affects only this
            // thread.
            let _ = rustix::process::setpriority_process(None, NICE);
            forwarder::forward_links(&ways, &ear)
        })?;
        Ok(ForwarderHandle { stop: Some(stop), forwarder: Some(forwarder) })
    }

    /// Stops the forwarder; returns the counts for packets of the first and of the second host, link by link. `None`:
    /// it was already stopped.
    pub fn stop_forwarding(&mut self) -> Option<io::Result<Vec<[LinkCounts; 2]>>> {
        // Closing the pipe makes the other end readable, which stops the forwarder.
        self.stop = None;
        let done = self.forwarder.take()?.join();
        Some(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

/// Lets a host send segment trains of this size, and the far end pass them on.
fn set_gso_size(bytes: u64, links: [VethEnd<'_>; 2]) -> Result<(), EmulatedLinkError> {
    for VethEnd { namespace, link } in links {
        let mut ethtool = namespace.command(find("ethtool"));
        run_command(ethtool.args(["-K", link, "tx", "on", "tso", "on", "gso", "on"]))?;
        namespace.ip(&format!("link set dev {link} gso_max_size {bytes}\n"))?;
    }
    Ok(())
}

/// Creates the interfaces of a link. Offloads are off, so that forwarded frames equal those on a wire: not merged, and
/// with complete checksums. A link that suits segment trains allows them.
pub(super) fn open_link(
    hosts: [VethEnd<'_>; 2],
    between: &NetworkNamespace,
    ends: [&str; 2],
    course: LinkSettings,
) -> Result<ForwardedLink, EmulatedLinkError> {
    let LinkSettings { shapes, mtu, tap } = course;
    for (host, end) in hosts.into_iter().zip(ends) {
        let name = between.name();
        let link = host.link;
        host.namespace.ip(&format!(
            "link add {link} mtu {mtu} type veth peer name {end} mtu {mtu} netns {name}\n"
        ))?;
        for VethEnd { namespace, link } in [host, VethEnd { namespace: between, link: end }] {
            let mut ethtool = namespace.command(find("ethtool"));
            run_command(
                ethtool.args(["-K", link, "tx", "off", "tso", "off", "gso", "off", "gro", "off"]),
            )?;
            namespace.ip(&format!("link set dev {link} up\n"))?;
        }
    }
    let tapped = tap.is_some();
    for (side, shape) in shapes.iter().enumerate() {
        if let Some(bytes) = segmentation::max_segment_train(shape, tapped) {
            let far = VethEnd { namespace: between, link: ends[1 - side] };
            set_gso_size(bytes, [hosts[side], far])?;
        }
    }
    let [left, right] = ends;
    let links = between.run_inside(|| {
        io::Result::Ok([sys::open_packet_socket(left)?, sys::open_packet_socket(right)?])
    })??;
    Ok(ForwardedLink { links, shapes, tap })
}

impl Drop for ForwarderHandle {
    fn drop(&mut self) {
        // A caller that wants the counts and errors stops the forwarding itself; here the link only ends.
        let _ = self.stop_forwarding();
    }
}
