//! The lowest crates read no clock and use no socket, file, thread or process.
//!
//! The rule finds the types and functions that such code needs, by name. `Duration` and addresses are plain values and
//! allowed.

use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// Crates that must stay pure.
const CRATES: [&str; 8] =
    ["credentials", "wire", "model", "probe", "ha", "names", "convert", "gateway"];

/// Names of types and modules that read or change the environment.
const WORLD: [&str; 11] = [
    "Instant",
    "SystemTime",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "fs",
    "thread",
    "process",
    "env",
];

/// Uses of such names in the product code of these crates.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let pure = |file: &&SourceFile| file.source_of().is_some_and(|name| CRATES.contains(&name));
    tree.files.iter().filter(pure).flat_map(file_offences).collect()
}

fn file_offences(file: &SourceFile) -> Vec<RuleBreach> {
    let tokens = file.product_tokens();
    let named = |at: usize| {
        let type_name = tokens[at].text.starts_with(|c: char| c.is_uppercase());
        WORLD.contains(&tokens[at].text) && (type_name || (at >= 2 && tokens[at - 2].text == "std"))
    };
    (0..tokens.len())
        .filter(|at| named(*at))
        .map(|at| {
            let text =
                format!("`{}` does not belong into a pure crate: pass it in", tokens[at].text);
            RuleBreach::new(&file.path, tokens[at].line, text)
        })
        .collect()
}
