//! Large files of Apache.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 9] = [
    FileShape::new(Dialect::Apache, "hosts", hosts),
    FileShape::new(Dialect::Apache, "balancers", balancers),
    FileShape::new(Dialect::Apache, "members", members),
    FileShape::new(Dialect::Apache, "paths", paths),
    FileShape::new(Dialect::Apache, "rewrites", rewrites),
    FileShape::new(Dialect::Apache, "locations", locations),
    FileShape::new(Dialect::Apache, "ends", ends),
    FileShape::new(Dialect::Apache, "names", names),
    FileShape::new(Dialect::Apache, "nested", nested),
];

fn hosts(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "<VirtualHost *:80>\nServerName h{at}.example\nProxyPass / http://{}:80/\n</VirtualHost>\n",
            address(at)
        )
    };
    "Listen 80\n".to_owned() + &each(lines / 4, one)
}

fn balancers(lines: usize) -> String {
    let all = each(lines / 4, |at| {
        format!("<Proxy balancer://b{at}>\nBalancerMember http://{}:80\n</Proxy>\n", address(at))
    });
    let uses = each(lines / 4, |at| format!("ProxyPass /p{at} balancer://b{at}\n"));
    format!("{all}{}", host(&uses))
}

fn members(lines: usize) -> String {
    let all = each(lines, |at| format!("BalancerMember http://{}:80\n", address(at)));
    format!("<Proxy balancer://b>\n{all}</Proxy>\n{}", host("ProxyPass /b balancer://b\n"))
}

fn paths(lines: usize) -> String {
    host(&each(lines, |at| format!("ProxyPass /p{at} http://10.0.0.1:80\n")))
}

fn rewrites(lines: usize) -> String {
    let all = each(lines, |at| format!("RewriteRule ^/p{at}$ /q{at} [R=301,L]\n"));
    host(&format!("RewriteEngine On\n{all}"))
}

fn locations(lines: usize) -> String {
    let one = |at: usize| format!("<Location /p{at}>\nRequire ip {}\n</Location>\n", address(at));
    host(&each(lines / 3, one))
}

fn names(lines: usize) -> String {
    let names = each(lines, |at| format!(" h{at}.example"));
    let other = "<VirtualHost *:80>\nServerName z.example\n</VirtualHost>\n";
    format!("{}{other}", host(&format!("ServerAlias{names}\n")))
}

fn nested(lines: usize) -> String {
    host(&("<IfModule mod_proxy.c>\n".repeat(lines / 2) + &"</IfModule>\n".repeat(lines / 2)))
}

fn host(inner: &str) -> String {
    format!(
        "Listen 80\n<VirtualHost *:80>\nServerName a.example\n{inner}ProxyPass / http://10.0.0.1:80/\n</VirtualHost>\n"
    )
}

/// Rules that end the others, which all later rules depend on.
fn ends(lines: usize) -> String {
    let one = |at| format!("RewriteRule ^/p{at}$ - [L]\nRewriteRule ^/q{at}$ /r{at} [R=301,L]\n");
    host(&format!("RewriteEngine On\n{}", each(lines / 2, one)))
}
