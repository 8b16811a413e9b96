//! Compiles the BPF programs and generates `l4::abi` from the C headers. This script loads nothing into the kernel.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

mod abi;
mod emit;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use libbpf_cargo::SkeletonBuilder;

const PROGRAMS: [&str; 2] = ["lb", "decap"];
const HEADERS: [&str; 5] = ["words", "shapes", "announced", "counts", "flow_samples"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=../bpf/bpf");
    let mut text = String::new();
    for header in HEADERS {
        text.push_str(&fs::read_to_string(format!("bpf/abi/{header}.h"))?);
    }
    let items = abi::parse_headers(&text)?;
    fs::write(out.join("abi.rs"), emit::emit_rust(&items, &text)?)?;
    let arch = env::var("CARGO_CFG_TARGET_ARCH")?;
    for name in PROGRAMS {
        compile(name, &arch, &out)?;
    }
    Ok(())
}

fn compile(name: &str, arch: &str, out: &Path) -> Result<(), Box<dyn Error>> {
    SkeletonBuilder::new()
        .source(format!("bpf/{name}.bpf.c"))
        .obj(out.join(format!("{name}.bpf.o")))
        .clang_args([
            format!("-I/usr/include/{arch}-linux-gnu"),
            "-I../bpf/bpf".to_owned(),
            "-mcpu=v3".to_owned(),
            "-Wall".to_owned(),
            "-Wextra".to_owned(),
            "-Werror".to_owned(),
            "-Wno-unused-parameter".to_owned(),
        ])
        .build()
        .map_err(|error| format!("{error:#}"))?;
    Ok(())
}
