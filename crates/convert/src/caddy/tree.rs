//! The blocks of a Caddyfile: global options, snippets, sites and their directives.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;

use super::lex::CaddyToken;

/// Deeper than any file: bounds the recursion on hostile input.
const DEEP: usize = 24;

/// Parses the directives of a file. A block that is not closed makes the file unreadable.
pub fn parse(tokens: Vec<CaddyToken>, notes: &mut ConversionNotes) -> Vec<ConfigStatement> {
    let mut parser = CaddyParser { tokens, at: 0 };
    let mut all = parser.block(0, notes);
    // A file of one site may go without braces: its first line has the addresses.
    let is_other = |one: &ConfigStatement| {
        one.name.is_empty() || one.name.starts_with('(') || one.name.starts_with("&(")
    };
    if let Some(site) = all.iter().position(|one| !is_other(one))
        && all[site].block.is_none()
    {
        let inner = all.split_off(site + 1);
        let from = all[site].source.statement().map_or(0, |at| at + 1);
        let owner = all[site].source;
        notes.ledger.adopt(from, notes.ledger.len(), owner);
        all[site].block = Some(inner);
    }
    all
}

struct CaddyParser {
    tokens: Vec<CaddyToken>,
    at: usize,
}

impl CaddyParser {
    /// The tokens of the next line. At the top a comma at its end goes on to the line after it.
    fn line(&mut self, depth: usize) -> Vec<CaddyToken> {
        let mut line: Vec<CaddyToken> = Vec::new();
        while let Some(token) = self.tokens.get(self.at) {
            let goes_on = depth == 0 && line.last().is_some_and(|last| last.text.ends_with(','));
            if !line.is_empty() && token.starts_line && !goes_on {
                break;
            }
            if !line.is_empty() && token.closes() {
                break;
            }
            line.push(token.clone());
            self.at += 1;
            if token.opens() || token.closes() {
                break;
            }
        }
        line
    }

    fn block(&mut self, depth: usize, notes: &mut ConversionNotes) -> Vec<ConfigStatement> {
        let mut out = Vec::new();
        let begin = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |token| token.line);
        loop {
            let mut line = self.line(depth);
            let Some(first) = line.first() else { break };
            let number = first.line;
            if first.closes() {
                if depth > 0 {
                    return out;
                }
                let place = SourcePlace::at_line(number);
                notes.unreadable(place, "}", "it closes nothing", "the whole file");
                continue;
            }
            let imported = first.imported;
            let opens = line.last().is_some_and(CaddyToken::opens);
            if opens {
                line.pop();
            }
            let mut words = line.into_iter().map(|token| token.text);
            let name = words.next().unwrap_or_default();
            let entered = notes.ledger.len();
            let args = words.collect();
            let mut statement = ConfigStatement::enter(name, args, number, &mut notes.ledger);
            if imported {
                notes.converted(statement.source.whole());
                continue;
            }
            statement.block = match opens {
                true if depth >= DEEP => {
                    let place = SourcePlace::at_line(number);
                    notes.unreadable(place, "{", "blocks nest too deep", "the whole file");
                    return out;
                }
                true => Some(self.block(depth + 1, notes)),
                false => None,
            };
            notes.ledger.adopt(entered + 1, notes.ledger.len(), statement.source);
            out.push(statement);
        }
        if depth > 0 {
            let place = SourcePlace::at_line(begin);
            notes.unreadable(place, "{", "a block is not closed", "the whole file");
        }
        out
    }
}
