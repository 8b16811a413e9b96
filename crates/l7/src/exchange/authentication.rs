//! Whether the client of an exchange may come in: asked after the rules and before any server.
//!
//! What a client shows is kept as it came, because rules may change the head before it is known who has to show what.

mod asked_access;
mod auth_answer;
mod auth_question;

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use credentials::basic_credentials::BasicCredentials;
use credentials::jwt::refusal::JwtRefusal;
use model::cause::Cause;
use model::config::RuleAuth;
use model::request_head::{fields, same_name};

use super::{ExchangeContext, HttpExchange};
use crate::exchange::head_fields::{self, HeadFieldLine};
use crate::exchange::routing::EarlyReply;
use crate::exchange::shown_credentials::ShownCredentials;
use crate::rt::NetDriver;
use crate::worker::authentication::auth_object::{AuthMethod, AuthObject, PasswordUsers};
use crate::worker::authentication::cookie_pairs;
use crate::worker::authentication::key_parameter::{self, ParameterValue};
use crate::worker::authentication::password_checks::{PasswordAnswer, PasswordQuestion};

/// How long a request waits for the check of its password: a browser's user tries again after so long.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) const AUTHORIZATION: &str = "Authorization";
pub(super) const COOKIE: &str = "Cookie";

/// What a client has proven.
pub(super) struct ProvenUser {
    /// Field lines that tell servers who the user is.
    pub lines: Arc<[u8]>,
    /// What is taken out of the request for servers.
    pub credential: ShownCredential,
}

/// A credential in the request.
pub(super) enum ShownCredential {
    Field { name: String, value: Vec<u8> },
    Parameter(String),
    Cookie { name: String, value: Vec<u8> },
}

/// Why a client may not come in.
pub(super) struct AccessRefusal {
    pub cause: Cause,
    /// What is wrong with its token.
    pub reason: Option<JwtRefusal>,
}

impl From<Cause> for AccessRefusal {
    fn from(cause: Cause) -> AccessRefusal {
        AccessRefusal { cause, reason: None }
    }
}

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Removes what clients say in fields that only authentication may write, and keeps what they show.
    pub(super) fn keep_credentials(&mut self) {
        let view = self.view.clone();
        let plan = &view.config.auth_plan;
        if !plan.user_fields.is_empty() {
            let is_reserved = |line: HeadFieldLine<'_>| {
                plan.user_fields.iter().any(|name| same_name(line.name, name.as_bytes()))
            };
            self.write_fields(&is_reserved, b"");
        }
        if !plan.key_parameters.is_empty() && !self.incoming.view().query().is_empty() {
            let hide = |target: Vec<u8>, name: &String| key_parameter::hidden(&target, name);
            let target = self.incoming.target().to_vec();
            // What the log shows.
            self.incoming.original_target = Some(plan.key_parameters.iter().fold(target, hide));
        }
        if plan.is_needed {
            let end = self.incoming.head.windows(4).position(|four| four == b"\r\n\r\n");
            let end = end.map_or(self.incoming.head.len(), |at| at + 4);
            self.shown_credentials = Some(Box::new(ShownCredentials {
                received: self.incoming.head.get(..end).unwrap_or_default().to_vec(),
                target: self.incoming.target.clone(),
                reply_lines: Vec::new(),
            }));
        }
    }

    /// The refusal of a client that has not proven who it is, where that is wanted. `end`: what the rules answer.
    pub(super) async fn check_access(&mut self, end: Option<&EarlyReply>) -> Option<EarlyReply> {
        let view = self.view.clone();
        let of_service = view.config.auth.as_deref();
        let matched = self.matched_rule.as_ref();
        let of_rule = matched.and_then(|it| view.config.rules.get(it.at)).map(|rule| &rule.auth);
        let name = match (end, of_rule) {
            (Some(EarlyReply::Refused(_)), _) => None,
            (Some(EarlyReply::Composed(_)), Some(RuleAuth::Object(name))) => Some(name.as_str()),
            (Some(EarlyReply::Composed(_)), _) => None,
            (None, of_rule) => of_rule.unwrap_or(&RuleAuth::Service).object(of_service),
        };
        let Some(object) = self.context.worker.auth_object(name?) else {
            // Nobody may come in while it is unknown who may.
            return Some(EarlyReply::Refused(Cause::AuthOverloaded));
        };
        if let AuthMethod::Question(asked) = &object.method {
            return self.ask_for_access(&object.config, asked).await;
        }
        let proven = match &object.method {
            AuthMethod::Passwords(users) => {
                self.check_password(&object, users).await.map_err(AccessRefusal::from)
            }
            AuthMethod::ApiKeys(_) => self.check_api_key(&object).map_err(AccessRefusal::from),
            AuthMethod::Tokens(users) => self.check_token(&object.config, users),
            AuthMethod::Question(_) => Err(AccessRefusal::from(Cause::Internal)),
        };
        match proven {
            Ok(user) => {
                self.counters().auth_admitted.add(1);
                self.admit_user(&object, &user);
                None
            }
            Err(AccessRefusal { cause, reason }) => {
                if cause == Cause::Unauthenticated
                    && let Some(shown) = &mut self.shown_credentials
                {
                    shown.reply_lines = object.challenge(reason);
                }
                Some(EarlyReply::Refused(cause))
            }
        }
    }

    async fn check_password(
        &self,
        object: &AuthObject,
        users: &PasswordUsers,
    ) -> Result<ProvenUser, Cause> {
        let value = self.received_field(AUTHORIZATION).ok_or(Cause::Unauthenticated)?;
        let credentials = BasicCredentials::parse(value).ok_or(Cause::Unauthenticated)?;
        let user = ProvenUser {
            lines: object.user_line(&credentials.name),
            credential: ShownCredential::Field {
                name: AUTHORIZATION.to_owned(),
                value: value.to_vec(),
            },
        };
        let worker = self.context.worker;
        let proven = users.proven.as_ref();
        let digest = proven.map(|it| it.digest(&credentials.name, &credentials.password));
        if let (Some(proven), Some(digest)) = (proven, &digest)
            && proven.contains(digest, worker.rt.now())
        {
            self.counters().auth_cached.add(1);
            return Ok(user);
        }
        if !self.ask_password_thread(users, credentials).await? {
            return Err(Cause::Unauthenticated);
        }
        if let (Some(proven), Some(digest)) = (proven, digest) {
            proven.insert(digest, worker.rt.now());
        }
        Ok(user)
    }

    /// Has the password checked by a thread that has the time.
    async fn ask_password_thread(
        &self,
        users: &PasswordUsers,
        credentials: BasicCredentials,
    ) -> Result<bool, Cause> {
        let ExchangeContext { worker, client_peer, .. } = self.context;
        let task = worker.rt.current().ok_or(Cause::Internal)?;
        let checks = Arc::clone(&worker.password_checks);
        let index = worker.index;
        let question = PasswordQuestion {
            file: Arc::clone(&users.file),
            credentials,
            client: self.incoming.client(client_peer).ip(),
            on_answer: Box::new(move || checks.wake(index, task)),
        };
        let answer = worker.password_checks.submit(question).map_err(|_| Cause::AuthOverloaded)?;
        let until = (worker.rt.now() + CHECK_TIMEOUT).min(self.total_deadline);
        let answered = std::future::poll_fn(|_| match PasswordAnswer::get(&answer) {
            Some(is_right) => Poll::Ready(Some(is_right)),
            None if worker.rt.now() >= until => Poll::Ready(None),
            None => {
                worker.rt.wake_at(until);
                Poll::Pending
            }
        });
        answered.await.ok_or(Cause::AuthOverloaded)
    }

    fn check_api_key(&self, object: &AuthObject) -> Result<ProvenUser, Cause> {
        let AuthMethod::ApiKeys(keys) = &object.method else { return Err(Cause::Internal) };
        let refused = Cause::Unauthenticated;
        if let Some(name) = &object.config.query {
            let shown = self.shown_credentials.as_ref().ok_or(Cause::Internal)?;
            let ParameterValue::Value(key) = key_parameter::find(shown.target(), name) else {
                return Err(refused);
            };
            let holder = keys.find_holder(&key).ok_or(refused)?;
            let credential = ShownCredential::Parameter(name.clone());
            return Ok(ProvenUser { lines: object.user_line(holder), credential });
        }
        let name = object.config.header.as_deref().unwrap_or(AUTHORIZATION);
        let value = self.received_field(name).ok_or(refused)?;
        let holder = keys.find_holder(value).ok_or(refused)?;
        let credential = ShownCredential::Field { name: name.to_owned(), value: value.to_vec() };
        Ok(ProvenUser { lines: object.user_line(holder), credential })
    }

    fn received_field(&self, name: &str) -> Option<&[u8]> {
        self.shown_credentials.as_ref()?.single_field(name)
    }

    /// Takes the credential out of the request for the server, and says who the user is.
    fn admit_user(&mut self, object: &AuthObject, user: &ProvenUser) {
        if !object.config.keep_credentials {
            self.remove_credential(&user.credential);
        }
        if !user.lines.is_empty() {
            self.write_fields(&|_| false, &user.lines);
        }
    }

    fn remove_credential(&mut self, credential: &ShownCredential) {
        match credential {
            // A rule may have written another one for the server.
            ShownCredential::Field { name, value } => self.write_fields(
                &|line| line.name.eq_ignore_ascii_case(name.as_bytes()) && line.value == value,
                b"",
            ),
            ShownCredential::Cookie { name, value } => {
                let mut lines = Vec::new();
                for cookies in fields(&self.incoming.head, COOKIE.as_bytes()) {
                    let rest = cookie_pairs::without(cookies, name, value);
                    if !rest.is_empty() {
                        lines.extend_from_slice(b"Cookie: ");
                        lines.extend_from_slice(&rest);
                        lines.extend_from_slice(b"\r\n");
                    }
                }
                let is_dropped =
                    |line: HeadFieldLine<'_>| line.name.eq_ignore_ascii_case(COOKIE.as_bytes());
                self.write_fields(&is_dropped, &lines);
            }
            ShownCredential::Parameter(name) => {
                let target = key_parameter::without(self.incoming.target(), name);
                let place = self.incoming.target.clone();
                let head = &self.incoming.head;
                let mut out = self.context.worker.buffers.take();
                out.extend_from_slice(head.get(..place.start).unwrap_or_default());
                out.extend_from_slice(&target);
                out.extend_from_slice(head.get(place.end..).unwrap_or_default());
                let old = self.incoming.replace(out, place.start..place.start + target.len());
                self.context.worker.buffers.put(old);
            }
        }
    }

    /// Writes the head for the server anew. The request line stays, and so does the place of the target.
    pub(super) fn write_fields(
        &mut self,
        is_dropped: &dyn Fn(HeadFieldLine<'_>) -> bool,
        lines: &[u8],
    ) {
        let worker = self.context.worker;
        let mut out = worker.buffers.take();
        head_fields::write_fields(&self.incoming.head, is_dropped, lines, &mut out);
        worker.buffers.put(std::mem::replace(&mut self.incoming.head, out));
    }
}
