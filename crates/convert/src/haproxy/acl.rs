//! Conditions after `if` and `unless`: named ACLs, anonymous ACLs, and their combination.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::answer_criterion::answer_criterion;
use super::fetch::{criterion, method_condition};
use super::lex::ConfigLine;
use super::pools::BackendPools;

/// The most criteria in all conditions of a proxy together. Each use of a name writes all of its alternatives, and the
/// largest file that is written has no room for more.
const USED: usize = 200_000;

/// Converts a criterion, its flags and its values.
type CriterionReader = fn(&[String], &BackendPools) -> Result<RuleCondition, UnsupportedReason>;

/// Criteria by name. Several criteria of one name are alternatives.
#[derive(Debug)]
pub struct AclTable {
    named: HashMap<String, Vec<NamedCriterion>>,
    reader: CriterionReader,
    /// The criteria that stand in conditions, each as often as it does.
    used: Cell<usize>,
}

/// The criteria of a proxy, for rules about requests and for those about answers.
#[derive(Debug)]
pub struct AclTables<'l> {
    pub requests: AclTable,
    lines: &'l [ConfigLine],
    /// Read when the first rule about answers asks for them.
    answers: OnceCell<AclTable>,
}

impl AclTables<'_> {
    /// Reads `acl NAME …` lines.
    pub fn read<'l>(lines: &'l [ConfigLine], pools: &BackendPools) -> AclTables<'l> {
        AclTables { requests: AclTable::read(lines, pools), lines, answers: OnceCell::new() }
    }

    pub fn answers(&self, pools: &BackendPools) -> &AclTable {
        self.answers.get_or_init(|| AclTable::read_with(answer_criterion, self.lines, pools))
    }
}

#[derive(Debug)]
struct NamedCriterion {
    condition: RuleCondition,
    line: ConfigLine,
}

impl AclTable {
    /// Reads `acl NAME …` lines, for rules about requests and connections.
    pub fn read(lines: &[ConfigLine], pools: &BackendPools) -> AclTable {
        AclTable::read_with(criterion, lines, pools)
    }

    fn read_with(reader: CriterionReader, lines: &[ConfigLine], pools: &BackendPools) -> AclTable {
        let mut out = AclTable { named: HashMap::new(), reader, used: Cell::default() };
        for line in lines {
            let name = line.word(1);
            let words = line.rest(2);
            // HAProxy reads a criterion up to an empty word.
            let end = words.iter().position(String::is_empty).unwrap_or(words.len());
            let condition = reader(&words[..end], pools).unwrap_or_else(|why| {
                let reason = format!("`{name}`: {}", why.reason);
                RuleCondition::Unknown(UnsupportedReason::new(reason, why.instead))
            });
            out.named
                .entry(name.to_owned())
                .or_default()
                .push(NamedCriterion { condition, line: line.clone() });
        }
        out
    }

    /// The line of a criterion that has only this one.
    pub fn only_line(&self, name: &str) -> Option<&ConfigLine> {
        match self.named.get(name).map(Vec::as_slice) {
            Some([only]) => Some(&only.line),
            _ => None,
        }
    }

    /// The condition after the action: `if …`, `unless …` or no condition. A part that cannot be expressed becomes an
    /// unknown condition.
    pub fn condition(&self, words: &[String], pools: &BackendPools) -> RuleCondition {
        let joined = |words: &[String]| {
            self.join_conditions(words, pools).unwrap_or_else(RuleCondition::Unknown)
        };
        match words.first().map(String::as_str) {
            None => RuleCondition::Is(true),
            Some("if") => joined(&words[1..]),
            Some("unless") => joined(&words[1..]).negate(),
            Some(other) => RuleCondition::Unknown(UnsupportedReason::new(
                format!("`{other}` is not known here"),
                "",
            )),
        }
    }

    /// As `condition`, for actions that neither deny nor allow.
    ///
    /// # Errors
    /// A part of the condition cannot be expressed.
    pub fn known_condition(
        &self,
        words: &[String],
        pools: &BackendPools,
    ) -> Result<RuleCondition, UnsupportedReason> {
        self.condition(words, pools).known()
    }

    fn join_conditions(
        &self,
        words: &[String],
        pools: &BackendPools,
    ) -> Result<RuleCondition, UnsupportedReason> {
        let mut any = Vec::new();
        let mut all = Vec::new();
        let mut negated = false;
        let mut at = 0;
        while let Some(word) = words.get(at).map(String::as_str) {
            at += 1;
            match word {
                "or" | "||" => any.push(alone_or(std::mem::take(&mut all), RuleCondition::All)),
                "!" => negated = !negated,
                _ => {
                    let bare = word.trim_start_matches('!');
                    negated ^= (word.len() - bare.len()) % 2 == 1;
                    let cond = if bare == "{" {
                        let end = words[at..].iter().position(|word| word == "}");
                        let end = at
                            + end.ok_or_else(|| {
                                UnsupportedReason::new("a brace is not closed", "")
                            })?;
                        let inner = (self.reader)(&words[at..end], pools)
                            .unwrap_or_else(RuleCondition::Unknown);
                        at = end + 1;
                        inner
                    } else {
                        self.named_condition(bare).unwrap_or_else(RuleCondition::Unknown)
                    };
                    all.push(if negated { cond.negate() } else { cond });
                    negated = false;
                }
            }
        }
        if all.is_empty() && any.is_empty() {
            return Err(UnsupportedReason::new("the condition is empty", ""));
        }
        any.push(alone_or(all, RuleCondition::All));
        Ok(alone_or(any, RuleCondition::Any))
    }

    fn named_condition(&self, name: &str) -> Result<RuleCondition, UnsupportedReason> {
        if let Some(alternatives) = self.named.get(name) {
            self.used.set(self.used.get().saturating_add(alternatives.len()));
            if self.used.get() > USED {
                let reason = format!("`{name}` and other criteria stand in too many rules");
                return Err(UnsupportedReason::new(reason, "fewer alternatives of one name"));
            }
            alternatives.iter().for_each(|one| one.line.mark_converted());
            let conditions = alternatives.iter().map(|one| one.condition.clone());
            return Ok(RuleCondition::Any(conditions.collect()));
        }
        match name {
            "TRUE" => Ok(RuleCondition::Is(true)),
            "FALSE" => Ok(RuleCondition::Is(false)),
            "LOCALHOST" => Ok(RuleCondition::texts("client", &["127.0.0.1/8", "::1"])),
            "METH_GET" => Ok(RuleCondition::texts("method", &["GET", "HEAD"])),
            "HTTP" | "HTTP_1.1" => {
                Err(UnsupportedReason::new("versions of the protocol are not told apart", ""))
            }
            _ => match name.strip_prefix("METH_") {
                Some(method) => Ok(method_condition(&[method])),
                None => Err(UnsupportedReason::new(format!("there is no criterion `{name}`"), "")),
            },
        }
    }
}

/// The only part, or all parts joined. Most conditions have one part, and a file may have a hundred thousand of them.
fn alone_or(
    mut parts: Vec<RuleCondition>,
    join: fn(Vec<RuleCondition>) -> RuleCondition,
) -> RuleCondition {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            parts.shrink_to_fit();
            join(parts)
        }
    }
}
