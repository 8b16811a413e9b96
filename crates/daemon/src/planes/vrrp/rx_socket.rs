//! A packet socket at an interface: frames come in by it, announcements go out by it.
//!
//! A filter in the kernel lets nothing through but what is meant, so that traffic costs nothing here. It reads no frame.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use socket2::{Domain, SockFilter, Socket, Type};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::util::packet_socket;

/// Bytes of a frame that are read; an advertisement with most addresses has fewer.
const FRAME: usize = 2048;

/// A frame, and the interface that received it.
#[derive(Debug)]
pub struct ReceivedFrame {
    pub ifindex: u32,
    /// Its bytes from the link's header on.
    pub frame: Vec<u8>,
}

/// The socket of an interface.
#[derive(Debug)]
pub struct RxSocket {
    socket: Arc<AsyncFd<Socket>>,
    reader: JoinHandle<()>,
}

impl Drop for RxSocket {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl RxSocket {
    /// Listens on an interface. Frames go to `to`; while that is full the kernel's buffer fills and drops frames.
    ///
    /// # Errors
    /// The right to open such sockets is missing, or the interface is.
    pub fn open(
        ifindex: u32,
        filter: &[SockFilter],
        to: mpsc::Sender<ReceivedFrame>,
    ) -> io::Result<RxSocket> {
        // Without a protocol the socket receives nothing before it is bound, when the filter is attached.
        let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
        socket.set_nonblocking(true)?;
        socket.attach_filter(filter)?;
        packet_socket::bind_to_link(socket.as_fd(), ifindex)?;
        let socket = Arc::new(packet_socket::async_socket(socket)?);
        let reader = tokio::spawn(read_frames(Arc::clone(&socket), ifindex, to));
        Ok(RxSocket { socket, reader })
    }

    /// Sends a whole frame.
    ///
    /// # Errors
    /// The link is down, or its queue is full.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.socket.get_ref().send(frame).map(drop)
    }

    /// Whether the socket still receives frames. The socket of a removed interface does not.
    pub fn is_alive(&self) -> bool {
        !self.reader.is_finished()
    }
}

async fn read_frames(socket: Arc<AsyncFd<Socket>>, ifindex: u32, to: mpsc::Sender<ReceivedFrame>) {
    loop {
        let Ok(mut ready) = socket.readable().await else { return };
        let mut frame = vec![0; FRAME];
        match ready.try_io(|socket| {
            rustix::net::recv(
                socket.get_ref(),
                frame.as_mut_slice(),
                rustix::net::RecvFlags::empty(),
            )
            .map_err(io::Error::from)
        }) {
            Ok(Ok((bytes, _))) => {
                frame.truncate(bytes);
                if to.send(ReceivedFrame { ifindex, frame }).await.is_err() {
                    return;
                }
            }
            // The link is down. This is reported elsewhere, and the link may recover.
            Ok(Err(error)) if error.raw_os_error() == Some(libc::ENETDOWN) => {}
            Ok(Err(_)) => return,
            Err(_) => {}
        }
    }
}

/// Opcodes of classic BPF (the kernel's uapi header linux/bpf_common.h): LD|B|ABS, LD|H|ABS, JMP|JEQ|K, RET|K.
pub const LOAD_BYTE: u16 = 0x30;
pub const LOAD_HALF: u16 = 0x28;
pub const JUMP_EQUAL: u16 = 0x15;
pub const RETURN: u16 = 0x06;
/// Of `linux/filter.h`: where facts beside the bytes are.
const BESIDE: u32 = 0xffff_f000;
pub const BESIDE_TYPE: u32 = BESIDE + 4;
pub const BESIDE_TAG: u32 = BESIDE + 48;
/// Of `linux/if_packet.h`: a frame of our own.
pub const OUTGOING: u32 = 4;

/// Accepts IP protocol 112 over IPv4 or IPv6, from other hosts and without a VLAN tag: a VLAN has its own interface.
pub static VRRP: [SockFilter; 13] = [
    SockFilter::new(LOAD_BYTE, 0, 0, BESIDE_TYPE),
    SockFilter::new(JUMP_EQUAL, 9, 0, OUTGOING),
    SockFilter::new(LOAD_BYTE, 0, 0, BESIDE_TAG),
    SockFilter::new(JUMP_EQUAL, 0, 7, 0),
    SockFilter::new(LOAD_HALF, 0, 0, 12),
    SockFilter::new(JUMP_EQUAL, 0, 2, 0x0800),
    SockFilter::new(LOAD_BYTE, 0, 0, 23),
    SockFilter::new(JUMP_EQUAL, 4, 3, 112),
    SockFilter::new(JUMP_EQUAL, 0, 2, 0x86dd),
    SockFilter::new(LOAD_BYTE, 0, 0, 20),
    SockFilter::new(JUMP_EQUAL, 1, 0, 112),
    SockFilter::new(RETURN, 0, 0, 0),
    SockFilter::new(RETURN, 0, 0, 0xffff),
];
