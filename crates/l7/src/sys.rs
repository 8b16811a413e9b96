//! The one file of this crate with unsafe code: TCP_INFO and the numeric socket options that no safe wrapper offers.
//!
//! It does nothing else with sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Where `tcpi_bytes_acked` (u64) lies in `struct tcp_info` (linux/tcp.h, since Linux 4.1).
const BYTES_ACKED: usize = 120;

/// Bytes that the peer has acknowledged, the SYN not counted; `None` where the kernel does not tell.
pub fn bytes_acknowledged(socket: impl AsFd) -> Option<u64> {
    let mut info = [0u8; 256];
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
    if result != 0 || (length as usize) < BYTES_ACKED + 8 {
        return None;
    }
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&info[BYTES_ACKED..BYTES_ACKED + 8]);
    Some(u64::from_ne_bytes(bytes).saturating_sub(1))
}

/// Sets an option whose value is an `int`.
///
/// # Errors
/// As setsockopt(2) says.
pub fn set_option(socket: impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        let value = std::ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes possession of a descriptor that this process was started with and that only its number tells of
/// (sd_listen_fds(3)). To be called once for each number, before anything else is opened.
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
/// As getsockopt(2) says.
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
}
