//! Lines between hosts: the links of both ends through a namespace between them, and their forwarder. It gives no
//! addresses.

use std::io;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use thiserror::Error;

use super::queue::{Counts, Shape};
use super::shell::{self, Way};
use super::sys;
use super::tap::Tap;
use super::train;
use crate::net::{Namespace, NamespaceError, ToolError, find, said};

/// Nobody else's work is more urgent; without the right to say so the thread goes on as it is.
const NICE: i32 = -15;

/// Why there is no line.
#[derive(Debug, Error)]
pub enum LineError {
    /// A namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A link.
    #[error("the links of a line could not be laid")]
    Tool(#[from] ToolError),
    /// A socket.
    #[error("the line's sockets could not be opened; that needs root")]
    Socket(#[from] io::Error),
}

/// What a line does with packets.
#[derive(Clone, Debug)]
pub struct Course {
    /// What packets of the first and of the second host meet.
    pub shapes: [Shape; 2],
    /// The largest packet, bytes.
    pub mtu: u32,
    /// What listens at the first host's end.
    pub tap: Option<Tap>,
}

impl Course {
    /// Packets of Ethernet's usual size, and nobody listens.
    pub fn new(shapes: [Shape; 2]) -> Course {
        Course { shapes, mtu: 1_500, tap: None }
    }
}

/// Lines that are laid together; their forwarder ends when this is dropped.
#[derive(Debug)]
pub struct Wire {
    stop: Option<OwnedFd>,
    forwarder: Option<JoinHandle<io::Result<Vec<[Counts; 2]>>>>,
}

impl Wire {
    /// Lays one line: hosts with the names of their links there, and the names of the ends between.
    pub fn lay(
        hosts: [(&Namespace, &str); 2],
        between: &Namespace,
        ends: [&str; 2],
        course: Course,
    ) -> Result<Wire, LineError> {
        Wire::start(vec![way(hosts, between, ends, course)?])
    }

    /// Forwards on these.
    pub(super) fn start(ways: Vec<Way>) -> Result<Wire, LineError> {
        let (ear, stop) = rustix::pipe::pipe().map_err(io::Error::from)?;
        let forwarder = std::thread::Builder::new().name("line".to_owned()).spawn(move || {
            // A cable waits for nobody; of this thread alone, in Linux.
            let _ = rustix::process::setpriority_process(None, NICE);
            shell::forward(&ways, &ear)
        })?;
        Ok(Wire { stop: Some(stop), forwarder: Some(forwarder) })
    }

    /// Ends it; what was done with packets of the first host and of the second, line by line. `None`: it has ended before.
    pub fn end(&mut self) -> Option<io::Result<Vec<[Counts; 2]>>> {
        // The forwarder sees the pipe's end.
        self.stop = None;
        let done = self.forwarder.take()?.join();
        Some(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

/// Lets a host hand over trains of so many bytes, and the far end pass them on.
fn trains(bytes: u64, links: [(&Namespace, &str); 2]) -> Result<(), LineError> {
    for (namespace, link) in links {
        let mut ethtool = namespace.command(find("ethtool"));
        said(ethtool.args(["-K", link, "tx", "on", "tso", "on", "gso", "on"]))?;
        namespace.ip(&format!("link set dev {link} gso_max_size {bytes}\n"))?;
    }
    Ok(())
}

/// The links of a line, and what it does with packets. What is forwarded is as it is on a wire: no segments put together,
/// every checksum computed; but for trains, where the line is one for them.
pub(super) fn way(
    hosts: [(&Namespace, &str); 2],
    between: &Namespace,
    ends: [&str; 2],
    course: Course,
) -> Result<Way, LineError> {
    let Course { shapes, mtu, tap } = course;
    for ((host, link), end) in hosts.into_iter().zip(ends) {
        let name = between.name();
        host.ip(&format!(
            "link add {link} mtu {mtu} type veth peer name {end} mtu {mtu} netns {name}\n"
        ))?;
        for (namespace, link) in [(host, link), (between, end)] {
            let mut ethtool = namespace.command(find("ethtool"));
            said(
                ethtool.args(["-K", link, "tx", "off", "tso", "off", "gso", "off", "gro", "off"]),
            )?;
            namespace.ip(&format!("link set dev {link} up\n"))?;
        }
    }
    let tapped = tap.is_some();
    for (side, shape) in shapes.iter().enumerate() {
        if let Some(bytes) = train::longest(shape, tapped) {
            let (host, link) = hosts[side];
            trains(bytes, [(host, link), (between, ends[1 - side])])?;
        }
    }
    let [left, right] = ends;
    let links = between.within(|| io::Result::Ok([sys::open(left)?, sys::open(right)?]))??;
    Ok(Way { links, shapes, tap })
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
