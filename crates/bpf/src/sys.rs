//! Safe functions for calls to libbpf and the kernel without a safe wrapper. No policy.

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

/// libbpf's result: a number, or a negative `errno`.
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

/// The direction of packets at a traffic control hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcDirection {
    Ingress,
    Egress,
}

/// Attaches a program of traffic control through a link, behind existing ones.
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

/// The socket operation that a program handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectHook {
    /// An IPv4 socket connects.
    Connect4,
    /// An IPv6 socket connects.
    Connect6,
}

/// Attaches a program to the sockets of a control group through a link, beside existing ones.
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

/// The interface of a `link_tcx` link; 0 when it is gone.
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

/// Replaces the program of a link atomically.
pub fn link_update(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no options are given, which libbpf allows; both descriptors are open for the call.
    let done = unsafe {
        libbpf_sys::bpf_link_update(link.as_raw_fd(), program.as_raw_fd(), std::ptr::null())
    };
    check_result(done).map(drop)
}

/// Pins a BPF object at a path of a BPF file system.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: the path is a terminated string that lives for the call.
    check_result(unsafe { libbpf_sys::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) }).map(drop)
}

pub fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    // SAFETY: the path is a terminated string that lives for the call.
    let fd = check_result(unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) })?;
    // SAFETY: a successful call gives a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The interface of an XDP link; 0 when it is gone.
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

/// The state of an interface's XDP slot.
pub struct XdpSlotState {
    /// `XDP_ATTACHED_…` of `linux/if_link.h`.
    pub mode: u8,
    /// The program's id.
    pub program: u32,
    /// The driver's features, `NETDEV_XDP_ACT_…` of `linux/netdev.h`; 0 where the kernel does not report them.
    pub features: u64,
}

pub fn xdp_state(ifindex: u32) -> io::Result<XdpSlotState> {
    let index = i32::try_from(ifindex).map_err(io::Error::other)?;
    let mut options = libbpf_sys::bpf_xdp_query_opts {
        sz: size_of::<libbpf_sys::bpf_xdp_query_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    // SAFETY: the options live for the call and say their own size.
    check_result(unsafe { libbpf_sys::bpf_xdp_query(index, 0, &mut options) })?;
    Ok(XdpSlotState {
        mode: options.attach_mode,
        program: options.prog_id,
        features: options.feature_flags,
    })
}

/// Reads `count` entries of a per-CPU array from `first` on in one call: for each entry the values of all possible
/// CPUs, each padded to eight bytes. `bytes` is the size of one entry. At the array's end there are fewer.
pub fn read_each_cpu(
    map: BorrowedFd<'_>,
    first: u32,
    count: u32,
    bytes: usize,
) -> io::Result<Vec<u8>> {
    let mut keys = vec![0u32; count as usize];
    let mut values = vec![0u8; count as usize * bytes];
    let mut found = count;
    // A batch of an array begins behind its key; without a key it begins at 0.
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
