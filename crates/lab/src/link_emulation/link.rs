//! Lines between hosts: the links of both ends through a namespace between them, and their forwarder. It gives no
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
use crate::net::{NamespaceError, NetworkNamespace, ToolError, find, run_command};

/// Puts the forwarding thread ahead of ordinary work; without the right to do so the thread continues as it is.
const NICE: i32 = -15;

/// Why there is no line.
#[derive(Debug, Error)]
pub enum EmulatedLinkError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("the links of a line could not be laid")]
    Tool(#[from] ToolError),
    #[error("the line's sockets could not be opened; that needs root")]
    Socket(#[from] io::Error),
}

/// What a line does with packets.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// What packets of the first and of the second host meet.
    pub shapes: [LinkShape; 2],
    /// The largest packet, bytes.
    pub mtu: u32,
    /// What listens at the first host's end.
    pub tap: Option<LinkTap>,
}

impl LinkSettings {
    /// Packets of Ethernet's usual size, and nobody listens.
    pub fn new(shapes: [LinkShape; 2]) -> LinkSettings {
        LinkSettings { shapes, mtu: 1_500, tap: None }
    }
}

/// Lines that are laid together; their forwarder ends when this is dropped.
#[derive(Debug)]
pub struct ForwarderHandle {
    stop: Option<OwnedFd>,
    forwarder: Option<JoinHandle<io::Result<Vec<[LinkCounts; 2]>>>>,
}

impl ForwarderHandle {
    /// Lays one line: hosts with the names of their links there, and the names of the ends between.
    pub fn connect(
        hosts: [(&NetworkNamespace, &str); 2],
        between: &NetworkNamespace,
        ends: [&str; 2],
        course: LinkSettings,
    ) -> Result<ForwarderHandle, EmulatedLinkError> {
        ForwarderHandle::start(vec![open_link(hosts, between, ends, course)?])
    }

    pub(super) fn start(ways: Vec<ForwardedLink>) -> Result<ForwarderHandle, EmulatedLinkError> {
        let (ear, stop) = rustix::pipe::pipe().map_err(io::Error::from)?;
        let forwarder = std::thread::Builder::new().name("line".to_owned()).spawn(move || {
            // Ignored without the right: the emulated cable is then only less precise. The call affects this thread
            // alone on Linux.
            let _ = rustix::process::setpriority_process(None, NICE);
            forwarder::forward_links(&ways, &ear)
        })?;
        Ok(ForwarderHandle { stop: Some(stop), forwarder: Some(forwarder) })
    }

    /// Ends it; what was done with packets of the first host and of the second, line by line. `None`: it has ended before.
    pub fn stop_forwarding(&mut self) -> Option<io::Result<Vec<[LinkCounts; 2]>>> {
        // The forwarder sees the pipe's end.
        self.stop = None;
        let done = self.forwarder.take()?.join();
        Some(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

/// Lets a host hand over trains of so many bytes, and the far end pass them on.
fn set_gso_size(
    bytes: u64,
    links: [(&NetworkNamespace, &str); 2],
) -> Result<(), EmulatedLinkError> {
    for (namespace, link) in links {
        let mut ethtool = namespace.command(find("ethtool"));
        run_command(ethtool.args(["-K", link, "tx", "on", "tso", "on", "gso", "on"]))?;
        namespace.ip(&format!("link set dev {link} gso_max_size {bytes}\n"))?;
    }
    Ok(())
}

/// The links of a line, and what it does with packets. What is forwarded is as it is on a wire: no segments put together,
/// every checksum computed; but for trains, where the line is one for them.
pub(super) fn open_link(
    hosts: [(&NetworkNamespace, &str); 2],
    between: &NetworkNamespace,
    ends: [&str; 2],
    course: LinkSettings,
) -> Result<ForwardedLink, EmulatedLinkError> {
    let LinkSettings { shapes, mtu, tap } = course;
    for ((host, link), end) in hosts.into_iter().zip(ends) {
        let name = between.name();
        host.ip(&format!(
            "link add {link} mtu {mtu} type veth peer name {end} mtu {mtu} netns {name}\n"
        ))?;
        for (namespace, link) in [(host, link), (between, end)] {
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
            let (host, link) = hosts[side];
            set_gso_size(bytes, [(host, link), (between, ends[1 - side])])?;
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
