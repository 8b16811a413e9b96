//! The edits of a service, compiled: which of them fit a request, and which its answer.
//!
//! Each edit that fits is made, on what those before it left. It reads no clock and opens nothing.

use std::borrow::Cow;

use super::condition::{CompiledCondition, ConditionInput};
use super::context::{PoolLoad, RuleContext, RuleState};
use super::path_reading_policy::PathReadingPolicy;
use super::response_rewrite::{FilledResponse, ResponseRewrite};
use super::rewrite::{RequestRewrite, RewriteFault};
use super::value::{NamedValues, ValueSource};
use crate::config::value_template::{RequestFacts, ValueBudget};
use crate::config::{
    ActiveCountScope, Condition, EditConfig, NameValuePattern, PathCase, ResponseCondition,
    RewriteConfig, ServiceConfig, StatusRanges,
};
use crate::request_head::ParsedHead;

/// The edits of one service.
#[derive(Debug)]
pub struct EditTable {
    edits: Vec<CompiledEdit>,
    paths: PathReadingPolicy,
    /// Some condition reads the time of day.
    wants_time: bool,
    /// Some edit writes what clients sent as X-Forwarded-For.
    wants_forwarded_for: bool,
}

#[derive(Debug)]
pub struct CompiledEdit {
    /// The name, or `edit-N`.
    pub name: String,
    pub response_condition: ResponseMatcher,
    pub response_rewrite: ResponseRewrite,
    request_rewrite: Option<RequestRewrite>,
    condition: CompiledCondition,
    pool: Option<String>,
    after_rules: bool,
}

/// When edits are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditStage<'p> {
    BeforeRules,
    /// After the rules have chosen the pool of this name.
    AfterRules(&'p str),
}

/// Whether an edit fits a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditMatch {
    No,
    Yes,
    /// It fits some readings of the request and not others.
    Ambiguous,
}

/// The paths of a request that conditions compare.
#[derive(Debug)]
pub struct ComparedPaths<'h>(Vec<Cow<'h, [u8]>>);

/// A condition of answers.
#[derive(Debug)]
pub struct ResponseMatcher {
    statuses: StatusRanges,
    header: Option<NamedValues>,
    without: Option<NamedValues>,
}

impl EditTable {
    /// The edits of a service; `None`: it has none.
    pub fn new(service: &ServiceConfig) -> Option<EditTable> {
        if service.edits.is_empty() {
            return None;
        }
        let conditions = || service.edits.iter().map(|edit| &edit.when);
        let is_time = |condition: &Condition| matches!(condition, Condition::Time(..));
        let all = service.edits.iter().enumerate();
        let edits: Vec<CompiledEdit> =
            all.map(|(at, edit)| CompiledEdit::new(at, edit, service.path_case)).collect();
        Some(EditTable {
            paths: PathReadingPolicy::new(service, conditions()),
            wants_time: conditions().any(|when| when.contains(&is_time)),
            wants_forwarded_for: edits.iter().any(CompiledEdit::wants_forwarded_for),
            edits,
        })
    }

    pub fn edits(&self) -> &[CompiledEdit] {
        &self.edits
    }

    /// Whether a condition reads the time of day.
    pub fn wants_time(&self) -> bool {
        self.wants_time
    }

    /// Whether an edit writes what clients sent as X-Forwarded-For.
    pub fn wants_forwarded_for(&self) -> bool {
        self.wants_forwarded_for
    }

    /// The paths that conditions compare, which no edit changes; `None`: there are more than are examined.
    pub fn compared_paths<'h>(&self, head: &'h ParsedHead<'_>) -> Option<ComparedPaths<'h>> {
        self.paths.comparison_paths(head).map(ComparedPaths)
    }
}

impl ComparedPaths<'_> {
    /// The same, for a head that is changed meanwhile.
    pub fn into_owned(self) -> ComparedPaths<'static> {
        ComparedPaths(self.0.into_iter().map(|path| Cow::Owned(path.into_owned())).collect())
    }
}

impl CompiledEdit {
    fn new(at: usize, edit: &EditConfig, case: PathCase) -> CompiledEdit {
        let RewriteConfig { host, set, add, remove, .. } = &edit.rewrite;
        let changes_request =
            host.is_some() || !set.is_empty() || !add.is_empty() || !remove.is_empty();
        CompiledEdit {
            name: edit.name.clone().unwrap_or_else(|| format!("edit-{}", at + 1)),
            response_condition: ResponseMatcher::new(&edit.when_response),
            response_rewrite: ResponseRewrite::new(&edit.rewrite),
            request_rewrite: changes_request.then(|| RequestRewrite::new(&edit.rewrite, case)),
            // Conditions of edits name no pools.
            condition: CompiledCondition::new(&edit.when, case, &mut |_| 0),
            pool: edit.pool.clone(),
            after_rules: edit.after_rules,
        }
    }

    fn wants_forwarded_for(&self) -> bool {
        self.request_rewrite.as_ref().is_some_and(RequestRewrite::wants_forwarded_for)
            || self.response_rewrite.wants_forwarded_for()
    }

    /// Whether it is made at a stage.
    pub fn is_made_at(&self, stage: EditStage<'_>) -> bool {
        match stage {
            EditStage::BeforeRules => !self.after_rules,
            EditStage::AfterRules(pool) => {
                self.after_rules && self.pool.as_deref().is_none_or(|own| own == pool)
            }
        }
    }

    /// Whether it fits a request. An edit fits where one reading of the request does, so that nothing is kept that it was
    /// to take away.
    pub fn match_request(&self, context: &RuleContext<'_>, paths: &ComparedPaths<'_>) -> EditMatch {
        let state = &StatelessRules;
        let input = ConditionInput { rule: 0, pool: 0, refuses: false, context, state };
        let paths: Vec<&[u8]> = paths.0.iter().map(|path| &**path).collect();
        let fit = self.condition.match_readings(&input, &paths);
        match fit.possible.is_empty() {
            true => EditMatch::No,
            false if fit.certain.is_complete(paths.len()) => EditMatch::Yes,
            false => EditMatch::Ambiguous,
        }
    }

    /// Writes `message`, which begins with the head of `facts`, with the changes of the request. Its request line stays.
    /// Returns false, and writes nothing, if the edit changes no request.
    ///
    /// # Errors
    /// The request may not be sent so.
    pub fn rewrite_request(
        &self,
        message: &[u8],
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
        out: &mut Vec<u8>,
    ) -> Result<bool, RewriteFault> {
        let Some(rewrite) = &self.request_rewrite else { return Ok(false) };
        rewrite.apply_to_fields(message, facts, budget, out)?;
        Ok(true)
    }

    /// Fills what it adds to the answer; `None`: it changes no answer.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn fill_response(
        &self,
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
    ) -> Result<Option<FilledResponse>, RewriteFault> {
        let rewrite = &self.response_rewrite;
        if rewrite.is_empty() {
            return Ok(None);
        }
        budget.take(rewrite.fixed_bytes()).ok_or(RewriteFault::ValuesTooLong)?;
        rewrite.fill_within(facts, budget).map(Some).ok_or(RewriteFault::ValuesTooLong)
    }
}

impl ResponseMatcher {
    fn new(written: &ResponseCondition) -> ResponseMatcher {
        let values = |fields: &[NameValuePattern]| {
            (!fields.is_empty()).then(|| NamedValues::new(ValueSource::Field, fields))
        };
        ResponseMatcher {
            statuses: written.statuses.clone(),
            header: values(&written.header),
            without: values(&written.without),
        }
    }

    /// Whether an answer fits. `has`: whether it has one of these fields.
    pub fn fits(&self, status: u16, has: &dyn Fn(&NamedValues) -> bool) -> bool {
        (self.statuses.0.is_empty() || self.statuses.contains(status))
            && self.header.as_ref().is_none_or(has)
            && !self.without.as_ref().is_some_and(has)
    }
}

/// The state of a service without rules: the configuration gives edits no condition that reads it.
struct StatelessRules;

impl RuleState for StatelessRules {
    fn active_count(&self, _: usize, _: usize, _: ActiveCountScope) -> u64 {
        0
    }

    fn arrivals_per_second(&self) -> u64 {
        0
    }

    fn rule_bits(&self, _: usize) -> u64 {
        0
    }

    fn service_bits(&self) -> u64 {
        0
    }

    fn pool_load(&self, _: usize) -> PoolLoad {
        PoolLoad::default()
    }

    fn has_server(&self, _: usize) -> bool {
        false
    }

    fn take_rate_token(&self, _: usize) -> bool {
        false
    }

    fn record_passed_over(&self, _: usize) {}
}
