//! Whether a server of `[auth]` lets a request pass: the question is written and asked, and its answer is carried out.

use std::sync::Arc;

use model::cause::Cause;
use model::config::{AuthConfig, AuthFailureAction};
use model::error_pages::{has_field, without_body_fields, without_repeated};
use model::request_head::{ParsedHead, fields, same_name};
use model::rules::{PathAdmission, admit_path};
use model::time_attribution::WaitReason;

use crate::conn::deadline::ExchangeDeadline;
use crate::exchange::authentication::auth_answer::AuthAnswer;
use crate::exchange::authentication::auth_question::{self, AuthQuestion};
use crate::exchange::routing::EarlyReply;
use crate::exchange::{ExchangeContext, HttpExchange};
use crate::rt::NetDriver;
use crate::upstream::routing::ComposedReply;
use crate::worker::authentication::auth_object::AskedService;
use crate::worker::authentication::question::{QuestionFacts, write_question};
use crate::worker::authentication::question_answer::{AnswerMeaning, interpret_status};

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Asks whether the request may pass; returns the response to one that may not.
    pub(super) async fn ask_for_access(
        &mut self,
        config: &Arc<AuthConfig>,
        asked: &AskedService,
    ) -> Option<EarlyReply> {
        let Some(message) = self.write_question(config) else {
            return Some(EarlyReply::Refused(Cause::Unauthenticated));
        };
        let worker = self.context.worker;
        let digest = asked.remembered.as_ref().map(|it| it.digest(&message));
        if let (Some(remembered), Some(digest)) = (&asked.remembered, &digest)
            && let Some(lines) = remembered.find(worker.index, digest, worker.rt.now())
        {
            self.counters().auth_cached.add(1);
            self.counters().auth_admitted.add(1);
            self.take_fields(config, &lines);
            return None;
        }
        let answer = match asked.slots.take(worker.index) {
            Some(slot) => {
                let waits = &mut self.record.sample.awaited;
                waits.wait_for(WaitReason::AuthAnswer, worker.rt.update_now());
                let answer = self.ask_pool(config, &message).await;
                self.record.sample.awaited.stop(worker.rt.update_now());
                drop(slot);
                answer
            }
            None => Err(Cause::AuthOverloaded),
        };
        let answer = match answer {
            Ok(answer) => answer,
            // The exchange itself has ended.
            Err(cause @ (Cause::ClientReset | Cause::DrainCut | Cause::WholeTimeout)) => {
                return Some(EarlyReply::Refused(cause));
            }
            Err(cause) => return self.go_on_without_answer(config, cause),
        };
        match interpret_status(answer.status) {
            AnswerMeaning::Admit => {
                self.counters().question_passed.add(1);
                self.counters().auth_admitted.add(1);
                self.take_fields(config, &answer.lines);
                if let (Some(remembered), Some(digest), Some(validity)) =
                    (&asked.remembered, digest, answer.validity)
                {
                    let now = worker.rt.now();
                    let evicted =
                        remembered.insert(worker.index, digest, &answer.lines, validity, now);
                    self.counters().answers_evicted.add(u64::from(evicted));
                }
                None
            }
            AnswerMeaning::Refuse => Some(self.pass_refusal(answer)),
            AnswerMeaning::Unusable => self.go_on_without_answer(config, Cause::ServerStatus),
        }
    }

    fn write_question(&self, config: &AuthConfig) -> Option<Vec<u8>> {
        let ExchangeContext { client, client_peer, .. } = self.context;
        let shown = self.shown_credentials.as_ref()?;
        let head = ParsedHead::new(&shown.received, self.incoming.method_len, shown.target.clone());
        // As the server will read the path; what rules make of it is not the client's wish.
        let target = match admit_path(self.view.config.path_normalization, &head) {
            PathAdmission::Rewritten(target) => target,
            PathAdmission::Unchanged | PathAdmission::Refused => shown.target().to_vec(),
        };
        let facts = QuestionFacts {
            method: head.method(),
            target: &target,
            scheme: self.client_scheme(&shown.received).unwrap_or(client.scheme()),
            client: self.incoming.client(client_peer).ip(),
            head: &shown.received,
        };
        write_question(config, &facts)
    }

    /// The scheme that a trusted proxy says its client used.
    fn client_scheme(&self, head: &[u8]) -> Option<&'static str> {
        if !self.view.trusts(self.context.client_peer.peer.ip()) {
            return None;
        }
        let mut values = fields(head, b"x-forwarded-proto");
        let said = values.next().filter(|_| values.next().is_none())?;
        ["http", "https"].into_iter().find(|one| said.eq_ignore_ascii_case(one.as_bytes()))
    }

    async fn ask_pool(&self, config: &AuthConfig, message: &[u8]) -> Result<AuthAnswer, Cause> {
        let ExchangeContext { worker, client, client_peer, service } = self.context;
        let pool = config.pool.as_deref().unwrap_or_default();
        let pool = worker.local.borrow().auth_pools.get(pool).cloned().ok_or(Cause::Internal)?;
        let question = AuthQuestion {
            config,
            pool: &pool,
            message,
            client_peer,
            client: self.incoming.client(client_peer).ip(),
            class: self.class,
            authenticates: self.incoming.authenticates,
            until: worker.rt.update_now() + config.timeout,
            deadline: ExchangeDeadline {
                client: Some(client),
                total: self.total_deadline,
                cut_at: &service.cut_at,
            },
        };
        auth_question::ask(worker, &question).await
    }

    /// Refuses the request, or lets it pass where that is wanted.
    fn go_on_without_answer(&mut self, config: &AuthConfig, cause: Cause) -> Option<EarlyReply> {
        match config.on_failure {
            AuthFailureAction::Allow => {
                self.counters().question_allowed.add(1);
                self.take_fields(config, b"");
                None
            }
            AuthFailureAction::Refuse => {
                self.counters().question_failed.add(1);
                self.record.defect = Some(cause.name());
                let is_full = cause == Cause::AuthOverloaded;
                Some(EarlyReply::Refused(if is_full { cause } else { Cause::AuthUnanswered }))
            }
        }
    }

    /// Writes the fields of the answer into the request to the server, in the place of the client's.
    fn take_fields(&mut self, config: &AuthConfig, lines: &[u8]) {
        if !config.take.is_empty() {
            let is_taken =
                |name: &[u8]| config.take.iter().any(|taken| same_name(name, taken.as_bytes()));
            self.write_fields(&|line| is_taken(line.name), lines);
        }
    }

    /// The answer for the client.
    fn pass_refusal(&mut self, answer: AuthAnswer) -> EarlyReply {
        let AuthAnswer { status, mut lines, body, body_dropped, .. } = answer;
        let counters = self.counters();
        counters.question_refused.add(1);
        counters.question_bodies_dropped.add(u64::from(body_dropped));
        self.record.cause = Some(Cause::Unauthenticated);
        if body_dropped {
            lines = without_body_fields(&lines);
        }
        if !has_field(&lines, "cache-control") {
            // A redirect to a login may be stored otherwise (RFC 9110 §15.1).
            lines.extend_from_slice(b"Cache-Control: no-store\r\n");
        }
        let mut own = Vec::new();
        self.changes.write_own_lines(status, &mut own);
        lines = without_repeated(&lines, &own);
        lines.extend_from_slice(&own);
        EarlyReply::Composed(ComposedReply { status, lines, body })
    }
}
