//! LDAP (RFC 4511): a simple bind, anonymous or with a name and password, and a search if one is wanted.

use crate::ber;
use crate::dialogue::{DialogueStep, ProbeDialogue, printable_text};
use crate::ldap_result::{INTEGER, LdapResult, OCTETS, SEQUENCE};
use crate::ldap_search::{EntrySearch, SearchStep};

/// Bytes of one message at most.
/// Far above a bind response or an entry with one attribute; a broken server must not fill the memory.
const MESSAGE_BYTES: usize = 16 * 1_024;
/// Bytes of all answers to a search at most.
/// A thousand entries of a kilobyte; a search is repeated every few seconds.
const SEARCH_BYTES: usize = 1024 * 1_024;
/// Tags of the bind (RFC 4511 §4.2).
const BIND_REQUEST: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
/// Unbinds (RFC 4511 §4.3).
const UNBIND_REQUEST: u8 = 0x42;
/// Unsolicited notices, such as of a disconnection, have this tag (RFC 4511 §4.4).
const EXTENDED_RESPONSE: u8 = 0x78;
/// Numbers of our messages. Each dialogue has a connection of its own.
const BIND_ID: i32 = 1;
const SEARCH_ID: i32 = 2;
const UNBIND_ID: i32 = 3;

#[derive(Debug)]
pub struct LdapProbe {
    request: Vec<u8>,
    search: Option<EntrySearch>,
    is_bound: bool,
    received: Vec<u8>,
    /// Bytes of the answers so far.
    total: usize,
}

/// A message with what it is about.
#[derive(Clone, Copy, Debug)]
struct LdapMessage<'b> {
    id: i64,
    tag: u8,
    contents: &'b [u8],
}

impl LdapProbe {
    pub fn new(user: &str, password: &[u8], search: Option<EntrySearch>) -> LdapProbe {
        let credentials = [
            ber::encode_integer(3),
            ber::encode_element(OCTETS, user.as_bytes()),
            ber::encode_element(0x80, password),
        ];
        let bind = ber::encode_element(BIND_REQUEST, &credentials.concat());
        let request = encode_message(BIND_ID, &bind);
        LdapProbe { request, search, is_bound: false, received: Vec::new(), total: 0 }
    }

    fn take_message(&mut self, message: LdapMessage<'_>, out: &mut Vec<u8>) -> DialogueStep {
        let LdapMessage { id, tag, contents } = message;
        if tag == EXTENDED_RESPONSE || !self.is_bound {
            return match LdapResult::parse(contents) {
                Some(result) if matches!(tag, BIND_RESPONSE | EXTENDED_RESPONSE) => {
                    self.take_bind_result(&result, tag, out)
                }
                _ => DialogueStep::failure("the answer is not LDAP: not an answer to a bind"),
            };
        }
        let step = match &mut self.search {
            Some(search) if id == i64::from(SEARCH_ID) => search.take_answer(tag, contents),
            _ => SearchStep::NotLdap,
        };
        match step {
            SearchStep::More => DialogueStep::Wait,
            SearchStep::Done(result) => {
                out.extend(encode_message(UNBIND_ID, &ber::encode_element(UNBIND_REQUEST, &[])));
                DialogueStep::Done(result)
            }
            SearchStep::NotLdap => {
                DialogueStep::failure("the answer is not LDAP: not an answer to a search")
            }
        }
    }

    fn take_bind_result(
        &mut self,
        result: &LdapResult,
        tag: u8,
        out: &mut Vec<u8>,
    ) -> DialogueStep {
        let operation = if self.is_bound { "search" } else { "bind" };
        if result.code != 0 || tag == EXTENDED_RESPONSE {
            return DialogueStep::failure(format!("ldap {operation}: {}", result.describe()));
        }
        self.is_bound = true;
        match &self.search {
            Some(search) => {
                out.extend(encode_message(SEARCH_ID, search.request()));
                DialogueStep::Wait
            }
            None => {
                out.extend(encode_message(UNBIND_ID, &ber::encode_element(UNBIND_REQUEST, &[])));
                DialogueStep::success("ldap bind succeeded")
            }
        }
    }
}

impl ProbeDialogue for LdapProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        out.append(&mut self.request);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > SEARCH_BYTES {
            return DialogueStep::failure(format!("the {} is too long", self.awaited()));
        }
        self.received.extend_from_slice(bytes);
        loop {
            let received = std::mem::take(&mut self.received);
            let left;
            let step = match ber::read_element(&received) {
                ber::BerResult::Incomplete
                    if matches!(received.first(), None | Some(&SEQUENCE)) =>
                {
                    if received.len() > MESSAGE_BYTES {
                        return DialogueStep::failure(format!(
                            "the {} is too long",
                            self.awaited()
                        ));
                    }
                    self.received = received;
                    return DialogueStep::Wait;
                }
                ber::BerResult::Complete { tag: SEQUENCE, contents, rest } => {
                    left = rest.to_vec();
                    match read_message(contents) {
                        Some(message) => self.take_message(message, out),
                        None => DialogueStep::failure(format!(
                            "the answer is not LDAP: not an {}",
                            self.awaited()
                        )),
                    }
                }
                _ => {
                    return DialogueStep::failure(format!(
                        "the answer is not LDAP: '{}'",
                        printable_text(&received)
                    ));
                }
            };
            if step != DialogueStep::Wait {
                return step;
            }
            self.received = left;
        }
    }

    fn awaited(&self) -> &'static str {
        if self.is_bound { "answer to the search" } else { "answer to the bind" }
    }
}

fn encode_message(id: i32, operation: &[u8]) -> Vec<u8> {
    ber::encode_element(SEQUENCE, &[&ber::encode_integer(id), operation].concat())
}

fn read_message(message: &[u8]) -> Option<LdapMessage<'_>> {
    let id = ber::read_tagged(INTEGER, message)?;
    match ber::read_element(id.rest) {
        ber::BerResult::Complete { tag, contents, .. } => {
            Some(LdapMessage { id: ber::parse_integer(id.contents)?, tag, contents })
        }
        _ => None,
    }
}
