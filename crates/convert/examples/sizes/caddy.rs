//! Large Caddyfiles.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 9] = [
    FileShape::new(Dialect::Caddy, "sites", sites),
    FileShape::new(Dialect::Caddy, "upstreams", upstreams),
    FileShape::new(Dialect::Caddy, "handles", handles),
    FileShape::new(Dialect::Caddy, "redirects", redirects),
    FileShape::new(Dialect::Caddy, "matchers", matchers),
    FileShape::new(Dialect::Caddy, "names", names),
    FileShape::new(Dialect::Caddy, "values", values),
    FileShape::new(Dialect::Caddy, "nested", nested),
    FileShape::new(Dialect::Caddy, "imports", imports),
];

fn sites(lines: usize) -> String {
    each(lines / 3, |at| format!("http://h{at}.example {{\nreverse_proxy {}:80\n}}\n", address(at)))
}

fn upstreams(lines: usize) -> String {
    let all = each(lines, |at| format!("to {}:80\n", address(at)));
    format!("http://a.example {{\nreverse_proxy {{\n{all}}}\n}}\n")
}

fn handles(lines: usize) -> String {
    let all = each(lines / 3, |at| format!("handle /p{at}/* {{\nreverse_proxy 10.0.0.1:80\n}}\n"));
    format!("http://a.example {{\n{all}}}\n")
}

fn redirects(lines: usize) -> String {
    let all = each(lines, |at| format!("redir /p{at} /q{at}\n"));
    format!("http://a.example {{\n{all}reverse_proxy 10.0.0.1:80\n}}\n")
}

fn matchers(lines: usize) -> String {
    let all = each(lines / 2, |at| format!("@m{at} header X-A v{at}\nheader @m{at} X-B v{at}\n"));
    format!("http://a.example {{\n{all}reverse_proxy 10.0.0.1:80\n}}\n")
}

fn names(lines: usize) -> String {
    let names = each(lines, |at| format!("http://h{at}.example, "));
    format!("{names}http://z.example {{\nreverse_proxy 10.0.0.1:80\n}}\n")
}

fn nested(lines: usize) -> String {
    let open = "handle /a/* {\n".repeat(lines / 2);
    format!("http://a.example {{\n{open}{}}}\n", "}\n".repeat(lines / 2))
}

fn imports(lines: usize) -> String {
    let sites = each(lines / 3, |at| format!("http://h{at}.example {{\nimport common {at}\n}}\n"));
    format!("(common) {{\nheader X-A {{args[0]}}\nreverse_proxy 10.0.0.1:80\n}}\n{sites}")
}

/// One matcher with many values.
fn values(lines: usize) -> String {
    let all = each(lines, |at| format!("header X-A v{at}\n"));
    format!("http://a.example {{\n@m {{\n{all}}}\nreverse_proxy @m 10.0.0.1:80\n}}\n")
}
