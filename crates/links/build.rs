//! Compiles the bundle's programs. It loads nothing.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::env;
use std::error::Error;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=bpf");
    let arch = env::var("CARGO_CFG_TARGET_ARCH")?;
    SkeletonBuilder::new()
        .source("bpf/bundle.bpf.c")
        .obj(PathBuf::from(env::var("OUT_DIR")?).join("bundle.bpf.o"))
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
