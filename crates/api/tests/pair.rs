//! A change of both members where one fails at any point: both have it, or neither, or the error says that one may.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

#[path = "support/place.rs"]
mod place;
#[path = "support/played.rs"]
mod played;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::ApiClient;
use api::client::pair::{PairChange, PairChangeError, apply};
use api::types::PairApplied;
use place::SocketDir;
use played::{socket, whole};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// How a member responds to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderResponse {
    Accept,
    Refuse,
    /// It loses the connection before it applies the order.
    LoseAnswer,
    /// It does it, and its answer is lost.
    LoseRequest,
    /// It does it, its answer is lost, and it does not answer any more.
    Gone,
}

use OrderResponse::{Accept, Gone, LoseAnswer, LoseRequest, Refuse};

/// A member of a pair.
struct FakeMember {
    pid: u32,
    generation: u64,
    texts: Vec<String>,
    /// The responses to the next orders; the last one answers all further ones.
    meets: Vec<OrderResponse>,
    gone: bool,
}

type SharedMember = Arc<Mutex<FakeMember>>;

fn text(server: &str) -> String {
    format!("[service.shop]\npool = \"web\"\n[pool.web]\nservers = [\"{server}\"]\n")
}

impl FakeMember {
    fn new(pid: u32, meets: &[OrderResponse]) -> SharedMember {
        let texts = vec![text("old")];
        let meets = meets.to_vec();
        Arc::new(Mutex::new(FakeMember { pid, generation: 1, texts, meets, gone: false }))
    }

    fn now(&self) -> &str {
        self.texts.last().unwrap()
    }

    /// The answer to a request; `None`: the connection is closed.
    fn answer(&mut self, request: &str) -> Option<String> {
        if self.gone {
            return None;
        }
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let line = head.lines().next().unwrap();
        let json =
            |value: serde_json::Value| Some(said("200 OK", "application/json", &value.to_string()));
        if line.starts_with("GET /v1/status") {
            return json(self.status());
        }
        if line.starts_with("GET /v1/config") {
            return Some(said("200 OK", "application/toml", self.now()));
        }
        if line.starts_with("POST /v1/plan") {
            return json(
                json!({ "generation": self.generation, "changed": true, "global": [], "services": none(),
                "pools": none(), "effects": [], "needs-restart": [], "warnings": [] }),
            );
        }
        assert!(line.contains(&format!("if-generation={}", self.generation)), "{line}");
        let how = if self.meets.len() > 1 { self.meets.remove(0) } else { self.meets[0] };
        if how == Refuse {
            let problem = json!({ "type": "/problems/x", "title": "x", "status": 409, "detail": "a port is taken" });
            return Some(said("409 Conflict", "application/problem+json", &problem.to_string()));
        }
        if how == LoseAnswer {
            return None;
        }
        self.generation += 1;
        self.texts.push(body.to_owned());
        self.gone = how == Gone;
        if how != Accept {
            return None;
        }
        json(
            json!({ "generation": self.generation, "changed": true, "confirmed": true, "effects": [],
            "needs-restart": [], "warnings": [] }),
        )
    }

    fn status(&self) -> serde_json::Value {
        let group = json!({ "name": "a", "interface": "eth0", "id": 7, "addresses": ["192.0.2.10"], "state": "idle",
            "reason": "", "since-unix-ms": 0, "priority": 100, "changes": [], "counts": {}, "dropped": {} });
        json!({ "version": "1", "generation": self.generation, "now-unix-ms": 9, "since-unix-ms": 5, "uptime-ms": 4,
            "pid": self.pid, "workers": 1, "services": [], "pools": [], "draining": [], "warnings": [], "vrrp": [group] })
    }
}

fn none() -> serde_json::Value {
    json!({ "added": [], "removed": [], "changed": [] })
}

fn said(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
}

async fn serve(listener: UnixListener, member: SharedMember) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        once(stream, &member).await;
    }
}

async fn once(mut stream: UnixStream, member: &SharedMember) {
    let mut seen = Vec::new();
    loop {
        if let Some(request) = whole(&seen) {
            let answer = member.lock().unwrap().answer(&request);
            if let Some(answer) = answer {
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            return;
        }
        let mut some = [0; 4096];
        let n = stream.read(&mut some).await.unwrap();
        assert!(n > 0, "the client closed early");
        seen.extend_from_slice(&some[..n]);
    }
}

/// The result, and the active texts here and there.
async fn ordered(
    here: &[OrderResponse],
    there: &[OrderResponse],
) -> (Result<PairApplied, PairChangeError>, [String; 2]) {
    let members = [FakeMember::new(1, here), FakeMember::new(2, there)];
    let mut clients = Vec::new();
    let mut places = Vec::new();
    for (name, member) in ["here", "there"].into_iter().zip(&members) {
        let place = SocketDir::new(&format!("pair-{name}"));
        let listener = UnixListener::bind(socket(&place)).unwrap();
        tokio::spawn(serve(listener, Arc::clone(member)));
        clients.push(ApiClient::new(socket(&place)).with_deadline(Duration::from_secs(20)));
        places.push(place);
    }
    let order = PairChange { new_text: text("new"), ..PairChange::default() };
    let done = apply(&clients[0], &clients[1], order).await;
    (done, members.map(|member| member.lock().unwrap().now().to_owned()))
}

/// How this member and the other one respond, the result, and the active texts here and there.
type PairCase =
    (&'static [OrderResponse], &'static [OrderResponse], &'static str, [&'static str; 2]);

#[tokio::test]
async fn a_failure_leaves_both_or_neither_changed_or_is_reported() {
    let old = "old";
    let new = "new";
    let rows: [PairCase; 11] = [
        (&[Accept], &[Accept], "done", [new, new]),
        (&[Accept], &[Refuse], "before", [old, old]),
        (&[Accept], &[LoseAnswer], "before", [old, old]),
        (&[Accept], &[LoseRequest], "done", [new, new]),
        (&[Accept], &[Gone], "half", [old, new]),
        (&[Refuse], &[Accept], "taken back", [old, old]),
        (&[Refuse], &[LoseRequest, Accept], "taken back", [old, old]),
        (&[LoseAnswer], &[Accept], "taken back", [old, old]),
        (&[LoseRequest], &[Accept], "done", [new, new]),
        (&[Gone], &[Accept], "half", [new, new]),
        (&[Refuse], &[Accept, Refuse], "half", [old, new]),
    ];
    for (here, there, expected, texts) in rows {
        let (done, found) = ordered(here, there).await;
        let kind = match &done {
            Ok(_) => "done",
            Err(PairChangeError::NotStarted { .. }) => "before",
            Err(PairChangeError::RolledBack { .. }) => "taken back",
            Err(PairChangeError::OneMemberOnly { .. }) => "half",
            Err(other) => panic!("{other}"),
        };
        assert_eq!(kind, expected, "{here:?} {there:?}: {done:?}");
        for (found, server) in found.iter().zip(texts) {
            assert!(found.contains(server), "{here:?} {there:?}: {found}");
        }
    }
}
