//! Side by side: HAProxy or nginx runs a configuration, Steelyard the converted one, and the same requests must reach
//! the same servers.
//!
//! The converter's own tests and examples are in its crate.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod client;
mod examples;
mod nginx_examples;
mod nginx_map_examples;
mod shadow;
mod shadow_examples;
mod shadow_failures;
mod stage;

use std::net::SocketAddr;
use std::process::Command;

use convert::dialect::Dialect;
use lab::origin::TestOrigin;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{origin, reserve_port};
use tests::e2e::tools;

use stage::{converted, listening};

const HAPROXY: &str = r#"
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s

frontend www
    bind FRONT
    acl is_static path_beg /static /images
    acl is_static path_end .css .js
    acl is_api hdr(host) -i api.shop.example
    acl beta req.cook(beta) -m found
    acl mobile hdr_sub(user-agent) -i Mobile
    http-request deny if { path_beg /admin } !{ src 198.51.100.0/24 }
    http-request return status 200 content-type text/plain string "pong" if { path /ping }
    redirect prefix http://new.example code 301 if { path_beg /old }
    use_backend static if is_static
    use_backend api if is_api || { path_reg ^/v[0-9]+/ }
    use_backend canary if beta { method GET POST } or mobile
    use_backend canary if { urlp(try) 1 } !is_api
    default_backend app

backend app
    server app SERVER0
backend static
    server static SERVER1
backend api
    server api SERVER2
backend canary
    server canary SERVER3
"#;

const NGINX: &str = r#"
daemon off; master_process off; worker_processes 1; error_log stderr crit; pid DIR/pid;
events { worker_connections 256; }
http {
    access_log off; absolute_redirect off;
    client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
    upstream app { server SERVER0; }
    upstream static { server SERVER1; }
    upstream api { server SERVER2; }
    upstream canary { server SERVER3; }
    server {
        listen FRONT default_server;
        server_name shop.example www.shop.example;
        proxy_set_header Host $host;
        location / { proxy_pass http://app; }
        location ^~ /static/ { proxy_pass http://static; }
        location /static/open/ { proxy_pass http://api; }
        location ~ \.(css|js)$ { proxy_pass http://canary; }
        location ~* ^/v[0-9]+/ { proxy_pass http://api; }
        location = /ping { return 200 "pong"; }
        location /old { return 301 http://new.example$request_uri; }
        location /admin { deny all; proxy_pass http://app; }
        location /images/ { proxy_pass http://static/img/; }
    }
    server {
        listen FRONT;
        server_name api.shop.example *.apps.example;
        rewrite ^/moved/(.*)$ /there/$1 permanent;
        if ($request_method = POST) { return 405; }
        location /static { proxy_pass http://canary; }
        location / { proxy_pass http://api; }
    }
}
"#;

const PATHS: [&str; 16] = [
    "/",
    "/static/a",
    "/static",
    "/static/open/x",
    "/images/b.png",
    "/x/site.css",
    "/static/site.css",
    "/v1/users",
    "/V2/users",
    "/ping",
    "/old/page?q=1",
    "/admin/x",
    "/page?try=1",
    "/page?try=2",
    "/moved/a/b",
    "/app.js?v=3",
];
const HOSTS: [&str; 5] =
    ["shop.example", "api.shop.example", "API.shop.example", "x.apps.example", "unknown.example"];
const MORE: [(&str, &str); 4] = [
    ("GET", ""),
    ("POST", ""),
    ("GET", "Cookie: beta=1\r\n"),
    ("GET", "User-Agent: A Mobile one\r\n"),
];

/// The parts of a response that are compared: the status, the server's name and the redirect target.
type AnswerSummary = (u16, Option<String>, Option<String>);

fn ask(front: SocketAddr, method: &str, host: &str, path: &str, more: &str) -> AnswerSummary {
    let mut client = HttpClient::connect(front);
    let length = if method == "POST" { "Content-Length: 0\r\n" } else { "" };
    client.send(format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{length}{more}Connection: close\r\n\r\n"
    ));
    let answer = client.read_answer();
    (answer.status(), answer.field("x-origin"), answer.field("location"))
}

fn filled(template: &str, front: SocketAddr, origins: &[TestOrigin], dir: &TestDir) -> String {
    let mut text = template.replace("FRONT", &front.to_string());
    for (at, origin) in origins.iter().enumerate() {
        text = text.replace(&format!("SERVER{at}"), &origin.address().to_string());
    }
    text.replace("DIR", &dir.path().display().to_string())
}

fn side_by_side(template: &str, file: &str, start: impl Fn(&TestDir, &str) -> Command) {
    let names = ["app", "static", "api", "canary"];
    let origins: Vec<TestOrigin> = names.iter().map(|name| origin(name)).collect();
    let theirs = reserve_port();
    let ours = reserve_port();
    let dir = TestDir::new();
    dir.write(file, filled(template, theirs.address(), &origins, &dir));
    let _original = listening(ChildProcess::start(start(&dir, file)), theirs.address());
    dir.write(file, filled(template, ours.address(), &origins, &dir));
    let _steelyard = converted(&dir, file, ours.address());
    let mut differ = Vec::new();
    let mut by_server = std::collections::BTreeMap::<String, u32>::new();
    for path in PATHS {
        for host in HOSTS {
            for (method, more) in MORE {
                let expected = ask(theirs.address(), method, host, path, more);
                let found = ask(ours.address(), method, host, path, more);
                *by_server.entry(expected.1.clone().unwrap_or_default()).or_default() += 1;
                if expected != found {
                    differ.push(format!(
                        "{method} {host}{path} {more:?}: {expected:?}, ours {found:?}"
                    ));
                }
            }
        }
    }
    let text = std::fs::read_to_string(dir.join("converted.toml")).unwrap();
    assert!(differ.is_empty(), "{} differ:\n{}\n{text}", differ.len(), differ.join("\n"));
    // The requests only prove something if every server and the balancer itself answered.
    assert!(by_server.len() == 5 && by_server.values().all(|count| *count >= 8), "{by_server:?}");
    tests::e2e::balancer::figure(format!("convert {file}: 320 requests, {by_server:?}"));
}

#[test]
fn haproxy_and_its_conversion_send_requests_to_the_same_servers() {
    side_by_side(HAPROXY, "haproxy.cfg", haproxy);
}

#[test]
fn nginx_and_its_conversion_send_requests_to_the_same_servers() {
    side_by_side(NGINX, "nginx.conf", nginx);
}

#[test]
fn haproxy_shop_is_routed_alike() {
    stage::run(&examples::HAPROXY_SHOP, haproxy);
}

#[test]
fn haproxy_sni_is_routed_alike() {
    stage::run(&examples::HAPROXY_SNI, haproxy);
}

#[test]
fn haproxy_database_is_routed_alike() {
    stage::run(&examples::HAPROXY_DATABASE, haproxy);
}

#[test]
fn haproxy_limits_is_routed_alike() {
    stage::run(&examples::HAPROXY_LIMITS, haproxy);
}

#[test]
fn haproxy_grpc_is_routed_alike() {
    stage::run(&examples::HAPROXY_GRPC, haproxy);
}

#[test]
fn nginx_shop_is_routed_alike() {
    stage::run(&nginx_examples::NGINX_SHOP, nginx_example);
}

#[test]
fn nginx_hosts_is_routed_alike() {
    stage::run(&nginx_examples::NGINX_HOSTS, nginx_example);
}

#[test]
fn nginx_rewrites_is_routed_alike() {
    stage::run(&nginx_examples::NGINX_REWRITES, nginx_example);
}

#[test]
fn nginx_dump_is_routed_alike() {
    stage::run(&nginx_examples::NGINX_DUMP, nginx_example);
}

#[test]
fn nginx_stream_is_routed_alike() {
    stage::run(&nginx_examples::NGINX_STREAM, nginx_example);
}

#[test]
fn nginx_tenants_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[0], nginx_example);
}

#[test]
fn nginx_canary_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[1], nginx_example);
}

#[test]
fn nginx_uploads_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[2], nginx_example);
}

#[test]
fn nginx_monitoring_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[3], nginx_example);
}

#[test]
fn nginx_redirects_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[4], nginx_example);
}

#[test]
fn nginx_maintenance_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[5], nginx_example);
}

#[test]
fn nginx_dualstack_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[6], nginx_example);
}

#[test]
fn nginx_kubernetes_is_routed_alike() {
    stage::run(nginx_map_examples::NGINX_MAPS[7], nginx_example);
}

/// What runs on free ports here runs in networks of its own too (`shadow_examples`), with all other examples.
#[test]
fn every_example_runs_side_by_side() {
    let staged = examples::HAPROXY
        .into_iter()
        .chain(nginx_examples::NGINX)
        .chain(nginx_map_examples::NGINX_MAPS)
        .map(|one| one.file);
    let run = [Dialect::Haproxy, Dialect::Nginx].map(shadow_examples::started).concat();
    for file in staged {
        assert!(run.iter().any(|one| one == file), "{file}");
    }
    let mut named = run;
    let kinds = ["haproxy-", "nginx-"];
    let is_of_kinds = |name: &str| kinds.iter().any(|kind| name.starts_with(kind));
    let not_started = shadow_examples::NOT_STARTED.iter().filter(|one| is_of_kinds(one.file));
    named.extend(not_started.map(|one| one.file.to_owned()));
    named.sort_unstable();
    let mut there = Vec::new();
    for entry in std::fs::read_dir(stage::data()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if is_of_kinds(&name) && !name.ends_with(".expected") {
            there.push(name);
        }
    }
    there.sort_unstable();
    assert_eq!(named, there);
}

fn haproxy(dir: &TestDir, file: &str) -> Command {
    let mut command = Command::new(tools::program("haproxy"));
    command.args(["-db", "-f"]).arg(dir.join(file));
    command
}

fn nginx_example(dir: &TestDir, file: &str) -> Command {
    let text = std::fs::read_to_string(dir.join(file)).unwrap();
    dir.write("main.conf", stage::for_nginx(dir, &text));
    nginx(dir, "main.conf")
}

fn nginx(dir: &TestDir, file: &str) -> Command {
    let mut command = Command::new(tools::program("nginx"));
    command.args(["-e", "stderr", "-p"]).arg(dir.path()).arg("-c").arg(dir.join(file));
    command
}
