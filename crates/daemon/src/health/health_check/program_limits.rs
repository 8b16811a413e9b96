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
const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Descriptors that each of its processes may have.
const DESCRIPTORS: u64 = 256;

/// Sets limits that hold from the program's first instruction, for it and for all that it starts: memory, processor
/// time, processes, files, no core. It leads a process group of its own.
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
            // Lowering is always allowed; where a lower hard limit stands already, that one holds.
            let _ = setrlimit(resource, limit);
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes only setrlimit(2) system calls over values that it owns: it
    // allocates nothing, takes no lock and touches nothing of the parent's other threads.
    unsafe { command.pre_exec(set) };
    drop_capabilities(command);
}

/// The program inherits no capability of ours: the ambient set, which a unit may give the daemon, and the inheritable one
/// are empty in it. What the kernel gives to root for being root stays root's.
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
