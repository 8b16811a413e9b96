//! Compiles the program that passes every packet, for the ends of virtual cables.
//!
//! It needs clang and no header. It compiles nothing of the product.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The source, relative to this crate.
const SOURCE: &str = "bpf/pass.bpf.c";

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let mut command = Command::new(&clang);
    command.args(["-target", "bpf", "-O2", "-Wall", "-Werror", "-c", SOURCE, "-o"]);
    match command.arg(out.join("pass.bpf.o")).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            println!("cargo::error={SOURCE} could not be compiled: {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("cargo::error={clang:?} cannot be run (Debian: clang): {error}");
            ExitCode::FAILURE
        }
    }
}
