//! libFuzzer for one target: `STEELYARD_FUZZ_TARGET` names the target, and the arguments are libFuzzer's.

#![no_main]
#![allow(clippy::panic, reason = "a tool of developers")]

use std::sync::OnceLock;

use fuzz::target::FuzzTarget;
use fuzz::targets::find;

static TARGET: OnceLock<&FuzzTarget> = OnceLock::new();

fn target() -> &'static FuzzTarget {
    TARGET.get_or_init(|| {
        let name = std::env::var("STEELYARD_FUZZ_TARGET").unwrap_or_default();
        find(&name).unwrap_or_else(|| panic!("STEELYARD_FUZZ_TARGET: no target '{name}'"))
    })
}

libfuzzer_sys::fuzz_target!(init: target(), |bytes: &[u8]| (target().function)(bytes));
