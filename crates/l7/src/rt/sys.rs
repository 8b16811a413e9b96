//! The only file of this crate with unsafe code: TCP_INFO and the numeric socket options that no safe wrapper offers.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use model::time_attribution::TcpInfoSample;

/// Bytes requested of `struct tcp_info` (linux/tcp.h); the kernel returns as much as it has.
const INFO: usize = 256;

/// Offsets of its fields.
mod at {
    // Byte offsets in `struct tcp_info` of the kernel's uapi header linux/tcp.h. The kernel only appends fields.
    pub const SND_MSS: usize = 16;
    pub const RTT: usize = 68;
    pub const SND_SSTHRESH: usize = 76;
    pub const SND_CWND: usize = 80;
    pub const RCV_RTT: usize = 92;
    pub const TOTAL_RETRANS: usize = 100;
    pub const BYTES_ACKED: usize = 120;
    pub const BYTES_RECEIVED: usize = 128;
    pub const NOTSENT_BYTES: usize = 144;
    pub const MIN_RTT: usize = 148;
    pub const DELIVERY_RATE: usize = 160;
    pub const BUSY_TIME: usize = 168;
    pub const RWND_LIMITED: usize = 176;
    pub const SNDBUF_LIMITED: usize = 184;
    pub const RCV_OOOPACK: usize = 224;
    pub const SND_WND: usize = 228;
}

/// Bytes that the peer has acknowledged, without the SYN; `None` if the kernel does not report them.
pub fn bytes_acknowledged(socket: impl AsFd) -> Option<u64> {
    let (info, length) = tcp_info(socket)?;
    (length >= at::BYTES_ACKED + 8).then(|| read_u64(&info, at::BYTES_ACKED).saturating_sub(1))
}

/// The kernel's TCP_INFO counters; `None` if it does not report its chronographs (before Linux 4.10).
pub fn counters(socket: impl AsFd) -> Option<TcpInfoSample> {
    let (info, length) = tcp_info(socket)?;
    if length < at::SNDBUF_LIMITED + 8 {
        return None;
    }
    let wide = |at| read_u64(&info, at);
    let narrow = |at| read_u32(&info, at);
    let min_rtt = narrow(at::MIN_RTT);
    Some(TcpInfoSample {
        busy_us: wide(at::BUSY_TIME),
        rwnd_limited_us: wide(at::RWND_LIMITED),
        sndbuf_limited_us: wide(at::SNDBUF_LIMITED),
        bytes_acked: wide(at::BYTES_ACKED),
        bytes_received: wide(at::BYTES_RECEIVED),
        delivery_rate: wide(at::DELIVERY_RATE),
        retransmits: narrow(at::TOTAL_RETRANS),
        out_of_order: narrow(at::RCV_OOOPACK),
        rtt_us: narrow(at::RTT),
        // The kernel's value for "no measurement".
        min_rtt_us: if min_rtt == u32::MAX { 0 } else { min_rtt },
        not_sent: narrow(at::NOTSENT_BYTES),
        // If a kernel does not report the window, the window must not look closed.
        window: if length >= at::SND_WND + 4 { narrow(at::SND_WND) } else { u32::MAX },
        cwnd: narrow(at::SND_CWND),
        ssthresh: narrow(at::SND_SSTHRESH),
        mss: narrow(at::SND_MSS),
        send_buffer: 0,
        receive_rtt_us: narrow(at::RCV_RTT),
    })
}

fn read_u64(info: &[u8; INFO], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&info[at..at + 8]);
    u64::from_ne_bytes(bytes)
}

fn read_u32(info: &[u8; INFO], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&info[at..at + 4]);
    u32::from_ne_bytes(bytes)
}

/// The start of the structure, zero where the kernel has less, and the length that the kernel returned.
fn tcp_info(socket: impl AsFd) -> Option<([u8; INFO], usize)> {
    let mut info = [0u8; INFO];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `info`, which lives until the call returns; the kernel writes at
    // most `length` bytes and stores how many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    (result == 0).then_some((info, length as usize))
}

/// Sets an option whose value is an `int`.
///
/// # Errors
/// The error of setsockopt(2).
pub fn set_option(socket: impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        let value = std::ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes ownership of a descriptor that this process was started with and that is known only by its number
/// (sd_listen_fds(3)). Call it once per number, before anything else is opened.
///
/// # Errors
/// No such descriptor is open.
pub fn take_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with F_GETFD reads the flags of a descriptor, or fails for a number that is none.
    if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, as just seen, and its number came from outside this process, which nothing here owns.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Reads an option whose value is an `int`.
///
/// # Errors
/// The error of getsockopt(2).
#[cfg(test)]
pub fn option(socket: impl AsFd, level: i32, name: i32) -> io::Result<i32> {
    let mut value = 0i32;
    let mut length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which lives until the call returns; the kernel writes at
    // most `length` bytes.
    let result = unsafe {
        let value = std::ptr::from_mut(&mut value).cast();
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, value, &mut length)
    };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn what_was_read_by_the_peer_is_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert_eq!(super::bytes_acknowledged(&client), Some(0));
        client.write_all(b"twelve bytes").unwrap();
        let mut got = [0; 12];
        server.read_exact(&mut got).unwrap();
        server.write_all(b"x").unwrap();
        client.read_exact(&mut got[..1]).unwrap();
        assert_eq!(super::bytes_acknowledged(&client), Some(12));
    }

    #[test]
    fn the_counters_lie_where_they_are_looked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let before = super::counters(&client).unwrap();
        client.write_all(b"twelve bytes").unwrap();
        let mut got = [0; 12];
        server.read_exact(&mut got).unwrap();
        server.write_all(b"four").unwrap();
        client.read_exact(&mut got[..4]).unwrap();
        let change = super::counters(&client).unwrap().delta_since(&before, true);
        assert_eq!((change.bytes_acked, change.bytes_received), (12, 4));
        assert_eq!((change.retransmits, change.out_of_order, change.not_sent), (0, 0, 0));
        assert!((1..1_000_000).contains(&change.min_rtt_us) && change.min_rtt_us <= change.rtt_us);
        assert!(
            (500..70_000).contains(&change.mss) && (1..10_000).contains(&change.cwnd),
            "{change:?}"
        );
        assert!((1_000..1 << 30).contains(&change.window), "{change:?}");
        assert!(change.rwnd_limited_us + change.sndbuf_limited_us <= change.busy_us);
    }
}
