//! The requests of a shadow run, made of the converted configuration's conditions and of the original's words.
//!
//! Pure, and in the same order each time. `hostile` has the fields and spellings that attackers use.

use std::collections::BTreeSet;
use std::net::IpAddr;

use toml::Table;

use super::answer_orders::answer_orders;
use super::config_times::ends_silence_soon;
use super::corpus_http2::{repeat_over_http2, send_over_http2};
use super::failure_order::FailureOrder;
use super::hostile::{FORGED, SPELLINGS, field, fields};
use super::input::CorpusSize;
use super::inventory::{PlainHttp2, SourceInventory};
use super::observation::SpokenProtocol;
use super::plan::{ShadowListener, ShadowPlan, tables};
use super::request::{
    ClientCertificate, HttpRequest, ORDER, RequestBody, ServerNameChoice, ShadowPayload,
    ShadowRequest,
};
use super::service_words::{ServiceWords, UNKNOWN};
use super::usual_form::usual_target;

/// The most requests of one listener.
const QUICK: usize = 260;
const FULL: usize = 6_000;

/// All requests for a plan.
pub fn build_corpus(
    plan: &ShadowPlan,
    converted: &str,
    inventory: &SourceInventory,
    size: CorpusSize,
) -> Vec<ShadowRequest> {
    let table: Table = toml::from_str(converted).unwrap_or_default();
    let services = tables(&table, "service");
    // Both sides must have ended a request before the client gives it up.
    let answers = ends_silence_soon(converted);
    let mut all = Vec::new();
    for listener in &plan.listeners {
        let words = ServiceWords::new(services.get(&listener.service), inventory);
        let mut requests = ListenerRequests { listener, words: &words, size, out: Vec::new() };
        if listener.is_http {
            requests.add_http(&plan.clients);
            if answers {
                requests.add_silence();
            }
        } else {
            requests.add_tcp(&plan.clients);
        }
        requests.out.truncate(requests.most());
        for request in &mut requests.out {
            let client = request.from.unwrap_or(request.to.ip());
            request.proxy_header = listener.proxy_senders.has(client);
        }
        all.append(&mut requests.out);
    }
    // Of all listeners and protocols: balancers hold failures against servers that they share.
    all.sort_by_key(FailureOrder::of);
    all
}

/// A request of HTTP and its connection, before they are one.
struct RequestDraft {
    connection: ShadowRequest,
    http: HttpRequest,
}

/// The requests of one listener.
struct ListenerRequests<'a> {
    listener: &'a ShadowListener,
    words: &'a ServiceWords,
    size: CorpusSize,
    out: Vec<ShadowRequest>,
}

impl ListenerRequests<'_> {
    fn add_http(&mut self, clients: &[IpAddr]) {
        let first = self.host(0);
        self.add_matrix();
        self.add_hosts(&first);
        self.add_fields(&first);
        self.add_spellings(&first);
        self.add_bodies(&first);
        if self.listener.is_tls {
            self.add_tls(&first);
        }
        let family = self.listener.to.is_ipv4();
        for client in clients.iter().filter(|client| client.is_ipv4() == family) {
            for path in self.paths(12) {
                self.push(&first, &path, "client of a network", |one| {
                    one.connection.from = Some(*client)
                });
            }
        }
        self.add_orders(&first);
        let plain = self.listener.plain_http2;
        if self.listener.is_tls || plain == PlainHttp2::Detected {
            let each = if self.size == CorpusSize::Quick { 2 } else { 24 };
            let most = self.most();
            repeat_over_http2(&mut self.out, each, most);
        }
        if plain == PlainHttp2::Alone {
            send_over_http2(&mut self.out);
        }
    }

    /// Servers that take a request and never answer it.
    fn add_silence(&mut self) {
        let first = self.host(0);
        for path in self.paths(2).into_iter().take(4) {
            self.push(&first, &path, "silence of a server", |one| {
                one.http.fields.push(field(ORDER, "silence"));
            });
        }
    }

    /// The most requests of the listener.
    fn most(&self) -> usize {
        if self.size == CorpusSize::Quick { QUICK } else { FULL }
    }

    fn host(&self, at: usize) -> String {
        self.words.hosts.get(at).cloned().unwrap_or_else(|| UNKNOWN.to_owned())
    }

    /// The first paths in the quick corpus, or all.
    fn paths(&self, quick: usize) -> Vec<String> {
        let most = if self.size == CorpusSize::Quick { quick } else { usize::MAX };
        self.words.paths.iter().take(most).cloned().collect()
    }

    /// Each path with the first hosts, and each host with the first paths.
    fn add_matrix(&mut self) {
        let whole = self.size == CorpusSize::Full;
        for (at, host) in self.words.hosts.iter().enumerate() {
            for (number, path) in self.words.paths.iter().enumerate() {
                let unknown = host == UNKNOWN && number < 6;
                if whole || at < 2 || number < 2 || unknown {
                    self.push(host, path, "host and path", |_| {});
                }
            }
        }
        let first = self.host(0);
        let usual = ["POST", "HEAD", "OPTIONS", "DELETE"].map(str::to_owned);
        let methods: BTreeSet<String> =
            usual.into_iter().chain(self.words.methods.iter().cloned()).collect();
        for path in self.paths(5) {
            for method in &methods {
                self.push(&first, &path, "method", |one| one.http.method = method.clone());
            }
        }
        for query in self.words.queries.clone() {
            for path in self.paths(3) {
                let joint = if path.contains('?') { '&' } else { '?' };
                self.push(&first, &format!("{path}{joint}{query}"), "parameter", |_| {});
            }
        }
    }

    fn add_hosts(&mut self, first: &str) {
        for (host, purpose) in [
            (first.to_uppercase(), "host in upper case"),
            (format!("{first}:{}", self.listener.to.port()), "host with its port"),
            (format!("{first}:81"), "host with another port"),
            (format!("{first}."), "host with a final dot"),
            (written_address(self.listener.to.ip()), "host is an address"),
            (format!("a.b.{first}"), "host below a host"),
        ] {
            for path in self.paths(1) {
                let name = self.name(first);
                self.push(&host, &path, purpose, |one| one.connection.name = name);
            }
        }
    }

    fn add_fields(&mut self, first: &str) {
        for path in self.paths(2) {
            for forged in FORGED {
                self.push(first, &path, forged.purpose, |one| {
                    one.http.fields = fields(forged.fields);
                });
            }
        }
        for field in self.words.fields.clone() {
            for path in self.paths(4) {
                let own = field.clone();
                self.push(first, &path, "field of a condition", |one| one.http.fields.push(own));
            }
        }
    }

    fn add_spellings(&mut self, first: &str) {
        let most = if self.size == CorpusSize::Quick { 3 } else { usize::MAX };
        let named = self.words.named.iter().filter(|path| path.len() > 2).take(most);
        let mut usual = BTreeSet::new();
        for path in named.cloned().collect::<Vec<_>>() {
            for spelling in SPELLINGS {
                let target = spelling.apply(&path);
                self.push(first, &target, spelling.purpose, |_| {});
                usual.insert(usual_target(&target));
            }
        }
        // What becomes of them tells a difference in the spelling from one in the path.
        for path in usual.iter().filter(|path| !self.words.paths.contains(path)) {
            self.push(first, path, "usual spelling", |_| {});
        }
    }

    fn add_bodies(&mut self, first: &str) {
        for (body, purpose) in [
            (RequestBody::Sized(1 << 20), "body of 1 MiB"),
            (RequestBody::Chunked(1_000), "body in chunks"),
        ] {
            self.push(first, "/", purpose, |one| {
                one.http.method = "POST".to_owned();
                one.http.body = body;
            });
        }
        for path in self.paths(3) {
            self.push(first, &path, "session of three requests", |one| one.http.steps = 3);
        }
    }

    fn add_tls(&mut self, first: &str) {
        for path in self.paths(2) {
            self.push(first, &path, "without SNI", |one| {
                one.connection.name = ServerNameChoice::Unnamed
            });
            self.push(first, &path, "SNI of nobody", |one| {
                one.connection.name = ServerNameChoice::Named("nobody.invalid".to_owned());
            });
        }
        if !self.listener.asks_certificate {
            return;
        }
        for host in self.words.hosts.iter().take(4) {
            for path in self.paths(4) {
                for certificate in ClientCertificate::ALL {
                    self.push(host, &path, "client certificate", |one| {
                        one.connection.certificate = certificate;
                    });
                }
            }
        }
    }

    /// What servers are ordered to answer. Failures come last, because they count against servers.
    fn add_orders(&mut self, first: &str) {
        for order in answer_orders(first, self.listener) {
            for path in self.paths(4) {
                self.push(first, &path, "answer of a server", |one| {
                    one.http.fields.push(field(ORDER, &order));
                });
            }
        }
    }

    fn add_tcp(&mut self, clients: &[IpAddr]) {
        for _ in 0..4 {
            self.push_tcp(ShadowPayload::Bytes, ServerNameChoice::Plain, None, "bytes");
        }
        for client in clients {
            self.push_tcp(
                ShadowPayload::Bytes,
                ServerNameChoice::Plain,
                Some(*client),
                "client of a network",
            );
        }
        if self.listener.is_tls {
            return;
        }
        for host in self.words.hosts.clone() {
            for name in [host.clone(), host.to_uppercase(), format!("x.{host}")] {
                let name = ServerNameChoice::Named(name);
                self.push_tcp(ShadowPayload::TlsThrough, name, None, "SNI");
            }
        }
        self.push_tcp(ShadowPayload::TlsThrough, ServerNameChoice::Unnamed, None, "no SNI");
    }

    fn name(&self, host: &str) -> ServerNameChoice {
        match self.listener.is_tls {
            true => ServerNameChoice::Named(host.to_lowercase()),
            false => ServerNameChoice::Plain,
        }
    }

    fn push(
        &mut self,
        host: &str,
        target: &str,
        purpose: &str,
        change: impl FnOnce(&mut RequestDraft),
    ) {
        let request = HttpRequest {
            method: "GET".to_owned(),
            target: target.to_owned(),
            host: host.to_owned(),
            steps: 1,
            ..HttpRequest::default()
        };
        let mut draft = RequestDraft {
            connection: self.request(ShadowPayload::Bytes, self.name(host), purpose),
            http: request,
        };
        change(&mut draft);
        draft.connection.payload = ShadowPayload::Http(draft.http);
        self.out.push(draft.connection);
    }

    fn push_tcp(
        &mut self,
        payload: ShadowPayload,
        name: ServerNameChoice,
        from: Option<IpAddr>,
        purpose: &str,
    ) {
        // Bytes inside TLS reach a service that ends TLS.
        let name = match (&payload, self.listener.is_tls) {
            (ShadowPayload::Bytes, true) => ServerNameChoice::Named(self.host(0)),
            _ => name,
        };
        let mut request = self.request(payload, name, purpose);
        request.from = from;
        self.out.push(request);
    }

    fn request(
        &self,
        payload: ShadowPayload,
        name: ServerNameChoice,
        purpose: &str,
    ) -> ShadowRequest {
        ShadowRequest {
            service: self.listener.service.clone(),
            to: self.listener.to,
            from: None,
            name,
            certificate: self.listener.usual_certificate(),
            proxy_header: false,
            protocol: SpokenProtocol::Http1,
            payload,
            purpose: purpose.to_owned(),
        }
    }
}

/// An address as a Host has it.
fn written_address(address: IpAddr) -> String {
    if address.is_ipv6() { format!("[{address}]") } else { address.to_string() }
}

#[cfg(test)]
mod tests {
    use convert::dialect::Dialect;

    use super::*;

    #[test]
    fn the_corpus_asks_at_below_and_beside_each_path_and_for_each_kind() {
        let converted = "[service.web]\nlisten = \"0.0.0.0:443\"\nforward = \"http\"\npool = \"a\"\n\
             tls = { certificates = \"/x.pem\", client = \"/ca.pem\" }\n\
             [[service.web.rule]]\nwhen = { host = \"*.shop.example\", path = \"/admin*\", client = \"198.51.100.0/24\", header = { x-a = \"b\" } }\ndeny = true\n\
             [service.db]\nlisten = \"10.0.0.5:5432\"\nforward = \"tcp\"\npool = \"a\"\n\
             [pool.a]\nservers = [{ name = \"a\", address = \"10.0.0.1:80\" }]\n";
        let inventory = SourceInventory::read("location /api/ { }", Dialect::Nginx);
        let plan = ShadowPlan::new(converted, &inventory);
        let all = build_corpus(&plan, converted, &inventory, CorpusSize::Full);
        let texts: Vec<String> = all.iter().map(ShadowRequest::describe).collect();
        for wanted in [
            "GET below.shop.example /admin at 127.0.0.1:443",
            "GET below.shop.example /adminbeside at 127.0.0.1:443",
            "GET below.shop.example /api/below?q=1",
            "GET below.shop.example /api at",
            "GET below.shop.example /apibeside",
            "HEAD below.shop.example /",
            "GET BELOW.SHOP.EXAMPLE / at 127.0.0.1:443 SNI below.shop.example",
            "without SNI",
            "over HTTP/2 (session of three requests)",
            "GET below.shop.example /admin at 127.0.0.1:443 SNI below.shop.example with a certificate (host and path)",
            "SNI below.shop.example (client certificate)",
            "with a foreign certificate",
            "from 198.51.100.7",
            "bytes at 10.0.0.5:5432",
            "/admin%2Fx",
        ] {
            assert!(texts.iter().any(|text| text.contains(wanted)), "{wanted}");
        }
        let field = |one: &ShadowRequest| {
            one.http().is_some_and(|http| http.fields.iter().any(|field| field.name == "x-a"))
        };
        assert!(all.iter().any(field));
        let quick = build_corpus(&plan, converted, &inventory, CorpusSize::Quick);
        assert!(quick.len() < all.len() && quick.len() > 100, "{} {}", quick.len(), all.len());
    }
}
