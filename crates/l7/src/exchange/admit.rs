//! Admits a request to its rules, and refuses one whose body is longer than its service or rule allows.

use model::cause::Cause;

use super::HttpExchange;
use crate::exchange::routing::EarlyReply;
use crate::rt::NetDriver;

impl<N: NetDriver> HttpExchange<'_, N> {
    /// The response of whatever needs neither credentials nor a server, if any: the request is routed by then.
    pub(super) fn answer_early(&mut self) -> Option<EarlyReply> {
        self.check_client_certificate()
            .or_else(|| self.check_host())
            .or_else(|| self.answer_acme_challenge())
            .or_else(|| self.answer_last_hop())
            .or_else(|| self.admit())
    }

    /// Routes the request and limits its body; returns a response that ends the exchange, if any.
    fn admit(&mut self) -> Option<EarlyReply> {
        self.keep_credentials();
        let config = &self.view.config;
        if self.view.rules.is_some()
            || self.view.edits.is_some()
            || config.sticky.is_some()
            || config.forwarded.client_field.is_some()
            || config.path_normalization.applies_without_rules()
        {
            return self.route();
        }
        self.limit_body()
    }

    /// Limits a request's body for its server; returns the refusal of one that is known to be longer.
    pub(super) fn limit_body(&mut self) -> Option<EarlyReply> {
        let most = self.settings.body_bytes(&self.view.config);
        self.refuse_longer_body(most)
    }

    /// Refuses a request whose body is known to be longer than that; `None`: no limit.
    pub(super) fn refuse_longer_body(&mut self, most: Option<u64>) -> Option<EarlyReply> {
        let fits = self.incoming.body.set_limit(most?);
        (!fits).then_some(EarlyReply::Refused(Cause::BodyTooLarge))
    }
}
