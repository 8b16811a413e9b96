//! Descriptors over unix sockets (SCM_RIGHTS, unix(7)). It knows nothing of what they are for.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Descriptors in one message; the kernel takes at most 253.
pub const PER_MESSAGE: usize = 64;

/// Sends bytes with at most `PER_MESSAGE` descriptors; returns how many bytes were sent.
///
/// # Errors
/// An error of sendmsg(2), or more descriptors than fit.
pub fn send_descriptors(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    if descriptors.len() > PER_MESSAGE {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PER_MESSAGE))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

/// Receives bytes; descriptors that come with them are added to `descriptors`, closed on exec.
///
/// # Errors
/// An error of recvmsg(2), or the process's limit of descriptors was reached.
pub fn receive_descriptors(
    socket: impl AsFd,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PER_MESSAGE))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(all) = message {
            descriptors.extend(all);
        }
    }
    if got.flags.contains(ReturnFlags::CTRUNC) {
        return Err(io::Error::other("descriptors were lost: too many, or too few may be open"));
    }
    Ok(got.bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn descriptors_arrive_with_their_bytes() {
        let (here, there) = UnixDatagram::pair().unwrap();
        let files: Vec<_> =
            (0..PER_MESSAGE).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let borrowed: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        assert_eq!(send_descriptors(&here, b"all", &borrowed).unwrap(), 3);
        let mut buffer = [0; 16];
        let mut got = Vec::new();
        assert_eq!(receive_descriptors(&there, &mut buffer, &mut got).unwrap(), 3);
        assert_eq!(got.len(), PER_MESSAGE);
        let flags = rustix::io::fcntl_getfd(&got[0]).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }

    #[test]
    fn more_than_fit_are_refused() {
        let (here, _there) = UnixDatagram::pair().unwrap();
        let borrowed = vec![here.as_fd(); PER_MESSAGE + 1];
        assert_eq!(
            send_descriptors(&here, b"x", &borrowed).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
