//! Limits on the programs that probe, and what no program of ours inherits: unsafe code for the step between fork and
//! exec.
//!
//! It starts nothing; `program` does.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
};

/// Bytes of a file that a program may write.
/// A state or a log of the program; a loop must not fill the disk.
const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Descriptors that each of its processes may have.
/// Below the kernel's default of 1,024 (INR_OPEN_CUR of linux/fs.h), and more than a check needs.
const DESCRIPTORS: u64 = 256;

/// Sets limits before the program's first instruction, which its children inherit: memory, processor time, processes,
/// files, no core dump. The program leads its own process group.
pub(super) fn limit_program(command: &mut Command, memory: u64, processes: u32, longest: Duration) {
    let seconds = longest.as_secs() + 1;
    let limits = [
        (Resource::As, memory),
        (Resource::Cpu, seconds),
        (Resource::Nproc, u64::from(processes)),
        (Resource::Fsize, FILE_BYTES),
        (Resource::Nofile, DESCRIPTORS),
        (Resource::Core, 0),
    ];
    command.process_group(0);
    let set = move || {
        for (resource, most) in limits {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            // Lowering a limit is always allowed. If the hard limit is lower already, that one applies.
            let _ = setrlimit(resource, limit);
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes only setrlimit(2) system calls over values that it owns: it
    // allocates nothing, takes no lock and touches nothing of the parent's other threads.
    unsafe { command.pre_exec(set) };
    drop_capabilities(command);
}

/// The program inherits none of the daemon's capabilities: the ambient set, which a unit file may fill, and the
/// inheritable set are cleared. Root keeps the capabilities that the kernel gives to root.
pub(crate) fn drop_capabilities(command: &mut Command) {
    let clear = || {
        clear_ambient_capability_set()?;
        let held = capabilities(None)?;
        let sets = CapabilitySets { inheritable: CapabilitySet::empty(), ..held };
        set_capabilities(None, sets)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes only prctl(2), capget(2) and capset(2) system calls over values on
    // its stack: it allocates nothing, takes no lock and touches nothing of the parent's other threads.
    unsafe { command.pre_exec(clear) };
}
