//! Sticky sessions by TLS session, with real clients: whoever resumes a session keeps its server, in TLS 1.2 and 1.3,
//! for requests and for bytes.

use std::collections::BTreeSet;

use rustls::version::{TLS12, TLS13};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::certificate_for;
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

use crate::authority::{ResumingClient, TlsAuthority, s_client};

const NAME: &str = "shop.example";
/// Connections of a client that must all have one server: by chance they would in one of 3^11 cases.
const MANY: usize = 12;

/// Whether the session was resumed, and the server that answered.
struct TlsVisit {
    resumed: bool,
    server: String,
}

fn visit(client: &ResumingClient, balancer: &TestBalancer) -> TlsVisit {
    let answer = client.ask(balancer.front(), NAME).unwrap();
    let origin = answer.1.lines().find_map(|line| line.strip_prefix("x-origin: "));
    TlsVisit { resumed: answer.0, server: origin.unwrap_or_default().to_owned() }
}

// Rows: I27
#[test]
fn a_client_that_resumes_its_session_keeps_its_server() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a"), servers::origin("b"), servers::origin("c")];
    let pair = ours.pair("shop.pem", &[NAME]);
    let own = ours.authority.pair(ours.dir.join("own.pem"), &certificate_for(&[]).client("own"));
    let keys = format!("tls = {pair:?}\nsticky = {{ by = \"tls-session\", expire = \"10m\" }}\n");
    for new_setup in [BalancerConfig::http, BalancerConfig::tcp] {
        let setup = new_setup(&addresses(&origins)).global("workers = 4\n").service(&keys);
        let setup = setup.pool("balance = \"round-robin\"");
        for version in [&TLS12, &TLS13] {
            let mut balancer = TestBalancer::start(&setup);
            let client = ours.returning(&own, version);
            let first = visit(&client, &balancer);
            assert!(!first.resumed);
            for _ in 0..MANY {
                // Others come meanwhile, each with a session of its own, and are shared out.
                let other = visit(&ours.returning(&own, version), &balancer);
                assert!(!other.resumed);
                let again = visit(&client, &balancer);
                assert!(again.resumed, "{version:?}");
                assert_eq!(again.server, first.server, "{version:?}");
            }
            let others: BTreeSet<String> = (0..MANY)
                .map(|_| visit(&ours.returning(&own, version), &balancer).server)
                .collect();
            assert_eq!(others.len(), 3, "{others:?}");
            balancer.reload(&setup.clone().global("workers = 4\ndrain = \"20s\"\n"));
            let again = visit(&client, &balancer);
            assert!(again.resumed && again.server == first.server, "the table outlives a reload");
            // Without a server the client gets another one, and keeps that.
            balancer.order_server(&first.server, api::types::ServerAction::Disable);
            let next = visit(&client, &balancer);
            assert_ne!(next.server, first.server);
            assert_eq!(visit(&client, &balancer).server, next.server);
        }
    }
}

// Rows: I27
#[test]
fn one_saved_session_leads_to_one_server_each_time() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a"), servers::origin("b"), servers::origin("c")];
    let pair = ours.pair("shop.pem", &[NAME]);
    let keys = format!("tls = {pair:?}\nsticky = {{ by = \"tls-session\", expire = \"10m\" }}\n");
    let setup = BalancerConfig::http(&addresses(&origins)).service(&keys);
    let balancer = TestBalancer::start(&setup.pool("balance = \"round-robin\""));
    let session = ours.dir.join("session");
    let session = session.to_str().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        // In TLS 1.3 the ticket follows the handshake, and `s_client` may have disconnected by then.
        wait::until("a ticket", || {
            s_client(balancer.front(), &[version, "-sess_out", session]);
            s_client(balancer.front(), &[version, "-sess_in", session]).contains("Reused, TLSv1")
        });
        let request = ours.dir.write(
            "request",
            format!("GET / HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n"),
        );
        let servers: BTreeSet<String> = (0..MANY)
            .map(|_| {
                let text = crate::authority::s_client_with(
                    balancer.front(),
                    &[version, "-sess_in", session, "-ign_eof"],
                    &request,
                );
                assert!(text.contains("Reused, TLSv1"), "{text}");
                let origin = text.lines().find_map(|line| line.strip_prefix("x-origin: "));
                origin.unwrap_or_else(|| panic!("{text}")).to_owned()
            })
            .collect();
        assert_eq!(servers.len(), 1, "{version}: {servers:?}");
    }
}
