//! A long line between two hosts: delay, rate, queue and loss, made in user space where the kernel has none.
//!
//! A client and a server, each in a namespace, with a forwarder between them that passes whole frames. It is accurate to
//! a millisecond while the machine has a processor for it; it measures nothing.

mod queue;
mod shell;
mod sys;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use thiserror::Error;

use crate::net::{Namespace, NamespaceError, ToolError, find, said};

pub use queue::{Counts, Shape};

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

/// The line; gone when dropped.
#[derive(Debug)]
pub struct Line {
    /// One end. Its link is `eth0`.
    pub client: Namespace,
    /// The other end. Its link is `eth0`.
    pub server: Namespace,
    _between: Namespace,
    stop: Option<OwnedFd>,
    forwarder: Option<JoinHandle<io::Result<[Counts; 2]>>>,
}

/// The client's address.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 40, 0, 1));
/// The server's.
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 40, 0, 2));

impl Line {
    /// Lays a line: `up` is what the client's packets meet, `down` what the server's do.
    pub fn open(up: Shape, down: Shape) -> Result<Line, LineError> {
        let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
        let between = Namespace::new("line")?;
        for (host, link, address) in [(&client, "left", CLIENT), (&server, "right", SERVER)] {
            let name = between.name();
            host.ip(&format!("link add eth0 mtu 1500 type veth peer name {link} netns {name}\n"))?;
            // What is forwarded must be as it is on a wire: no segments put together, every checksum computed.
            for (namespace, link) in [(host, "eth0"), (&between, link)] {
                let mut ethtool = namespace.command(find("ethtool"));
                said(
                    ethtool
                        .args(["-K", link, "tx", "off", "tso", "off", "gso", "off", "gro", "off"]),
                )?;
                namespace.ip(&format!("link set dev {link} up\n"))?;
            }
            host.ip(&format!("addr add {address}/24 dev eth0\n"))?;
        }
        let links =
            between.within(|| io::Result::Ok([sys::open("left")?, sys::open("right")?]))??;
        let (ear, stop) = rustix::pipe::pipe().map_err(io::Error::from)?;
        let forwarder = std::thread::spawn(move || shell::forward(links, &ear, [up, down]));
        Ok(Line { client, server, _between: between, stop: Some(stop), forwarder: Some(forwarder) })
    }

    /// Ends it; what was done with packets of the client and of the server.
    pub fn close(mut self) -> io::Result<[Counts; 2]> {
        self.end().unwrap_or(Ok([Counts::default(); 2]))
    }

    fn end(&mut self) -> Option<io::Result<[Counts; 2]>> {
        // The forwarder sees the pipe's end.
        self.stop = None;
        let done = self.forwarder.take()?.join();
        Some(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
