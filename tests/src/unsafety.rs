//! Unsafe code occurs only in the files listed here, and each block has a reason.
//!
//! The lint `unsafe_code` denies unsafe code everywhere else too. This rule is the list to read in a review. It does
//! not check whether a reason is valid.

use crate::tree::{RuleBreach, SourceTree};

/// The files that may hold unsafe code.
pub const FILES: &[&str] = &[
    "crates/bpf/src/sys.rs",
    "crates/cli/src/explain/trace/watch/kernel_ring.rs",
    "crates/daemon/src/util/memory_footprint.rs",
    "crates/daemon/src/planes/links/frame_socket.rs",
    "crates/daemon/src/planes/uplinks/netns.rs",
    "crates/daemon/src/util/local_time.rs",
    "crates/daemon/src/planes/name_server/datagram_batch.rs",
    "crates/daemon/src/health/health_check/program_limits.rs",
    "crates/daemon/src/util/packet_socket.rs",
    "crates/l7/src/rt/sys.rs",
    "crates/lab/src/link_emulation/sys.rs",
    "crates/lab/src/sys.rs",
];

/// How many lines above a block its SAFETY note may begin.
const NOTE_LINES: usize = 8;

/// Unsafe code in other files, blocks without a note, and listed files without unsafe code.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in tree.rust() {
        let allowed = FILES.contains(&file.path.as_str());
        let lines: Vec<&str> = file.text.lines().collect();
        let tokens = file.tokens();
        let blocks = || tokens.iter().filter(|token| token.text == "unsafe");
        if allowed && blocks().next().is_none() {
            let text = "holds no unsafe code: take it off the list in `tests/src/unsafety.rs`";
            out.push(RuleBreach::new(&file.path, 0, text));
        }
        for token in blocks() {
            let above = &lines[token.line.saturating_sub(NOTE_LINES)..token.line];
            if !allowed {
                let text = "unsafe code may not stand here: use rustix or socket2";
                out.push(RuleBreach::new(&file.path, token.line, text));
            } else if !above.iter().any(|line| line.contains("SAFETY:")) {
                let text = "unsafe block without a `// SAFETY:` note above it";
                out.push(RuleBreach::new(&file.path, token.line, text));
            }
        }
        if !allowed && let Some(token) = tokens.iter().find(|token| token.text == "unsafe_code") {
            let text = "only the listed files may change the lint on unsafe code";
            out.push(RuleBreach::new(&file.path, token.line, text));
        }
    }
    out
}
