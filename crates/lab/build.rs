//! Compiles the BPF programs of the tests: one that passes every packet, the driver of packet costs, and a packet
//! generator with its drain.
//!
//! It needs clang and no kernel headers. It compiles nothing of the product.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The programs, by the names of their sources.
const PROGRAMS: [&str; 3] = ["pass", "vary", "flood"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    for name in PROGRAMS {
        let source = format!("bpf/{name}.bpf.c");
        let mut command = Command::new(&clang);
        command
            .args(["-target", "bpf", "-O2", "-g", "-mcpu=v3", "-Wall", "-Werror", "-c", &source]);
        match command.arg("-o").arg(out.join(format!("{name}.bpf.o"))).status() {
            Ok(status) if status.success() => {}
            Ok(status) => {
                println!("cargo::error={source} could not be compiled: {status}");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                println!("cargo::error={clang:?} cannot be run (Debian: clang): {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
