//! Large files of HAProxy.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 10] = [
    FileShape::new(Dialect::Haproxy, "frontends", frontends),
    FileShape::new(Dialect::Haproxy, "listens", listens),
    FileShape::new(Dialect::Haproxy, "backends", backends),
    FileShape::new(Dialect::Haproxy, "servers", servers),
    FileShape::new(Dialect::Haproxy, "criteria", criteria),
    FileShape::new(Dialect::Haproxy, "edits", edits),
    FileShape::new(Dialect::Haproxy, "names", names),
    FileShape::new(Dialect::Haproxy, "unknown", unknown),
    FileShape::new(Dialect::Haproxy, "uses", uses),
    FileShape::new(Dialect::Haproxy, "refused", refused),
];

const DEFAULTS: &str =
    "defaults\n mode http\n timeout connect 5s\n timeout client 50s\n timeout server 50s\n";
const FRONTEND: &str = "frontend f\n bind 127.0.0.1:80\n default_backend b0\n";
const BACKEND: &str = "backend b0\n server s 10.0.0.1:80\n";

fn frontends(lines: usize) -> String {
    let one = |at: usize| {
        let name = format!("frontend f{at}\n bind 127.{}.{}.1:80\n", at >> 8 & 255, at & 255);
        name + " acl a path_beg /a\n use_backend b0 if a\n default_backend b0\n"
    };
    format!("{DEFAULTS}{BACKEND}{}", each(lines / 5, one))
}

fn listens(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "listen l{at}\n bind 127.{}.{}.1:80\n balance roundrobin\n server s {}:80 check\n",
            at >> 8 & 255,
            at & 255,
            address(at)
        )
    };
    DEFAULTS.to_owned() + &each(lines / 4, one)
}

fn backends(lines: usize) -> String {
    let uses = each(lines / 6, |at| {
        format!(" acl h{at} hdr(host) -i h{at}.example\n use_backend b{at} if h{at}\n")
    });
    let one = |at: usize| {
        format!(
            "backend b{at}\n balance roundrobin\n server s0 {}:80 check\n server s1 10.255.0.1:80\n",
            address(at)
        )
    };
    format!("{DEFAULTS}{FRONTEND}{uses}{}", each(lines / 6, one))
}

fn servers(lines: usize) -> String {
    let one = |at: usize| format!(" server s{at} {}:80 check weight 10\n", address(at));
    format!("{DEFAULTS}{FRONTEND}backend b0\n{}", each(lines, one))
}

fn criteria(lines: usize) -> String {
    let one = |at: usize| format!(" acl a path_beg /p{at}\n");
    format!(
        "{DEFAULTS}{FRONTEND}{} use_backend b1 if a\n{BACKEND}backend b1\n server s 10.0.0.2:80\n",
        each(lines, one)
    )
}

fn edits(lines: usize) -> String {
    let one = |at: usize| format!(" http-request set-header X-{at} v if {{ path_beg /p{at} }}\n");
    format!("{DEFAULTS}{FRONTEND}{}{BACKEND}", each(lines, one))
}

fn names(lines: usize) -> String {
    let names = each(lines, |at| format!(" h{at}.example"));
    format!("{DEFAULTS}{FRONTEND} acl h hdr(host) -i{names}\n use_backend b0 if h\n{BACKEND}")
}

fn unknown(lines: usize) -> String {
    let one = |at: usize| format!(" http-request lua.action{at} x y z if {{ path_beg /p{at} }}\n");
    format!("{DEFAULTS}{FRONTEND}{}{BACKEND}", each(lines, one))
}

/// Half of the lines are alternatives of one criterion, and the other half uses it.
fn uses(lines: usize) -> String {
    let criteria = each(lines / 2, |at| format!(" acl a path_beg /p{at}\n"));
    let uses = each(lines / 2, |at| format!(" http-request deny if a {{ path_beg /q{at} }}\n"));
    format!("{DEFAULTS}{FRONTEND}{criteria}{uses}{BACKEND}")
}

/// Servers whose addresses the configuration refuses.
fn refused(lines: usize) -> String {
    let one = |at| format!(" server s{at} no_name_{at}..:80\n");
    format!("{DEFAULTS}{FRONTEND}{BACKEND}{}", each(lines, one))
}
