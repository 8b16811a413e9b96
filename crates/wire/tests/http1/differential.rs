//! Compares with a second, independent server: for each accepted request it must find the same request in the same
//! bytes.
//!
//! The second server is hyper's HTTP/1 server over an in-memory stream. Both use httparse for lines; framing, chunks,
//! targets and persistence are hyper's own. Where hyper rejects a request that `wire` accepts, the reason must be in
//! the closed table of [`explained`]. Where both accept, nothing may differ. Requests that `wire` rejects are not
//! compared, because `wire` is stricter.

use crate::mutate::{HTTP_WORDS, SplitMix, mutate};
use crate::reader;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;
use tokio::io::AsyncWriteExt;
use wire::http1::{
    BodyKind, ChunkedDecoder, ChunkedOutput, HeadLimits, HeaderSlots, ParsedRequestHead,
    parse_request,
};

/// Mutated streams in addition to the corpus, unless `STEELYARD_FUZZ_RUNS` sets the number; `STEELYARD_FUZZ_TIMES`
/// multiplies it.
const STREAMS: u64 = 30_000;

/// A request as one of the two parsers saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ObservedRequest {
    method: String,
    path: String,
    query: Option<String>,
    /// The authority of an absolute-form target; hyper reports Host only as a field.
    authority: Option<String>,
    body: ObservedBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ObservedBody {
    Whole(Vec<u8>),
    /// The stream ended inside the body.
    Cut,
    Broken,
}

/// How `wire`'s reading of a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamOutcome {
    /// All bytes were consumed, or more bytes were needed.
    Stream,
    /// The last request closes the connection.
    Close,
    /// `wire` rejected the next request.
    Refused,
}

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is a number, not {value}")))
}

#[test]
fn hyper_finds_the_same_requests() {
    let seeds: Vec<Vec<u8>> = reader::load("requests")
        .into_iter()
        .filter(|case| case.sent.len() < 2_000 && case.expect[0].starts_with("accepted"))
        .map(|case| case.sent)
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut draw = SplitMix::new(1);
    let streams = setting("STEELYARD_FUZZ_RUNS")
        .unwrap_or_else(|| STREAMS * setting("STEELYARD_FUZZ_TIMES").unwrap_or(1));
    let mut compared = 0;
    let mut table = BTreeMap::new();
    for at in 0..seeds.len() as u64 + streams {
        let stream = match seeds.get(at as usize) {
            Some(seed) => seed.clone(),
            None => mutate(&mut draw, &seeds, HTTP_WORDS),
        };
        let (us, end) = ours(&stream);
        if us.is_empty() {
            continue;
        }
        let them = runtime.block_on(theirs(&stream));
        compared += us.len();
        if let Some(reason) = compare(&us, end, &them) {
            let shown = stream.escape_ascii();
            let reason =
                reason.unwrap_or_else(|| panic!("{shown}\nus {us:#?} {end:?}\nthem {them:#?}"));
            *table.entry(reason).or_insert(0) += 1;
        }
    }
    println!("proof: {compared} requests compared; differences, each explained: {table:?}");
    assert!(compared as u64 > streams / 3, "only {compared} requests were accepted by us");
}

/// `None`: both agree. `Some(None)`: they differ without an explanation.
fn compare(
    us: &[ObservedRequest],
    end: StreamOutcome,
    them: &[ObservedRequest],
) -> Option<Option<&'static str>> {
    for (at, ours) in us.iter().enumerate() {
        let Some(theirs) = them.get(at) else { return Some(explained(ours)) };
        let same_head = (&ours.method, &ours.path, &ours.query, &ours.authority)
            == (&theirs.method, &theirs.path, &theirs.query, &theirs.authority);
        let same_body = match (&ours.body, &theirs.body) {
            (ObservedBody::Broken, _) => true,
            (ours, theirs) => ours == theirs,
        };
        if !same_head || !same_body {
            return Some(explained_difference(ours, theirs));
        }
    }
    // hyper may accept what `wire` rejects, but it may not find a request after the end that `wire` saw.
    let extra = them.len() > us.len() && end != StreamOutcome::Refused;
    extra.then_some(None)
}

/// Why hyper does not reach this request: the closed table.
fn explained(ours: &ObservedRequest) -> Option<&'static str> {
    let target = |bytes: &[u8]| {
        let query = ours.query.as_deref().unwrap_or_default();
        ours.path.bytes().chain(query.bytes()).any(|byte| bytes.contains(&byte))
    };
    if target(b"\"<>\\^`{|}") {
        // The http crate's Uri accepts fewer visible bytes than browsers send; `wire` passes them unchanged.
        return Some("visible byte in target");
    }
    None
}

/// Why both find a request here, but not the same one: the closed table.
fn explained_difference(ours: &ObservedRequest, theirs: &ObservedRequest) -> Option<&'static str> {
    if ours.method == "OPTIONS" && ours.path == "*" && theirs.path == "/" {
        // RFC 9112 §3.2.4: absolute-form without a path; hyper leaves this step to its caller.
        return Some("absolute-form of OPTIONS *");
    }
    None
}

fn ours(mut bytes: &[u8]) -> (Vec<ObservedRequest>, StreamOutcome) {
    let mut all = Vec::new();
    loop {
        let mut slots = HeaderSlots::new();
        let request = match parse_request(bytes, &HeadLimits::default(), &mut slots) {
            Ok(Some(request)) => request,
            Ok(None) => return (all, StreamOutcome::Stream),
            Err(_) => return (all, StreamOutcome::Refused),
        };
        let rest = &bytes[request.head_len..];
        let (body, used) = our_body(request.body, rest);
        let end = match &body {
            ObservedBody::Broken => Some(StreamOutcome::Refused),
            ObservedBody::Cut => Some(StreamOutcome::Stream),
            ObservedBody::Whole(_) if !request.keep_alive => Some(StreamOutcome::Close),
            ObservedBody::Whole(_) => None,
        };
        all.push(seen(&request, body));
        if let Some(end) = end {
            return (all, end);
        }
        bytes = &rest[used..];
    }
}

fn our_body(kind: BodyKind, rest: &[u8]) -> (ObservedBody, usize) {
    match kind {
        BodyKind::None => (ObservedBody::Whole(Vec::new()), 0),
        BodyKind::Length(length) => {
            let length = usize::try_from(length).unwrap();
            let body = rest
                .get(..length)
                .map_or(ObservedBody::Cut, |body| ObservedBody::Whole(body.to_vec()));
            (body, length)
        }
        BodyKind::Chunked => {
            let mut out = Vec::new();
            match ChunkedDecoder::new(ChunkedOutput::Unframed).feed(rest, &mut out) {
                Ok(fed) if fed.finished => (ObservedBody::Whole(out), fed.consumed),
                Ok(fed) => (ObservedBody::Cut, fed.consumed),
                Err(_) => (ObservedBody::Broken, 0),
            }
        }
    }
}

fn seen(request: &ParsedRequestHead, body: ObservedBody) -> ObservedRequest {
    ObservedRequest {
        method: request.method.as_str().to_owned(),
        path: request.path().to_owned(),
        query: request.query().map(str::to_owned),
        authority: (!request.target.starts_with(['/', '*']))
            .then(|| request.host.unwrap().to_owned()),
        body,
    }
}

/// The requests that hyper finds in the stream; each is answered immediately with an empty 200.
async fn theirs(stream: &[u8]) -> Vec<ObservedRequest> {
    let (mut client, server) = tokio::io::duplex(1 << 20);
    client.write_all(stream).await.unwrap();
    client.shutdown().await.unwrap();
    let all = Rc::new(RefCell::new(Vec::new()));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let all = Rc::clone(&all);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await;
            all.borrow_mut().push(ObservedRequest {
                method: head.method.as_str().to_owned(),
                path: head.uri.path().to_owned(),
                query: head.uri.query().map(str::to_owned),
                authority: head.uri.authority().map(|authority| authority.as_str().to_owned()),
                body: body.map_or(ObservedBody::Cut, |body| {
                    ObservedBody::Whole(body.to_bytes().to_vec())
                }),
            });
            Ok::<_, Infallible>(hyper::Response::new(Empty::<Bytes>::new()))
        }
    });
    // An error means that hyper rejected the next request; the requests before it count.
    let _ = hyper::server::conn::http1::Builder::new()
        .half_close(true)
        .max_headers(HeadLimits::default().head_count)
        .serve_connection(TokioIo::new(server), service)
        .await;
    all.take()
}
