//! The desk where queries are answered: one a thread, with its own turns, rates and cookies. Bytes and time in, bytes and a
//! fate out.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use model::moment::Moment;

use super::answer::{Client, Place, Written, place, write};
use super::book::Book;
use super::chance::mix;
use super::cookie::Cookies;
use super::counts::{Fate, Transport};
use super::edns::Edns;
use super::limit::{Class, Limiter, Verdict};
use super::question::{Bad, Question};
use super::write::{Message, OPT, bare};

/// Over UDP, to a client that has not shown a cookie of ours, an answer is at most so many times as long as the query: what
/// is longer is asked for over TCP.
pub const AMPLIFICATION: usize = 10;

/// The largest answer over TCP.
const TCP_MAX: usize = 65_535;

/// Codes of answers (RFC 1035 §4.1.1, RFC 6891 §9).
mod code {
    pub(super) const GOOD: u16 = 0;
    pub(super) const FORM: u16 = 1;
    pub(super) const NO_NAME: u16 = 3;
    pub(super) const NOT_IMPLEMENTED: u16 = 4;
    pub(super) const REFUSED: u16 = 5;
    pub(super) const BAD_VERSION: u16 = 16;
}

/// Who asks, how and when.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Where the query came from.
    pub from: IpAddr,
    /// By which transport.
    pub by: Transport,
    /// Now.
    pub now: Moment,
    /// Now, for cookies.
    pub unix_seconds: u32,
}

/// One thread's.
#[derive(Debug)]
pub struct Desk {
    limiter: Limiter,
    cookies: Cookies,
    /// The next turn of each name, by family.
    turns: Vec<[u64; 2]>,
    seed: u64,
    options: Vec<u8>,
}

/// What the OPT record of an answer needs.
struct Beside {
    edns: Option<Edns>,
    cookie: Option<[u8; 16]>,
    /// The client's network is told back.
    subnet: bool,
    /// Bytes that it takes.
    bytes: usize,
}

impl Desk {
    /// `secret`: of cookies, the same at every desk of a process. `seed`: another one at each.
    pub fn new(secret: [u8; 16], seed: u64) -> Desk {
        Desk {
            limiter: Limiter::new(seed),
            cookies: Cookies::new(secret),
            turns: Vec::new(),
            seed,
            options: Vec::new(),
        }
    }

    /// Networks that lost their place among the limited since this was asked last.
    pub fn crowded(&mut self) -> u64 {
        std::mem::take(&mut self.limiter.crowded)
    }

    /// Answers a query into `out`, which is empty where nothing is to be sent.
    pub fn answer(&mut self, book: &Book, asked: &Asked, query: &[u8], out: &mut Vec<u8>) -> Fate {
        out.clear();
        let question = match Question::read(query) {
            Ok(question) => question,
            Err(bad) => return self.reject(book, asked, query, bad, out),
        };
        let (beside, known) = self.beside(book, asked, &question);
        let free = known || asked.by == Transport::Tcp;
        let size = self.size(book, asked, &question, (query.len(), known));
        let bad_version = question.edns.is_some_and(|edns| edns.version != 0);
        let place = if bad_version { Place::Refused } else { place(book, &question) };
        let class = class(book, place, &question);
        let verdict = self.verdict(book, asked, class, free);
        if verdict == Verdict::Drop {
            return Fate::Limited;
        }
        let mut message = Message::new(out, &question, size.saturating_sub(beside.bytes));
        if verdict == Verdict::Slip {
            self.finish(book, &question, &beside, message, (code::GOOD, true), 0);
            return Fate::Slipped;
        }
        if matches!(place, Place::Refused) {
            let (code, fate) = if bad_version {
                (code::BAD_VERSION, Fate::BadVersion)
            } else {
                (code::REFUSED, Fate::Refused)
            };
            self.finish(book, &question, &beside, message, (code, false), 0);
            return fate;
        }
        let address = question.edns.and_then(|edns| edns.subnet).filter(|it| it.bits > 0);
        let address = address.filter(|_| book.client_subnet).map(|subnet| subnet.address);
        let client = Client { address: address.unwrap_or(asked.from) };
        let mut turn = |name: usize, v6: bool| self.turn(book, name, v6);
        let written = write(book, &question, place, client, &mut turn, &mut message);
        if written.truncated {
            message.cut(&question);
        }
        let code = if written.missing { code::NO_NAME } else { code::GOOD };
        let scope = if address.is_some() { written.scope } else { 0 };
        self.finish(book, &question, &beside, message, (code, written.truncated), scope);
        count(book, &written);
        fate(&written)
    }

    /// What cannot be read as a query.
    fn reject(
        &mut self,
        book: &Book,
        asked: &Asked,
        query: &[u8],
        bad: Bad,
        out: &mut Vec<u8>,
    ) -> Fate {
        let (code, fate) = match bad {
            Bad::Short => return Fate::Short,
            Bad::Answer => return Fate::IsAnswer,
            Bad::Operation => (code::NOT_IMPLEMENTED, Fate::NotImplemented),
            Bad::Form => (code::FORM, Fate::Malformed),
        };
        // An answer that only says to come again is of no use to whoever cannot ask.
        if self.verdict(book, asked, Class::Error, asked.by == Transport::Tcp) != Verdict::Pass {
            return Fate::Limited;
        }
        bare(query, code, out);
        fate
    }

    /// What OPT is to say, and whether the client showed a cookie of ours.
    fn beside(&self, book: &Book, asked: &Asked, question: &Question<'_>) -> (Beside, bool) {
        let Some(edns) = question.edns else {
            let none = Beside { edns: None, cookie: None, subnet: false, bytes: 0 };
            return (none, false);
        };
        let cookie = edns.cookie.filter(|_| book.cookies);
        let judged =
            cookie.map(|cookie| self.cookies.judge(&cookie, asked.from, asked.unix_seconds));
        let subnet = edns.subnet.filter(|_| book.client_subnet);
        let subnet_bytes = subnet.map_or(0, |it| 8 + usize::from(it.bits).div_ceil(8));
        let bytes = OPT + judged.map_or(0, |_| 28) + subnet_bytes;
        let beside = Beside {
            edns: Some(edns),
            cookie: judged.map(|(_, cookie)| cookie),
            subnet: subnet.is_some(),
            bytes,
        };
        (beside, judged.is_some_and(|(good, _)| good))
    }

    /// How long the answer may be.
    fn size(
        &self,
        book: &Book,
        asked: &Asked,
        question: &Question<'_>,
        (query, known): (usize, bool),
    ) -> usize {
        if asked.by == Transport::Tcp {
            return TCP_MAX;
        }
        let theirs = question.edns.map_or(super::edns::SIZE_MIN, |edns| edns.size);
        let size = usize::from(theirs.min(book.udp_size));
        if known { size } else { size.min(query * AMPLIFICATION) }
    }

    fn verdict(&mut self, book: &Book, asked: &Asked, class: Class, free: bool) -> Verdict {
        match book.rate {
            Some(rate) if !free => self.limiter.ask(asked.from, class, asked.now, rate),
            _ => Verdict::Pass,
        }
    }

    /// The number of this turn. A and AAAA count apart: clients ask for both, one after the other.
    fn turn(&mut self, book: &Book, name: usize, v6: bool) -> u64 {
        while self.turns.len() < book.plan.names.len() {
            // Threads and machines begin at different places.
            let begin = mix(self.seed.wrapping_add(self.turns.len() as u64));
            self.turns.push([begin, begin]);
        }
        let Some(turn) = self.turns.get_mut(name).map(|both| &mut both[usize::from(v6)]) else {
            return 0;
        };
        *turn = turn.wrapping_add(1);
        *turn
    }

    fn finish(
        &mut self,
        book: &Book,
        question: &Question<'_>,
        beside: &Beside,
        message: Message<'_>,
        (code, truncated): (u16, bool),
        scope: u8,
    ) {
        self.options.clear();
        if let (Some(edns), true) = (&beside.edns, beside.bytes > OPT) {
            if let Some(subnet) = edns.subnet.filter(|_| beside.subnet) {
                subnet.write(scope, &mut self.options);
            }
            if let (Some(cookie), Some(server)) = (edns.cookie, beside.cookie) {
                cookie.write(server, &mut self.options);
            }
        }
        let authoritative = code == code::GOOD || code == code::NO_NAME;
        let opt = beside.edns.as_ref().map(|edns| (edns, book.udp_size, self.options.as_slice()));
        message.finish(question.flags, (code, authoritative, truncated), opt);
    }
}

/// What kind of answer this will be, for the rate.
fn class(book: &Book, place: Place<'_>, question: &Question<'_>) -> Class {
    use super::plan::What;
    use super::record::{A, AAAA};
    match place {
        Place::Refused => Class::Error,
        Place::Missing(_) => Class::Nothing,
        Place::Here(node) => match (&node.what, question.kind) {
            (What::Nothing, _) if !node.apex => Class::Nothing,
            (What::Name(at), A | AAAA) => {
                let all = book.states.get(*at).map(|state| state.all.of(question.kind == AAAA));
                if all.is_none_or(|set| set.is_empty()) { Class::Nothing } else { Class::Data }
            }
            _ => Class::Data,
        },
    }
}

fn count(book: &Book, written: &Written) {
    let Some((name, who)) = written.given else { return };
    let Some(live) = book.plan.names.get(name).map(|name| &name.live) else { return };
    live.answers.fetch_add(1, Ordering::Relaxed);
    if let Some((_, given)) = who.and_then(|who| live.given.get(who)) {
        given.fetch_add(1, Ordering::Relaxed);
    }
}

fn fate(written: &Written) -> Fate {
    if written.truncated {
        Fate::Truncated
    } else if written.missing {
        Fate::NoName
    } else if written.records {
        Fate::Answered
    } else {
        Fate::NoData
    }
}
