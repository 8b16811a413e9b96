//! Compiles the programs of bundles and of uplinks, and the one that they are measured against. It loads nothing.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::env;
use std::error::Error;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=tests/rows/plain.bpf.c");
    compile("bpf/bundle.bpf.c", "bundle.bpf.o")?;
    compile("bpf/uplink.bpf.c", "uplink.bpf.o")?;
    // Tests measure the cost against this program; the product does not load it.
    compile("tests/rows/plain.bpf.c", "plain.bpf.o")
}

fn compile(source: &str, object: &str) -> Result<(), Box<dyn Error>> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH")?;
    SkeletonBuilder::new()
        .source(source)
        .obj(PathBuf::from(env::var("OUT_DIR")?).join(object))
        .clang_args([
            format!("-I/usr/include/{arch}-linux-gnu"),
            "-mcpu=v3".to_owned(),
            "-Wall".to_owned(),
            "-Wextra".to_owned(),
            "-Werror".to_owned(),
        ])
        .build()
        .map_err(|error| format!("{error:#}"))?;
    Ok(())
}
