//! A whole worker between a client and servers that send arbitrary bytes in any order.
//!
//! For any input, the connection must end in time, every record must close, and no buffer may remain: `WorkerHarness`
//! checks that. Other tests check the results of specific bytes.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::affinity;
use model::config::{Config, ServerHttp2Mode, load};
use model::id::{PoolId, ServiceId};
use model::rules::ServiceRules;
use model::snapshot::WorkerSnapshot;

use super::harness::{WorkerHarness, addresses, setting};
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// The configuration for HTTP.
const HTTP: &str = r#"
[service.s]
listen = "192.0.2.80:80"
forward = "http"
pool = "p"
timeout = { tunnel = "30s" }
path-normalization = "normal-form"
compress = { codings = ["gzip"], types = ["text/*"], min = "1KiB" }
sticky = { by = "cookie", name = "keeps", cookie = "insert", secure = false }
[[service.s.rule]]
when = { path = "/old/*", host = ["a.example", "*.b.example"] }
redirect = { to = "https://{host}/new/{rest}{query}", status = 308 }
[[service.s.rule]]
when = { header = ["accept: *json*"], query = "q=*", not = { cookie = "id=4*" } }
rewrite = { strip = "/api", prefix = "/v1", set = "x-set: 1", remove = "x-gone", response-set = "x-by: s", response-remove = "server" }
[[service.s.rule]]
when = { method = "DELETE" }
answer = { status = 403, body = "no", type = "text/plain" }
[pool.p]
servers = ["10.0.0.1:9001", "10.0.0.1:9002"]
balance = "maglev"
hash-on = { cookie = "session" }
retries = 2
"#;

/// The configuration for a passed-through TCP connection.
const TCP: &str = r#"
[service.s]
listen = "192.0.2.80:80"
forward = "tcp"
pool = "p"
timeout = { tunnel = "30s" }
[[service.s.rule]]
when = { sni = "*.a.example" }
pool = "p"
[pool.p]
servers = ["10.0.0.1:9001", "10.0.0.1:9002"]
"#;

/// Bits of the first input byte: the worker's settings.
const SERVERS_SPEAK_HTTP2: u8 = 1;
const PROXIED: u8 = 2;
const PASSES: u8 = 4;
/// The bits for the peers' behaviour.
const CLIENT_ENDS: u8 = 8;
const SERVER_ENDS: u8 = 16;
const SLOW: u8 = 32;

/// Receive window in bytes.
const WINDOW: usize = 16 * 1024;

/// Runs a connection. Two bytes are the settings, two more the number of bytes that the client sends; servers send the
/// rest.
pub fn play(bytes: &[u8]) {
    let Some(([bits, seed, high, low], rest)) = bytes.split_first_chunk::<4>() else { return };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let (client, server) = rest.split_at(length.min(rest.len()));
    let bits = *bits;
    let is = move |bit: u8| bits & bit != 0;
    let stage = WorkerHarness::new(u64::from(*seed), WINDOW, snapshot(is));
    let server: Rc<[u8]> = server.into();
    for address in addresses(2) {
        let server = server.clone();
        stage.serve(address, move || ByteSender::new(&server, is(SERVER_ENDS), is(SLOW)));
    }
    let door = stage.open(ServiceId(0));
    let client = ByteSender::new(client, is(CLIENT_ENDS), is(SLOW));
    stage.client(&door, 1, Duration::ZERO, client);
    let live = stage.snapshot.borrow().services[&ServiceId(0)].stats.clone();
    stage.until(|| live.slots[0].counters.accepted.get() > 0 && stage.connections() == 0);
    stage.finish();
}

fn snapshot(is: impl Fn(u8) -> bool) -> WorkerSnapshot {
    let text = if is(PASSES) { TCP } else { HTTP };
    let accept = "\naccept-proxy = { from = \"192.0.2.0/24\", others = \"plain\" }\n";
    let text = if is(PROXIED) {
        text.replacen("\npool =", &format!("{accept}pool ="), 1)
    } else {
        text.to_owned()
    };
    let config: Config = load(&text, "hostile.toml").expect("a configuration").config;
    let servers: Vec<SocketAddr> = addresses(2);
    let mut snapshot = setting(
        &servers,
        |service| *service = (*config.services["s"]).clone(),
        |pool| {
            *pool = (*config.pools["p"]).clone();
            if is(SERVERS_SPEAK_HTTP2) {
                pool.http2.speak = ServerHttp2Mode::Only;
            }
        },
        |_| {},
    );
    let view = snapshot.services.get_mut(&ServiceId(0)).and_then(Arc::get_mut).expect("a view");
    view.rules = ServiceRules::new(&view.config, |_| Some(PoolId(0)), 1, None).map(Arc::new);
    view.affinity =
        view.config.sticky.as_ref().map(|it| Arc::new(affinity::AffinityTable::new(it.entries)));
    snapshot
}

/// A peer that sends its bytes, at once or in pieces, and reads and discards what it receives.
struct ByteSender {
    send: Vec<u8>,
    ends: bool,
    slow: bool,
    over: bool,
}

impl ByteSender {
    fn new(send: &[u8], ends: bool, slow: bool) -> ByteSender {
        ByteSender { send: send.to_vec(), ends, slow, over: false }
    }
}

impl ScriptedPeer for ByteSender {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.over {
            return;
        }
        io.take();
        // The bytes themselves determine the lengths of pieces, so that an input may choose them.
        let piece = self.send.first().map_or(0, |first| 1 + usize::from(first % 32));
        let mut now = match self.slow {
            true => self.send.drain(..piece.min(self.send.len())).collect(),
            false => std::mem::take(&mut self.send),
        };
        io.write(&mut now);
        self.send.splice(..0, now);
        if self.slow && !self.send.is_empty() && what != PeerEvent::Data {
            io.set_timer(Duration::from_millis(3));
        }
        if self.send.is_empty() && self.ends {
            self.ends = false;
            io.end();
        }
        if matches!(what, PeerEvent::End | PeerEvent::Broken) {
            self.over = true;
            io.close(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::play;

    fn case(bits: u8, client: &[u8], server: &[u8]) -> Vec<u8> {
        let length = (client.len() as u16).to_be_bytes();
        [&[bits, 1][..], &length, client, server].concat()
    }

    #[test]
    fn whatever_both_sides_send_every_account_closes() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/x\r\n\r\nok";
        for bits in 0..64 {
            play(&case(bits, b"GET /old/x?q=1 HTTP/1.1\r\nHost: c.example\r\n\r\n", answer));
            play(&case(bits, b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nnonsense\r\n\r\n", b"\0\0\0"));
            play(&case(bits, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", answer));
            play(&case(bits, b"", b""));
        }
    }
}
