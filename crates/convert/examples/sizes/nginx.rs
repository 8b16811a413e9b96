//! Large files of nginx.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 10] = [
    FileShape::new(Dialect::Nginx, "servers", servers),
    FileShape::new(Dialect::Nginx, "upstreams", upstreams),
    FileShape::new(Dialect::Nginx, "members", members),
    FileShape::new(Dialect::Nginx, "locations", locations),
    FileShape::new(Dialect::Nginx, "expressions", expressions),
    FileShape::new(Dialect::Nginx, "rewrites", rewrites),
    FileShape::new(Dialect::Nginx, "map", map),
    FileShape::new(Dialect::Nginx, "names", names),
    FileShape::new(Dialect::Nginx, "nested", nested),
    FileShape::new(Dialect::Nginx, "stream", stream),
];

fn servers(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "server {{\nlisten 80;\nserver_name h{at}.example;\nlocation / {{\nproxy_pass http://{}:80;\n}}\n}}\n",
            address(at)
        )
    };
    format!("http {{\n{}}}\n", each(lines / 7, one))
}

fn upstreams(lines: usize) -> String {
    let pools =
        each(lines / 6, |at| format!("upstream u{at} {{\nserver {}:80;\n}}\n", address(at)));
    let uses = each(lines / 6, |at| format!("location /p{at}/ {{\nproxy_pass http://u{at};\n}}\n"));
    format!("http {{\n{pools}server {{\nlisten 80;\n{uses}}}\n}}\n")
}

fn members(lines: usize) -> String {
    let servers = each(lines, |at| format!("server {}:80 weight=2;\n", address(at)));
    format!("http {{\nupstream u {{\n{servers}}}\n{}}}\n", server(""))
}

fn locations(lines: usize) -> String {
    server_file(&each(lines / 3, |at| format!("location /p{at}/ {{\nproxy_pass http://u;\n}}\n")))
}

fn expressions(lines: usize) -> String {
    let one = |at: usize| format!("location ~ ^/p{at}/.*\\.js$ {{\nproxy_pass http://u;\n}}\n");
    server_file(&each(lines / 3, one))
}

fn rewrites(lines: usize) -> String {
    server_file(&each(lines, |at| format!("rewrite ^/p{at}$ /q{at} redirect;\n")))
}

fn map(lines: usize) -> String {
    let rows = each(lines, |at| format!("h{at}.example u;\n"));
    format!(
        "http {{\nmap $host $pool {{\ndefault u;\n{rows}}}\nupstream u {{\nserver 10.0.0.1:80;\n}}\n\
         server {{\nlisten 80;\nlocation / {{\nproxy_pass http://$pool;\n}}\n}}\n}}\n"
    )
}

fn names(lines: usize) -> String {
    let names = each(lines, |at| format!(" h{at}.example"));
    let other = "server {\nlisten 80 default_server;\nreturn 404;\n}\n";
    let named = server(&format!("server_name{names};\nlocation /a {{\nproxy_pass http://u;\n}}\n"));
    format!("http {{\nupstream u {{\nserver 10.0.0.1:80;\n}}\n{other}{named}}}\n")
}

fn nested(lines: usize) -> String {
    let open = each(lines / 2, |at| format!("location /{} {{\n", "a".repeat(at.min(60))));
    server_file(&(open + &"}\n".repeat(lines / 2)))
}

fn stream(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "server {{\nlisten 127.{}.{}.1:90;\nproxy_pass {}:80;\n}}\n",
            at >> 8 & 255,
            at & 255,
            address(at)
        )
    };
    format!("stream {{\n{}}}\n", each(lines / 4, one))
}

fn server_file(inner: &str) -> String {
    format!("http {{\nupstream u {{\nserver 10.0.0.1:80;\n}}\n{}}}\n", server(inner))
}

fn server(inner: &str) -> String {
    format!("server {{\nlisten 80;\n{inner}location / {{\nproxy_pass http://u;\n}}\n}}\n")
}
