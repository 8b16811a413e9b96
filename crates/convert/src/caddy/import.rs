//! Snippets: `(name) { … }` and `import name arguments…`. Files are not opened: their `import` stays in the tree.

use std::collections::{BTreeSet, HashMap};

use crate::inclusion_chain::InclusionChain;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::lex::{CaddyToken, MOST};

/// Snippets within snippets, at most.
const DEEP: usize = 16;

/// The tokens with the contents of snippets, and the names of the snippets that were used.
#[derive(Default)]
pub struct ImportedTokens {
    pub tokens: Vec<CaddyToken>,
    pub used: BTreeSet<String>,
}

/// Puts in the contents of snippets. Of a definition the head stays, with an empty block.
pub fn put_in_snippets(tokens: Vec<CaddyToken>, notes: &mut ConversionNotes) -> ImportedTokens {
    let mut snippets: HashMap<String, Vec<CaddyToken>> = HashMap::new();
    let mut rest = Vec::with_capacity(tokens.len());
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let name = token.text.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
        let opens = tokens.get(at + 1).is_some_and(CaddyToken::opens);
        match name.filter(|_| depth == 0 && token.starts_line && opens) {
            Some(name) => {
                let end = block_end(&tokens, at + 2);
                snippets.insert(name.to_owned(), tokens[at + 2..end].to_vec());
                rest.extend(tokens[at..at + 2].iter().cloned());
                rest.extend(tokens.get(end).cloned());
                at = end + 1;
                continue;
            }
            None if token.opens() => depth += 1,
            None if token.closes() => depth = depth.saturating_sub(1),
            None => {}
        }
        rest.push(token.clone());
        at += 1;
    }
    let mut out = ImportedTokens::default();
    expand(&rest, &snippets, &mut InclusionChain::default(), &mut out, notes);
    out
}

/// The place of the brace that closes the block whose first token stands at `from`.
fn block_end(tokens: &[CaddyToken], from: usize) -> usize {
    let mut depth = 1usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}

fn expand(
    tokens: &[CaddyToken],
    snippets: &HashMap<String, Vec<CaddyToken>>,
    chain: &mut InclusionChain,
    out: &mut ImportedTokens,
    notes: &mut ConversionNotes,
) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if out.tokens.len() >= MOST || chain.depth() > DEEP {
            let place = SourcePlace::at_line(token.line);
            notes.unreadable(place, &token.text, "snippets import too much", "the whole file");
            return;
        }
        let is_import = token.starts_line && token.text == "import" && !token.quoted;
        let length = 1 + tokens[at + 1..].iter().take_while(|one| !one.starts_line).count();
        let line = &tokens[at..at + length];
        let body = line.get(1).and_then(|name| snippets.get(&name.text));
        match body.filter(|_| is_import && !line[length - 1].opens()) {
            Some(body) => {
                let name = line[1].text.as_str();
                if let Some(reason) = chain.circle(token.line, |known| known == name) {
                    let place = SourcePlace::at_line(token.line);
                    let text = format!("import {name}");
                    notes.unreadable(place, &text, &reason, "take one of them out");
                    return;
                }
                out.used.insert(line[1].text.clone());
                out.tokens.push(CaddyToken { imported: true, ..token.clone() });
                out.tokens.extend(line[1..].iter().cloned());
                let arguments = line.get(2..).unwrap_or(&[]);
                let filled: Vec<CaddyToken> =
                    body.iter().flat_map(|one| fill_arguments(one, arguments)).collect();
                chain.enter(name, token.line);
                expand(&filled, snippets, chain, out, notes);
                chain.leave();
                at += length;
            }
            None => {
                out.tokens.push(token.clone());
                at += 1;
            }
        }
    }
}

/// A token of a snippet with the arguments of its `import`. `{args[:]}` alone stands for all of them.
fn fill_arguments(token: &CaddyToken, arguments: &[CaddyToken]) -> Vec<CaddyToken> {
    let range = token.text.strip_prefix("{args[").and_then(|text| text.strip_suffix("]}"));
    if let Some(bounds) = range.and_then(|text| text.split_once(':')) {
        let bound = |text: &str, other: usize| match text {
            "" => Some(other),
            text => text.parse().ok(),
        };
        let from = bound(bounds.0, 0);
        let to = bound(bounds.1, arguments.len());
        if let (Some(from), Some(to)) = (from, to) {
            let chosen = arguments.get(from..to.min(arguments.len())).unwrap_or(&[]);
            let place = |one: &CaddyToken| CaddyToken {
                line: token.line,
                starts_line: false,
                ..one.clone()
            };
            return chosen.iter().map(place).collect();
        }
    }
    let mut text = token.text.clone();
    for (at, argument) in arguments.iter().enumerate().take(32) {
        for form in [format!("{{args[{at}]}}"), format!("{{args.{at}}}")] {
            text = text.replace(&form, &argument.text);
        }
    }
    vec![CaddyToken { text, ..token.clone() }]
}
