//! A ring of packets that the kernel fills and this process reads in place (TPACKET_V3, packet(7)): the one file here with
//! unsafe code. No policy.
#![allow(unsafe_code, reason = "options of packet sockets and their ring have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use daemon::packet_socket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

/// Options of packet(7), as `linux/if_packet.h` numbers them.
const SOL_PACKET: i32 = 263;
const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const TPACKET_V3: i32 = 2;
/// A block that the process owns.
const TP_STATUS_USER: u32 = 1;

/// A block: room for the largest packet that offloads make, several times over.
const BLOCK: usize = 1 << 20;
/// The kernel wants to know a size, which decides nothing in this version of the ring.
const FRAME: u32 = 2_048;
/// How long the kernel may keep a block that is not full, milliseconds: what is seen is at most that old.
const BLOCK_PATIENCE_MS: u32 = 50;
/// Where the status of a block stands.
const STATUS: usize = 8;

/// `struct tpacket_req3`.
#[repr(C)]
struct RingRequest {
    block_size: u32,
    blocks: u32,
    frame_size: u32,
    frames: u32,
    block_patience_ms: u32,
    private_size: u32,
    features: u32,
}

#[derive(Debug)]
pub struct KernelRing {
    socket: OwnedFd,
    memory: *mut u8,
    blocks: usize,
    /// The block that is filled next.
    next: usize,
}

impl KernelRing {
    /// A ring of so many MiB for the frames of this interface, or with 0 of all.
    pub fn open(ifindex: u32, mebibytes: u32) -> io::Result<KernelRing> {
        // Without a protocol the socket receives nothing before it is bound.
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        set_option(&socket, PACKET_VERSION, &TPACKET_V3)?;
        let request = RingRequest {
            block_size: BLOCK as u32,
            blocks: mebibytes,
            frame_size: FRAME,
            frames: mebibytes.saturating_mul(BLOCK as u32 / FRAME),
            block_patience_ms: BLOCK_PATIENCE_MS,
            private_size: 0,
            features: 0,
        };
        set_option(&socket, PACKET_RX_RING, &request)?;
        let blocks = mebibytes as usize;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so no other memory is replaced; the length is that of the ring.
        let memory = unsafe {
            mmap(std::ptr::null_mut(), blocks * BLOCK, rights, MapFlags::SHARED, &socket, 0)?
        };
        let ring = KernelRing { socket, memory: memory.cast(), blocks, next: 0 };
        packet_socket::bind_to_link(ring.socket.as_fd(), ifindex)?;
        Ok(ring)
    }

    /// Gives the next block to `read` as soon as the kernel hands it over. `Ok(None)`: none was within this time.
    ///
    /// # Errors
    ///
    /// What the kernel says of the interface, such as that it went down; later calls may go well.
    pub fn read_block<T>(
        &mut self,
        patience: Duration,
        read: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<Option<T>> {
        if !self.is_handed_over() {
            self.wait(patience)?;
            if !self.is_handed_over() {
                return Ok(None);
            }
        }
        // SAFETY: `next` is less than `blocks`, so the block is within the mapping, which lives as long as `self`. The
        // kernel writes nothing there while the status says that the block is the process's.
        let block = unsafe { std::slice::from_raw_parts(self.block(), BLOCK) };
        let value = read(block);
        self.status().store(0, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Ok(Some(value))
    }

    /// Packets that found no room since the last call.
    pub fn take_drops(&self) -> io::Result<u64> {
        // `struct tpacket_stats_v3`: packets, drops, and how often the queue was frozen.
        let mut counts = [0_u32; 3];
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the pointer and the length describe `counts`, which the kernel fills at most.
        let result = unsafe {
            let to = std::ptr::from_mut(&mut counts).cast();
            libc::getsockopt(
                self.socket.as_raw_fd(),
                SOL_PACKET,
                PACKET_STATISTICS,
                to,
                &mut length,
            )
        };
        if result == 0 { Ok(u64::from(counts[1])) } else { Err(io::Error::last_os_error()) }
    }

    fn wait(&self, patience: Duration) -> io::Result<()> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN | PollFlags::ERR)];
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[0].revents().contains(PollFlags::ERR) {
            sockopt::socket_error(&self.socket)??;
        }
        Ok(())
    }

    fn block(&self) -> *const u8 {
        // SAFETY: `next` is less than `blocks`, so the place is within the mapping.
        unsafe { self.memory.add(self.next * BLOCK) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: blocks are aligned to pages and longer than their heads; the kernel and the process write the status
        // as one word; the mapping lives as long as `self`.
        unsafe { &*self.block().add(STATUS).cast::<AtomicU32>() }
    }

    fn is_handed_over(&self) -> bool {
        self.status().load(Ordering::Acquire) & TP_STATUS_USER != 0
    }
}

impl Drop for KernelRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is this ring's alone, and nobody refers to it any more. If it cannot be given back, it ends
        // with the process.
        let _ = unsafe { munmap(self.memory.cast(), self.blocks * BLOCK) };
    }
}

fn set_option<T>(socket: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_raw_fd(), SOL_PACKET, option, value, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
