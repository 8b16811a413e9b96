//! Answers queries: one responder for each thread, with its own turns, rates and cookies. Bytes and time in, bytes and
//! a fate out.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use model::monotonic_time::MonotonicTime;

use super::answer::{
    FirstChoice, QueryClient, QueryTarget, WrittenAnswer, find_target, write_answer,
};
use super::cookie::CookieSigner;
use super::counts::{DnsTransport, Fate};
use super::edns::EdnsOptions;
use super::message::{MessageWriter, OPT, OptRecord, write_bare};
use super::question::{DnsQuestion, QueryError};
use super::rate_limit::{AnswerClass, RateDecision, RateLimiter};
use super::turn_order::mix;
use super::zone_data::ZoneData;

/// Over UDP, an answer to a client without a valid cookie is at most this many times as long as the query: a longer
/// answer is sent over TCP. Bounds the amplification of spoofed queries.
pub const AMPLIFICATION: usize = 10;

/// The largest answer over TCP: its length field has 16 bits.
const TCP_MAX: usize = 65_535;

/// Response codes (RFC 1035 §4.1.1, RFC 6891 §9).
mod code {
    pub(super) const GOOD: u16 = 0;
    pub(super) const FORM: u16 = 1;
    pub(super) const NO_NAME: u16 = 3;
    pub(super) const NOT_IMPLEMENTED: u16 = 4;
    pub(super) const REFUSED: u16 = 5;
    pub(super) const BAD_VERSION: u16 = 16;
}

/// The client, the transport and the time of a query.
#[derive(Clone, Copy, Debug)]
pub struct QueryContext {
    /// The source address of the query.
    pub source: IpAddr,
    pub transport: DnsTransport,
    pub now: MonotonicTime,
    pub unix_seconds: u32,
}

#[derive(Debug)]
pub struct DnsResponder {
    limiter: RateLimiter,
    cookies: CookieSigner,
    /// The next turn of each name, by family.
    turns: Vec<[u64; 2]>,
    seed: u64,
    options: Vec<u8>,
}

/// The contents of an answer's OPT record.
struct OptResponse {
    edns: Option<EdnsOptions>,
    cookie: Option<[u8; 16]>,
    /// Whether the client's subnet is returned.
    subnet: bool,
    /// Bytes of the record.
    bytes: usize,
}

impl DnsResponder {
    /// `secret`: for cookies, the same in every responder of a process. `seed`: different in each.
    pub fn new(secret: [u8; 16], seed: u64) -> DnsResponder {
        DnsResponder {
            limiter: RateLimiter::new(seed),
            cookies: CookieSigner::new(secret),
            turns: Vec::new(),
            seed,
            options: Vec::new(),
        }
    }

    /// Networks evicted from the rate limiter since the last call.
    pub fn take_evicted_networks(&mut self) -> u64 {
        std::mem::take(&mut self.limiter.evicted_networks)
    }

    /// Answers a query into `out`; leaves it empty where no reply is sent.
    pub fn answer(
        &mut self,
        zone_data: &ZoneData,
        context: &QueryContext,
        query: &[u8],
        out: &mut Vec<u8>,
    ) -> Fate {
        out.clear();
        let question = match DnsQuestion::read(query) {
            Ok(question) => question,
            Err(bad) => return self.answer_malformed(zone_data, context, query, bad, out),
        };
        let (beside, known) = self.opt_response(zone_data, context, &question);
        let free = known || context.transport == DnsTransport::Tcp;
        let size = self.answer_limit(zone_data, context, &question, query.len(), known);
        let bad_version = question.edns.is_some_and(|edns| edns.version != 0);
        let place =
            if bad_version { QueryTarget::Refused } else { find_target(zone_data, &question) };
        let class = answer_class(zone_data, place, &question);
        let verdict = self.check_rate(zone_data, context, class, free);
        if verdict == RateDecision::Drop {
            return Fate::Limited;
        }
        let mut message = MessageWriter::new(out, &question, size.saturating_sub(beside.bytes));
        if verdict == RateDecision::Slip {
            self.finish_answer(zone_data, &question, &beside, message, (code::GOOD, true), 0);
            return Fate::Slipped;
        }
        if matches!(place, QueryTarget::Refused) {
            let (code, fate) = if bad_version {
                (code::BAD_VERSION, Fate::BadVersion)
            } else {
                (code::REFUSED, Fate::Refused)
            };
            self.finish_answer(zone_data, &question, &beside, message, (code, false), 0);
            return fate;
        }
        let address = question.edns.and_then(|edns| edns.subnet).filter(|it| it.bits > 0);
        let address = address.filter(|_| zone_data.client_subnet).map(|subnet| subnet.address);
        let client = QueryClient { address: address.unwrap_or(context.source) };
        let mut turn = |name: usize, v6: bool| self.next_turn(zone_data, name, v6);
        let written = write_answer(zone_data, &question, place, client, &mut turn, &mut message);
        if written.truncated {
            message.truncate(&question);
        }
        let code = if written.is_nxdomain { code::NO_NAME } else { code::GOOD };
        let scope = if address.is_some() { written.scope } else { 0 };
        self.finish_answer(
            zone_data,
            &question,
            &beside,
            message,
            (code, written.truncated),
            scope,
        );
        count_answer(zone_data, &written);
        answer_fate(&written)
    }

    /// The reply to bytes that are no readable query.
    fn answer_malformed(
        &mut self,
        zone_data: &ZoneData,
        context: &QueryContext,
        query: &[u8],
        bad: QueryError,
        out: &mut Vec<u8>,
    ) -> Fate {
        let (code, fate) = match bad {
            QueryError::Short => return Fate::Short,
            QueryError::IsResponse => return Fate::IsAnswer,
            QueryError::UnsupportedOpcode => (code::NOT_IMPLEMENTED, Fate::NotImplemented),
            QueryError::Malformed => (code::FORM, Fate::Malformed),
        };
        // A client that sends malformed queries gains nothing from a TC reply.
        if self.check_rate(
            zone_data,
            context,
            AnswerClass::Error,
            context.transport == DnsTransport::Tcp,
        ) != RateDecision::Pass
        {
            return Fate::Limited;
        }
        write_bare(query, code, out);
        fate
    }

    /// The contents of OPT, and whether the client returned a valid cookie.
    fn opt_response(
        &self,
        zone_data: &ZoneData,
        context: &QueryContext,
        question: &DnsQuestion<'_>,
    ) -> (OptResponse, bool) {
        let Some(edns) = question.edns else {
            let none = OptResponse { edns: None, cookie: None, subnet: false, bytes: 0 };
            return (none, false);
        };
        let cookie = edns.cookie.filter(|_| zone_data.cookies);
        let cookie_check =
            cookie.map(|cookie| self.cookies.verify(&cookie, context.source, context.unix_seconds));
        let subnet = edns.subnet.filter(|_| zone_data.client_subnet);
        let subnet_bytes = subnet.map_or(0, |it| 8 + usize::from(it.bits).div_ceil(8));
        let bytes = OPT + cookie_check.map_or(0, |_| 28) + subnet_bytes;
        let beside = OptResponse {
            edns: Some(edns),
            cookie: cookie_check.map(|check| check.returned),
            subnet: subnet.is_some(),
            bytes,
        };
        (beside, cookie_check.is_some_and(|check| check.is_valid))
    }

    /// The size limit of the answer.
    fn answer_limit(
        &self,
        zone_data: &ZoneData,
        context: &QueryContext,
        question: &DnsQuestion<'_>,
        query: usize,
        known: bool,
    ) -> usize {
        if context.transport == DnsTransport::Tcp {
            return TCP_MAX;
        }
        let theirs = question.edns.map_or(super::edns::SIZE_MIN, |edns| edns.size);
        let size = usize::from(theirs.min(zone_data.udp_size));
        if known { size } else { size.min(query * AMPLIFICATION) }
    }

    fn check_rate(
        &mut self,
        zone_data: &ZoneData,
        context: &QueryContext,
        class: AnswerClass,
        free: bool,
    ) -> RateDecision {
        match zone_data.rate {
            Some(rate) if !free => {
                self.limiter.check_rate(context.source, class, context.now, rate)
            }
            _ => RateDecision::Pass,
        }
    }

    /// The number of this turn. A and AAAA count apart, because clients ask for both, one after the other.
    fn next_turn(&mut self, zone_data: &ZoneData, name: usize, v6: bool) -> u64 {
        while self.turns.len() < zone_data.plan.names.len() {
            // Threads and machines begin at different turns.
            let begin = mix(self.seed.wrapping_add(self.turns.len() as u64));
            self.turns.push([begin, begin]);
        }
        let Some(turn) = self.turns.get_mut(name).map(|both| &mut both[usize::from(v6)]) else {
            return 0;
        };
        *turn = turn.wrapping_add(1);
        *turn
    }

    fn finish_answer(
        &mut self,
        zone_data: &ZoneData,
        question: &DnsQuestion<'_>,
        beside: &OptResponse,
        message: MessageWriter<'_>,
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
        let size = zone_data.udp_size;
        let opt = beside.edns.as_ref().map(|edns| OptRecord { edns, size, options: &self.options });
        message.finish(question.flags, code, authoritative, truncated, opt);
    }
}

/// The class of the answer for the rate limiter.
fn answer_class(
    zone_data: &ZoneData,
    place: QueryTarget<'_>,
    question: &DnsQuestion<'_>,
) -> AnswerClass {
    use super::record::{A, AAAA};
    use super::zone_plan::NameNodeKind;
    match place {
        QueryTarget::Refused => AnswerClass::Error,
        QueryTarget::Missing(_) => AnswerClass::Nothing,
        QueryTarget::Node(node) => match (&node.kind, question.kind) {
            (NameNodeKind::Empty, _) if !node.apex => AnswerClass::Nothing,
            (NameNodeKind::Name(at), A | AAAA) => {
                let all = zone_data
                    .states
                    .get(*at)
                    .map(|state| state.default_region.family(question.kind == AAAA));
                if all.is_none_or(|set| set.is_empty()) {
                    AnswerClass::Nothing
                } else {
                    AnswerClass::Data
                }
            }
            _ => AnswerClass::Data,
        },
    }
}

fn count_answer(zone_data: &ZoneData, written: &WrittenAnswer) {
    let Some(FirstChoice { name, candidate }) = written.first_choice else { return };
    let Some(live) = zone_data.plan.names.get(name).map(|name| &name.counters) else { return };
    live.answers.fetch_add(1, Ordering::Relaxed);
    if let Some(given) = candidate.and_then(|at| live.first_choices.get(at)) {
        given.count.fetch_add(1, Ordering::Relaxed);
    }
}

fn answer_fate(written: &WrittenAnswer) -> Fate {
    if written.truncated {
        Fate::Truncated
    } else if written.is_nxdomain {
        Fate::NoName
    } else if written.has_records {
        Fate::Answered
    } else {
        Fate::NoData
    }
}
