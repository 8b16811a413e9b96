//! Edits of a request: those that fit are made one after the other, before the rules or after them.

use std::sync::Arc;

use model::cause::Cause;
use model::config::value_template::{RequestFacts, ValueBudget};
use model::request_head::ParsedHead;
use model::rules::RuleContext;
use model::rules::edits::{ComparedPaths, CompiledEdit, EditMatch, EditStage, EditTable};
use model::rules::rewrite::RewriteFault;

use super::{ExchangeContext, HttpExchange};
use crate::rt::NetDriver;
use crate::upstream::response_edits::AppliedEdit;
use crate::upstream::routing::local_seconds;

/// What stays the same for all edits of a stage.
struct EditContext<'s> {
    table: &'s Arc<EditTable>,
    paths: ComparedPaths<'static>,
    sni: Option<&'s str>,
    /// Local time, seconds since 1970.
    unix_seconds: i64,
}

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Makes the edits of the time before the rules.
    ///
    /// # Errors
    /// The cause for which the request is refused.
    pub(super) fn make_edits_before_rules(&mut self) -> Result<(), Cause> {
        match self.view.edits.clone() {
            Some(table) => self.make_edits(&table, EditStage::BeforeRules),
            None => Ok(()),
        }
    }

    /// Makes the edits of the chosen pool, and those of every pool.
    ///
    /// # Errors
    /// The cause for which the request is refused.
    pub(super) fn make_edits_after_rules(&mut self) -> Result<(), Cause> {
        let Some(table) = self.view.edits.clone() else { return Ok(()) };
        let pool = self.pool.view.borrow().clone();
        self.make_edits(&table, EditStage::AfterRules(&pool.config.name))
    }

    fn make_edits(&mut self, table: &Arc<EditTable>, stage: EditStage<'_>) -> Result<(), Cause> {
        if !table.edits().iter().any(|edit| edit.is_made_at(stage)) {
            return Ok(());
        }
        let ExchangeContext { worker, client, .. } = self.context;
        let head = self.incoming.view();
        let Some(paths) = table.compared_paths(&head).map(ComparedPaths::into_owned) else {
            return Err(Cause::AmbiguousPath);
        };
        drop(head);
        let sni = client.server_name();
        let unix_seconds = local_seconds(worker, table.wants_time());
        let context = EditContext { table, paths, sni: sni.as_deref(), unix_seconds };
        let mut budget = ValueBudget::default();
        for (at, edit) in table.edits().iter().enumerate() {
            if edit.is_made_at(stage) {
                self.make_edit(at, edit, &context, &mut budget).map_err(rewrite_cause)?;
            }
        }
        Ok(())
    }

    /// Makes one edit, if it fits the request as it is now.
    fn make_edit(
        &mut self,
        at: usize,
        edit: &CompiledEdit,
        context: &EditContext<'_>,
        budget: &mut ValueBudget,
    ) -> Result<(), RewriteFault> {
        let worker = self.context.worker;
        let EditContext { table, paths, sni, unix_seconds } = context;
        let head = self.incoming.view();
        let question = RuleContext {
            client: self.incoming.client(self.context.client_peer),
            sni: *sni,
            tos: None,
            head: Some(&head),
            unix_seconds: *unix_seconds,
        };
        match edit.match_request(&question, paths) {
            EditMatch::No => return Ok(()),
            EditMatch::Yes => {}
            EditMatch::Ambiguous => self.counters().edits_ambiguous.add(1),
        }
        let facts = self.request_facts(&head, *sni);
        let filled = edit.fill_response(&facts, budget)?;
        let mut out = worker.buffers.take();
        let is_changed = edit.rewrite_request(&self.incoming.head, &facts, budget, &mut out)?;
        drop(head);
        // The request line stays as it is, and so does the place of the target.
        let unused = match is_changed {
            true => std::mem::replace(&mut self.incoming.head, out),
            false => out,
        };
        worker.buffers.put(unused);
        if let Some(filled) = filled {
            self.changes.edits.push(AppliedEdit { table: Arc::clone(table), at, filled });
        }
        Ok(())
    }

    /// What variables of rules and edits stand for.
    pub(super) fn request_facts<'f>(
        &'f self,
        head: &'f ParsedHead<'f>,
        sni: Option<&'f str>,
    ) -> RequestFacts<'f> {
        let ExchangeContext { client, client_peer, .. } = self.context;
        RequestFacts {
            client: self.incoming.client(client_peer),
            port: client_peer.local.port(),
            scheme: client.scheme(),
            sni,
            forwarded_for: &self.incoming.forwarded_for,
            head,
        }
    }
}

/// The cause with which a request is refused that may not be sent as it would be written.
pub(super) fn rewrite_cause(fault: RewriteFault) -> Cause {
    match fault {
        RewriteFault::AmbiguousPath => Cause::AmbiguousPath,
        RewriteFault::ValuesTooLong => Cause::HeadTooLarge,
        RewriteFault::NotAHost => Cause::BadRequest,
    }
}
