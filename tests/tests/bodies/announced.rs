//! PROXY protocol headers to servers: servers see the client's address, and each client has a separate server
//! connection.

use std::io::Write;
use std::net::SocketAddr;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::haproxy::Haproxy;
use tests::e2e::http::{ExpectedBody, HttpReader};
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::servers::reserve_port;
use tests::e2e::wait;

const WHO: &str = "location = /who { return 200 \"$proxy_protocol_addr:$proxy_protocol_port \
                   $proxy_protocol_server_addr:$proxy_protocol_server_port\"; }";

/// Checks that nginx reports the client's own address.
fn who(client: &mut HttpClient, front: SocketAddr) {
    let near = client.stream().local_addr().unwrap();
    let answer = client.get("/who");
    assert_eq!((answer.status(), answer.text()), (200, format!("{near} {front}")));
}

#[test]
fn nginx_sees_each_client_on_a_connection_of_its_own() {
    let nginx = Nginx::proxied("n", WHO);
    for version in ["v1", "v2"] {
        let pool = format!("send-proxy = \"{version}\"\nprobe = {{ http = \"/\" }}\n");
        let setup = BalancerConfig::http(&[nginx.address()]).global("workers = 1").pool(&pool);
        let balancer = TestBalancer::start(&setup);
        wait::until("the probe is let in", || {
            serde_json::to_value(balancer.server("a")).unwrap()["state"] == "up"
        });
        let mut one = balancer.client();
        let mut two = balancer.client();
        for _ in 0..3 {
            who(&mut one, balancer.front());
            who(&mut two, balancer.front());
        }
        let report = balancer.report_when_idle();
        let server = &report.pools[0].servers[0];
        assert_eq!((server.connects.total, server.reused.total), (2, 4), "{version}");
        // A server connection is closed with its client, without waiting for the idle timeout.
        drop((one, two));
        balancer.report_when("no connection is kept", |report| {
            report.pools[0].servers[0].connections == 0
        });
    }
}

#[test]
fn haproxy_takes_it() {
    let front = reserve_port();
    let sections = format!(
        "frontend in\n  bind {} accept-proxy\n  http-request return status 200 content-type text/plain \
         lf-string \"%[src]:%[src_port] %[dst]:%[dst_port]\"\n",
        front.address()
    );
    let _haproxy = Haproxy::start(&sections, front.address());
    for version in ["v1", "v2"] {
        let pool = format!("send-proxy = \"{version}\"\n");
        let balancer = TestBalancer::start(&BalancerConfig::http(&[front.address()]).pool(&pool));
        who(&mut balancer.client(), balancer.front());
    }
}

#[test]
fn what_came_in_goes_out_and_a_passing_connection_has_one_too() {
    let server = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let Ok(byte) = reader.read_exactly(1) else { return };
            line.extend(byte);
        }
        let said = String::from_utf8(line).unwrap();
        let body = said.trim_end();
        if let Ok(Some(mut request)) = reader.head() {
            reader.body(&mut request, ExpectedBody::AsDeclared).unwrap();
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
    });
    let came = "PROXY TCP6 2001:db8::9 2001:db8::1 4444 443\r\n";
    let taken = "accept-proxy = \"127.0.0.0/8\"\n";
    for setup in
        [BalancerConfig::http(&[server.address()]), BalancerConfig::tcp(&[server.address()])]
    {
        let setup = setup.service(taken).pool("send-proxy = \"v1\"\n");
        let balancer = TestBalancer::start(&setup);
        let mut client = balancer.client();
        client.send(came);
        assert_eq!(client.get("/").text(), came.trim_end());
    }
}
