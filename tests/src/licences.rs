//! The licences of all dependencies allow use under this project's own, Apache-2.0 or MIT.
//!
//! The rule reads the output of `cargo metadata` and evaluates each SPDX expression against a short list. It does not
//! read licence texts.

use serde::Deserialize;

use crate::tree::RuleBreach;

/// Licences whose code may be part of a program under Apache-2.0 or MIT without further duty than notice.
const FREE: [&str; 15] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

#[derive(Debug, Deserialize)]
struct CargoMetadata {
    packages: Vec<CargoPackage>,
}

#[derive(Debug, Deserialize)]
struct CargoPackage {
    name: String,
    version: String,
    license: Option<String>,
}

/// Packages in the output of `cargo metadata` whose licence is missing or not on the list.
///
/// # Errors
///
/// The text is not the output of `cargo metadata`.
pub fn offences(metadata: &str) -> serde_json::Result<Vec<RuleBreach>> {
    let metadata: CargoMetadata = serde_json::from_str(metadata)?;
    let judged = metadata.packages.iter().map(|package| (package, package.license.as_deref()));
    Ok(judged
        .filter(|(_, licence)| !licence.is_some_and(is_free))
        .map(|(package, licence)| {
            let name = format!("{} {}", package.name, package.version);
            RuleBreach::new(
                &name,
                0,
                format!("licence `{}` is not on the list", licence.unwrap_or("none")),
            )
        })
        .collect())
}

/// Whether the listed licences satisfy an SPDX expression. `/` is the old way to write OR.
pub fn is_free(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let value = either(&words, &mut at);
    value && at == words.len()
}

fn either(words: &[&str], at: &mut usize) -> bool {
    let mut value = both(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        value |= both(words, at);
    }
    value
}

fn both(words: &[&str], at: &mut usize) -> bool {
    let mut value = one(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        value &= one(words, at);
    }
    value
}

fn one(words: &[&str], at: &mut usize) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let value = either(words, at);
        let closed = words.get(*at) == Some(&")");
        *at += usize::from(closed);
        return value && closed;
    }
    if words.get(*at) == Some(&"WITH") {
        let whole = format!("{word} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
        return FREE.contains(&whole.as_str());
    }
    FREE.contains(word)
}
