//! The calls to libbpf and the kernel that have no safe wrapper, each behind a safe function. No policy.

#![allow(
    unsafe_code,
    reason = "raw links, pins, XDP queries and shared memory have no safe wrapper"
)]

use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags};

/// What libbpf returns: a number, or a negative `errno`.
fn check_result(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// Attaches an XDP program through a link. `flags` are `XDP_FLAGS_…` of `linux/if_link.h`.
pub fn link_xdp(program: BorrowedFd<'_>, ifindex: u32, flags: u32) -> io::Result<OwnedFd> {
    let target = i32::try_from(ifindex).map_err(io::Error::other)?;
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags,
        ..Default::default()
    };
    // SAFETY: the options live for the call and say their own size; both numbers are checked by the kernel.
    let fd = check_result(unsafe {
        libbpf_sys::bpf_link_create(program.as_raw_fd(), target, libbpf_sys::BPF_XDP, &options)
    })?;
    // SAFETY: a successful call gives a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Where a program sees packets of the network stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcDirection {
    /// As they come in.
    Ingress,
    /// As they go out.
    Egress,
}

/// Attaches a program of traffic control through a link, behind those that are there.
pub fn link_tcx(program: BorrowedFd<'_>, ifindex: u32, side: TcDirection) -> io::Result<OwnedFd> {
    let target = i32::try_from(ifindex).map_err(io::Error::other)?;
    let kind = match side {
        TcDirection::Ingress => libbpf_sys::BPF_TCX_INGRESS,
        TcDirection::Egress => libbpf_sys::BPF_TCX_EGRESS,
    };
    // SAFETY: no options are given, which libbpf allows; both numbers are checked by the kernel.
    let fd = check_result(unsafe {
        libbpf_sys::bpf_link_create(program.as_raw_fd(), target, kind, std::ptr::null())
    })?;
    // SAFETY: a successful call gives a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What a socket does when a program sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectHook {
    /// It connects, a socket of IPv4.
    Connect4,
    /// It connects, a socket of IPv6.
    Connect6,
}

/// Attaches a program to the sockets of a control group through a link, beside those that are there.
pub fn link_cgroup(
    program: BorrowedFd<'_>,
    group: BorrowedFd<'_>,
    when: ConnectHook,
) -> io::Result<OwnedFd> {
    let kind = match when {
        ConnectHook::Connect4 => libbpf_sys::BPF_CGROUP_INET4_CONNECT,
        ConnectHook::Connect6 => libbpf_sys::BPF_CGROUP_INET6_CONNECT,
    };
    let program = program.as_raw_fd();
    let group = group.as_raw_fd();
    // SAFETY: no options are given, which libbpf allows; both descriptors are open for the call.
    let fd = check_result(unsafe {
        libbpf_sys::bpf_link_create(program, group, kind, std::ptr::null())
    })?;
    // SAFETY: a successful call gives a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The interface that a link of `link_tcx` is attached to; 0 when it is gone.
pub fn tcx_ifindex(link: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = libbpf_sys::bpf_link_info::default();
    let mut size = size_of::<libbpf_sys::bpf_link_info>() as u32;
    // SAFETY: the kernel writes at most `size` bytes, which is the size of `info`.
    check_result(unsafe {
        libbpf_sys::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut size)
    })?;
    // SAFETY: every variant of the union is plain numbers, and all bytes were initialised; for such a link the kernel
    // fills this variant.
    Ok(unsafe { info.__bindgen_anon_1.tcx.ifindex })
}

/// Puts another program behind a link, at once.
pub fn link_update(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no options are given, which libbpf allows; both descriptors are open for the call.
    let done = unsafe {
        libbpf_sys::bpf_link_update(link.as_raw_fd(), program.as_raw_fd(), std::ptr::null())
    };
    check_result(done).map(drop)
}

/// Pins an object of BPF at a path of a BPF file system.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: the path is a terminated string that lives for the call.
    check_result(unsafe { libbpf_sys::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) }).map(drop)
}

/// Opens a pinned object.
pub fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    // SAFETY: the path is a terminated string that lives for the call.
    let fd = check_result(unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) })?;
    // SAFETY: a successful call gives a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The interface that an XDP link is attached to; 0 when it is gone.
pub fn link_ifindex(link: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = libbpf_sys::bpf_link_info::default();
    let mut size = size_of::<libbpf_sys::bpf_link_info>() as u32;
    // SAFETY: the kernel writes at most `size` bytes, which is the size of `info`.
    check_result(unsafe {
        libbpf_sys::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut size)
    })?;
    // SAFETY: every variant of the union is plain numbers, and all bytes were initialised; for an XDP link the
    // kernel fills this variant.
    Ok(unsafe { info.__bindgen_anon_1.xdp.ifindex })
}

/// How an interface's XDP slot is filled: `XDP_ATTACHED_…` of `linux/if_link.h`, the program's number, and what its driver
/// can do, `NETDEV_XDP_ACT_…` of `linux/netdev.h`; 0 where the kernel does not say.
pub fn xdp_state(ifindex: u32) -> io::Result<(u8, u32, u64)> {
    let index = i32::try_from(ifindex).map_err(io::Error::other)?;
    let mut options = libbpf_sys::bpf_xdp_query_opts {
        sz: size_of::<libbpf_sys::bpf_xdp_query_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    // SAFETY: the options live for the call and say their own size.
    check_result(unsafe { libbpf_sys::bpf_xdp_query(index, 0, &mut options) })?;
    Ok((options.attach_mode, options.prog_id, options.feature_flags))
}

/// Reads `count` entries of a per-CPU array from `first` on, one call for all: for each entry the values of every
/// possible CPU, each padded to eight bytes. `bytes` is what one entry takes so. Fewer come where the array ends.
pub fn read_each_cpu(
    map: BorrowedFd<'_>,
    first: u32,
    count: u32,
    bytes: usize,
) -> io::Result<Vec<u8>> {
    let mut keys = vec![0u32; count as usize];
    let mut values = vec![0u8; count as usize * bytes];
    let mut found = count;
    // An array's batch begins behind a key; without one it begins at 0.
    let mut before = first.wrapping_sub(1);
    let mut after = 0u32;
    let begin = if first == 0 { std::ptr::null_mut() } else { (&raw mut before).cast() };
    // SAFETY: keys and values have room for `found` entries, and the kernel writes no more; all of it lives for the call.
    let done = unsafe {
        libbpf_sys::bpf_map_lookup_batch(
            map.as_raw_fd(),
            begin,
            (&raw mut after).cast(),
            keys.as_mut_ptr().cast(),
            values.as_mut_ptr().cast(),
            &mut found,
            std::ptr::null(),
        )
    };
    match check_result(done) {
        Ok(_) => {}
        // The array's end.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOENT.raw_os_error()) => {}
        Err(error) => return Err(error),
    }
    values.truncate(found as usize * bytes);
    Ok(values)
}

/// Shared memory of a map.
#[derive(Debug)]
pub struct MappedRegion {
    start: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the memory stays mapped while the region lives, and is only reached through atomic words.
unsafe impl Send for MappedRegion {}
// SAFETY: as above.
unsafe impl Sync for MappedRegion {}

impl MappedRegion {
    /// Maps `bytes` of an array map for reading and writing.
    pub fn new(map: BorrowedFd<'_>, bytes: usize) -> io::Result<MappedRegion> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an unused place, so no memory of ours is replaced.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, map, 0)
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(MappedRegion { start, bytes })
    }

    pub fn word_count(&self) -> usize {
        self.bytes / size_of::<AtomicU64>()
    }

    pub fn word(&self, index: usize) -> Option<&AtomicU64> {
        if index >= self.word_count() {
            return None;
        }
        // SAFETY: the index is within the mapping, which starts at a page and lives as long as `self`; all access
        // to it is atomic.
        Some(unsafe { self.start.add(index).as_ref() })
    }
}

impl Drop for MappedRegion {
    fn drop(&mut self) {
        // SAFETY: exactly the region that `new` mapped, and no word of it is borrowed any more.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
